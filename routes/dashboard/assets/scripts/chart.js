/* Draws the charts of a page with uPlot, in the colours of the theme. */
import { axisLabels } from "./axis_labels.js";
import { durationText, moneyText } from "./figures.js";

const chartHeight = 220;
const shareHeight = 92;

/* The width of the figures beside the bars, so that bars and line stand below one another. */
const figuresWidth = 68;

function figureText({ metric, locale }, value) {
  if (metric === "cost") return moneyText(value, locale);
  if (metric === "first" || metric === "duration") {
    return value < 0 ? "–" : durationText(value, locale);
  }
  return new Intl.NumberFormat(locale).format(value);
}

function axisTexts({ metric, locale }, splits, step) {
  if (metric === "first" || metric === "duration") {
    return splits.map((ms) => ms === 0 ? "0" : durationText(ms, locale));
  }
  return axisLabels(splits, step, locale);
}

/* Bars that stand on one another are drawn from the tallest sum down, so each covers the lower part of the one before. */
function stackedData(stacks) {
  const sums = [];
  let below = stacks[0]?.values.map(() => 0) ?? [];
  for (const { values } of stacks) {
    below = below.map((sum, at) => sum + values[at]);
    sums.push(below);
  }
  return sums.reverse();
}

function seriesOf(drawn, colour) {
  const isTimes = drawn.metric === "first" || drawn.metric === "duration";
  const bars = uPlot.paths.bars({ size: [0.72, 40], radius: 0.12 });
  const parts = drawn.stacks.map(({ name, key }) =>
    isTimes
      ? {
        label: name,
        stroke: colour(`--chart-${key}`),
        width: 2,
        spanGaps: true,
        points: { size: 4 },
      }
      : {
        label: name,
        fill: colour(`--chart-${key}`),
        width: 0,
        points: { show: false },
        paths: bars,
      }
  );
  const before = drawn.before === undefined ? [] : [{
    label: drawn.beforeName,
    stroke: colour("--pico-muted-color"),
    width: 1.25,
    dash: [4, 3],
    points: { show: false },
  }];
  const data = isTimes
    ? drawn.stacks.map(({ values }) => values.map((ms) => ms < 0 ? null : ms))
    : stackedData(drawn.stacks);
  return {
    series: [{}, ...isTimes ? parts : parts.reverse(), ...before],
    data: [
      drawn.short.map((_, at) => at),
      ...data,
      ...drawn.before === undefined ? [] : [drawn.before],
    ],
  };
}

function drawChart(place) {
  const drawn = JSON.parse(place.dataset.chart);
  const style = getComputedStyle(place);
  const colour = (name) => style.getPropertyValue(name).trim();
  const { series, data } = seriesOf(drawn, colour);
  const axis = {
    stroke: colour("--pico-muted-color"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  place.replaceChildren();
  place.classList.toggle("has-links", drawn.links !== undefined);
  const chart = new uPlot(
    {
      width: place.clientWidth,
      height: chartHeight,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      padding: [12, 8, 0, 0],
      scales: {
        x: { time: false, range: () => [-0.6, drawn.short.length - 0.4] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 28,
          space: 64,
          incrs: [1, 2, 3, 4, 6, 7, 12, 14, 24, 48],
          values: (_, splits) => splits.map((at) => drawn.short[at] ?? ""),
        },
        {
          ...axis,
          size: figuresWidth,
          values: (_, splits, __, ___, step) => axisTexts(drawn, splits, step),
        },
      ],
      series,
      hooks: { setCursor: [(chart) => showLabel(place, chart, drawn)] },
    },
    data,
    place,
  );
  if (drawn.share !== undefined) drawShare(place, drawn, axis, colour);
  chart.over.addEventListener("click", () => {
    const at = chart.cursor.idx;
    if (drawn.links?.[at] !== undefined) location.assign(drawn.links[at]);
  });
}

function shareText({ locale }, part) {
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 }).format(part);
}

/* The line of a share below the bars, from the least part that there is, or 0, to the largest. */
function drawShare(place, drawn, axis, colour) {
  return new uPlot(
    {
      width: place.clientWidth,
      height: shareHeight,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 8, 4, 0],
      scales: {
        x: { time: false, range: () => [-0.6, drawn.short.length - 0.4] },
        y: { range: (_, min, max) => [Math.min(min ?? 0, 0), Math.max(max ?? 0, 0.01) * 1.08] },
      },
      axes: [
        { ...axis, show: false },
        {
          ...axis,
          size: figuresWidth,
          space: 28,
          values: (_, splits) => splits.map((part) => shareText(drawn, part)),
        },
      ],
      series: [{}, {
        label: drawn.share.name,
        stroke: colour("--pico-color"),
        width: 1.75,
        spanGaps: true,
        points: { size: 4 },
      }],
    },
    [drawn.short.map((_, at) => at), drawn.share.parts],
    place,
  );
}

function tipLine(text, key) {
  const line = document.createElement("div");
  if (key !== undefined) {
    const mark = document.createElement("i");
    mark.className = `chart-key ${key}`;
    line.append(mark);
  }
  line.append(text);
  return line;
}

/* The figures under the pointer. */
function showLabel(place, chart, drawn) {
  let tip = place.querySelector(".chart-tip");
  if (tip === null) {
    tip = document.createElement("div");
    tip.className = "chart-tip";
    chart.over.append(tip);
  }
  const at = chart.cursor.idx;
  tip.hidden = at === null || at === undefined || drawn.long[at] === undefined;
  if (tip.hidden) return;
  const isTimes = drawn.metric === "first" || drawn.metric === "duration";
  const sum = drawn.stacks.reduce((all, { values }) => all + values[at], 0);
  const parts = drawn.stacks.map(({ name, key, values }) => ({ name, value: values[at], key }))
    .filter(({ value }) => value > 0);
  const heading = document.createElement("strong");
  heading.textContent = drawn.long[at];
  tip.replaceChildren(
    heading,
    ...isTimes ? [] : [tipLine(`${drawn.sum}: ${figureText(drawn, sum)}`)],
    ...parts.length > 1 || isTimes
      ? parts.map(({ name, value, key }) =>
        tipLine(`${name}: ${figureText(drawn, value)}`, `chart-key-${key}`)
      )
      : [],
    ...typeof drawn.share?.parts[at] === "number"
      ? [
        tipLine(
          `${drawn.share.name}: ${shareText(drawn, drawn.share.parts[at])}`,
          "chart-key-share",
        ),
      ]
      : [],
    ...typeof drawn.before?.[at] === "number"
      ? [tipLine(`${drawn.beforeName}: ${figureText(drawn, drawn.before[at])}`, "chart-key-before")]
      : [],
  );
  const left = chart.valToPos(at, "x");
  const half = tip.offsetWidth / 2;
  const right = Math.max(half, chart.over.clientWidth - half);
  tip.style.left = `${Math.min(Math.max(left, half), right)}px`;
}

function drawAll() {
  for (const place of document.querySelectorAll("[data-chart]")) drawChart(place);
}

drawAll();
/* Charts in parts of the page that were loaded later. */
document.addEventListener("htmx:after:swap", drawAll);
document.addEventListener("figures:renewed", drawAll);
let pending;
globalThis.addEventListener("resize", () => {
  clearTimeout(pending);
  pending = setTimeout(drawAll, 150);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
