/* Draws the charts of a page with uPlot, in the colours of the theme. */
"use strict";

const halfDaySeconds = 43_200;

function drawChart(place) {
  const { days, values, labels, locale, cost } = JSON.parse(place.dataset.chart);
  const style = getComputedStyle(place);
  const colour = (name) => style.getPropertyValue(name).trim();
  const day = new Intl.DateTimeFormat(locale, {
    day: "numeric",
    month: "numeric",
    timeZone: "UTC",
  });
  const axis = {
    stroke: colour("--pico-muted-color"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  place.replaceChildren();
  return new uPlot(
    {
      width: place.clientWidth,
      height: 200,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      padding: [12, 8, 0, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      scales: {
        x: { range: (_, min, max) => [min - halfDaySeconds, max + halfDaySeconds] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 56,
          values: (_, splits) => splits.map((at) => day.format(at * 1000)),
        },
        {
          ...axis,
          size: 64,
          values: (_, splits, __, ___, step) => axisLabels(splits, step, locale),
        },
      ],
      series: [{}, {
        label: cost,
        fill: colour("--pico-primary-background"),
        width: 0,
        points: { show: false },
        paths: uPlot.paths.bars({ size: [0.62, 34], radius: 0.15 }),
      }],
      hooks: { setCursor: [(chart) => showLabel(place, chart, days, labels, day)] },
    },
    [days, values],
    place,
  );
}

/* The exact figure under the pointer. */
function showLabel(place, chart, days, labels, format) {
  let tip = place.querySelector(".chart-tip");
  if (tip === null) {
    tip = document.createElement("div");
    tip.className = "chart-tip";
    chart.over.append(tip);
  }
  const at = chart.cursor.idx;
  tip.hidden = at === null || at === undefined;
  if (tip.hidden) return;
  tip.textContent = `${format.format(days[at] * 1000)}: ${labels[at]}`;
  const left = chart.valToPos(days[at], "x");
  tip.style.left = `${Math.min(Math.max(left, 40), chart.over.clientWidth - 60)}px`;
}

function drawAll() {
  for (const place of document.querySelectorAll("[data-chart]")) drawChart(place);
}

drawAll();
/* Charts in parts of the page that were loaded later. */
document.addEventListener("htmx:after:swap", drawAll);
let pending;
globalThis.addEventListener("resize", () => {
  clearTimeout(pending);
  pending = setTimeout(drawAll, 150);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
