/** Shows what a change of prices does, in its preview. */
import {
  Card,
  type Column,
  DataTable,
  Money,
  Notice,
} from "../../../../dashboard/components/mod.ts";
import type { RateComparison } from "../../../../../core/catalog/underpriced.ts";
import { bucketWords } from "../../../../dashboard/text/bucket_names.ts";
import { formatCount, formatMoney, formatPercent } from "../../../../dashboard/text/format.ts";
import { defineTexts, type Locale } from "../../../../dashboard/text/i18n.ts";
import {
  maxRateLines,
  type ModelEffect,
  type PriceEffect,
  type RateLine,
  type WeekEffect,
  type WeekSum,
} from "./price_effect.ts";

const effectTexts = defineTexts({
  both: {
    route: ["Route", "Tuyến"],
    rate: ["Rate", "Đơn giá"],
    price: ["Price", "Giá bán"],
    cost: ["Cost", "Chi phí"],
    margin: ["Margin", "Biên"],
    sum: ["Sum", "Tổng"],
    was: ["As it was", "Thực tế"],
    would: ["With this change", "Theo thay đổi này"],
    revenue: ["Revenue", "Doanh thu"],
    profit: ["Margin", "Lợi nhuận"],
  },
  en: {
    margins: (model: string) => `Margin by route: ${model}`,
    noCosts: "No route has a cost, so its margin is not known.",
    moreRates: (count: string) => `${count} more rates`,
    moreModels: (count: string) => `${count} more models change; apply fewer at once to see them.`,
    week: (model: string) => `The last 7 days with this change: ${model}`,
    noCalls: "No calls in the last 7 days, as far as they were summed.",
    calls: (count: string) => `${count} answered calls, before refunds.`,
    notFromSums:
      "Revenue cannot be computed anew: the sums of days do not say what this price asks for, such as the length of each video.",
    unexplained: (money: string) =>
      `${money} was not charged by the usual rates: long prompts, tiers, fees of tools, or other prices of these days. It stays as it was.`,
    unknown: (count: string) => `The cost of ${count} calls is not known, so the margin is not.`,
    kept: (count: string) => `${count} calls keep their cost: they had other rates.`,
    partial: "There are more sums than this page reads: the figures are too low.",
  },
  vi: {
    margins: (model) => `Biên theo tuyến: ${model}`,
    noCosts: "Chưa tuyến nào có chi phí nên chưa biết biên.",
    moreRates: (count) => `${count} đơn giá khác`,
    moreModels: (count) => `${count} mô hình khác cũng đổi; hãy áp dụng ít hơn mỗi lần để xem.`,
    week: (model) => `7 ngày qua nếu theo thay đổi này: ${model}`,
    noCalls: "Không có lượt gọi trong 7 ngày qua, theo các tổng đã ghi.",
    calls: (count) => `${count} lượt gọi có trả lời, chưa trừ hoàn tiền.`,
    notFromSums:
      "Không tính lại được doanh thu: tổng theo ngày không cho biết điều mà giá này cần, như độ dài từng video.",
    unexplained: (money) =>
      `${money} không được tính theo đơn giá thường: prompt dài, hạng dịch vụ, phí công cụ, hoặc giá khác trong các ngày này. Phần này giữ nguyên.`,
    unknown: (count) => `Chưa rõ chi phí của ${count} lượt gọi nên chưa biết lợi nhuận.`,
    kept: (count) => `${count} lượt gọi giữ nguyên chi phí vì khi đó có đơn giá khác.`,
    partial: "Có nhiều tổng hơn trang này đọc được: các con số bị thiếu.",
  },
});

/** Price less cost as a part of the price; `undefined` for what is free. */
function marginShare({ priceMicroVnd, costMicroVnd }: RateComparison): number | undefined {
  return priceMicroVnd === 0n
    ? undefined
    : Number((priceMicroVnd - costMicroVnd) * 10_000n / priceMicroVnd) / 10_000;
}

/** A margin as a part of the price. */
export function shareText(rate: RateComparison, locale: Locale): string {
  const share = marginShare(rate);
  if (share === undefined) return "–";
  return `${share < 0 ? "−" : ""}${formatPercent(Math.abs(share), locale)}`;
}

/** Values before and after a change; once, where both are the same. */
function Change({ before, after }: { before: string | undefined; after: string }) {
  if (before === undefined || before === after) return <>{after}</>;
  return (
    <>
      <del class="muted">{before}</del> → <strong>{after}</strong>
    </>
  );
}

interface ShownLine extends RateLine {
  readonly route: string;
}

function rateColumns(locale: Locale): readonly Column<ShownLine>[] {
  const t = effectTexts[locale];
  const money = (rate: RateComparison | undefined, of: "priceMicroVnd" | "costMicroVnd") =>
    rate && formatMoney(rate[of], locale);
  return [
    { head: t.route, kind: "long", cell: ({ route }) => <code>{route}</code> },
    {
      head: t.rate,
      kind: "long",
      cell: ({ buckets }) => buckets.map((one) => bucketWords(one, locale)).join("; "),
    },
    ...(["price", "cost"] as const).map((name): Column<ShownLine> => ({
      head: t[name],
      kind: "number",
      cell: ({ before, after }) => (
        <Change
          before={money(before, `${name}MicroVnd`)}
          after={formatMoney(after[`${name}MicroVnd`], locale)}
        />
      ),
    })),
    {
      head: t.margin,
      kind: "number",
      cell: ({ before, after }) => (
        <Change before={before && shareText(before, locale)} after={shareText(after, locale)} />
      ),
    },
  ];
}

function RouteMargins({ effect, locale }: { effect: ModelEffect; locale: Locale }) {
  const t = effectTexts[locale];
  const rows = effect.routes.flatMap(({ route, lines }) =>
    lines.slice(0, maxRateLines).map((line) => ({ ...line, route }))
  );
  const more = effect.routes.reduce((sum, { lines }) => sum + lines.length, 0) - rows.length;
  const title = t.margins(effect.model);
  return (
    <Card title={title}>
      {rows.length === 0
        ? <p class="muted">{t.noCosts}</p>
        : <DataTable label={title} rows={rows} columns={rateColumns(locale)} />}
      {more > 0 && <p class="muted">{t.moreRates(formatCount(more, locale))}</p>}
    </Card>
  );
}

interface WeekRow {
  readonly label: string;
  readonly valueOf: (sum: WeekSum) => bigint | undefined;
}

function WeekTable({ week, label, locale }: { week: WeekEffect; label: string; locale: Locale }) {
  const t = effectTexts[locale];
  const rows: readonly WeekRow[] = [
    { label: t.revenue, valueOf: (sum) => sum.revenueMicroVnd },
    { label: t.cost, valueOf: (sum) => sum.costMicroVnd },
    { label: t.profit, valueOf: (sum) => sum.marginMicroVnd },
  ];
  const cell = (sum: WeekSum | undefined) => ({ valueOf }: WeekRow) => {
    const value = sum && valueOf(sum);
    return value === undefined ? "–" : <Money microVnd={value} locale={locale} />;
  };
  return (
    <DataTable
      label={label}
      rows={rows}
      columns={[
        { head: t.sum, cell: (row) => row.label },
        { head: t.was, kind: "number", cell: cell(week.recorded) },
        { head: t.would, kind: "number", cell: cell(week.repriced) },
      ]}
    />
  );
}

/** Notes on what a sum does not tell. */
function WeekNotes({ week, locale }: { week: WeekEffect; locale: Locale }) {
  const t = effectTexts[locale];
  const { calls, repriced, unexplainedMicroVnd: unexplained, unknownCalls, keptCostCalls } = week;
  // Each call is rounded up by less than a µVND.
  const isRounding = unexplained >= 0n && unexplained <= BigInt(calls);
  const notes = [
    t.calls(formatCount(calls, locale)),
    ...(repriced === undefined ? [t.notFromSums] : []),
    ...(isRounding ? [] : [t.unexplained(formatMoney(unexplained, locale))]),
    ...(unknownCalls > 0 ? [t.unknown(formatCount(unknownCalls, locale))] : []),
    ...(keptCostCalls > 0 ? [t.kept(formatCount(keptCostCalls, locale))] : []),
  ];
  return <>{notes.map((note) => <p key={note} class="muted">{note}</p>)}</>;
}

function Week({ effect: { model, week }, locale }: { effect: ModelEffect; locale: Locale }) {
  const t = effectTexts[locale];
  const title = t.week(model);
  return (
    <Card title={title}>
      {week === undefined ? <p class="muted">{t.noCalls}</p> : (
        <>
          <WeekTable week={week} label={title} locale={locale} />
          <WeekNotes week={week} locale={locale} />
        </>
      )}
    </Card>
  );
}

/** Effect of a change of prices, model by model. */
export function EffectView({ effect, locale }: { effect: PriceEffect; locale: Locale }) {
  const t = effectTexts[locale];
  return (
    <>
      {effect.isPartial && <Notice tone="warning">{t.partial}</Notice>}
      {effect.models.map((one) => (
        <>
          <RouteMargins effect={one} locale={locale} />
          <Week effect={one} locale={locale} />
        </>
      ))}
      {effect.more > 0 && <p class="muted">{t.moreModels(formatCount(effect.more, locale))}</p>}
    </>
  );
}
