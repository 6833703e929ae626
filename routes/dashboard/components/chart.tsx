/** A chart with one bar per day, drawn by `chart.js`; without script the table below it shows the same figures. */
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { formatDate, formatMoney, formatMoneyShort } from "../format.ts";
import { defineTexts, type Locale } from "../i18n.ts";
import { DataTable } from "./data_table.tsx";

/** One bar of a chart. */
export interface DayBar {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly costMicroVnd: bigint;
  readonly calls: number;
}

const texts = defineTexts({
  en: { table: "Show as a table", day: "Day", cost: "Cost", calls: "Calls" },
  vi: { table: "Xem dạng bảng", day: "Ngày", cost: "Chi phí", calls: "Lượt gọi" },
});

/** The assets that a page with a chart needs. */
export const chartAssets = { scripts: ["chart.js"], styles: ["chart.css"] } as const;

/** A bar chart of costs per day, with its table. */
export function DayChart({ bars, label, locale }: {
  bars: readonly DayBar[];
  label: string;
  locale: Locale;
}) {
  const t = texts[locale];
  const drawn = {
    // Only for the height of bars; the exact sums are in the labels.
    days: bars.map(({ day }) => Date.parse(`${day}T00:00:00Z`) / 1000),
    values: bars.map(({ costMicroVnd }) => Number(costMicroVnd) / 1e6),
    labels: bars.map(({ costMicroVnd }) => formatMoneyShort(costMicroVnd, locale)),
    locale: locale === "vi" ? "vi-VN" : "en-GB",
    cost: t.cost,
  };
  return (
    <figure class="chart-figure">
      <div class="chart" role="img" aria-label={label} data-chart={JSON.stringify(drawn)}></div>
      <details>
        <summary>{t.table}</summary>
        <DataTable
          label={label}
          rows={bars.filter(({ calls }) => calls > 0)}
          columns={[
            { head: t.day, cell: ({ day }) => formatDate(vietnamDayStartMs(day), locale) },
            { head: t.calls, kind: "number", cell: ({ calls }) => calls },
            {
              head: t.cost,
              kind: "number",
              cell: ({ costMicroVnd }) => formatMoney(costMicroVnd, locale),
            },
          ]}
        />
      </details>
    </figure>
  );
}
