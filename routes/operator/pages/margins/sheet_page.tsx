/** `/operator/margins/sheet`: units and sums by provider and UTC day, to hold against an invoice. */
import { daysOfMonth, monthOfDay } from "../../../../core/lib/time/vietnam_time.ts";
import { ascending } from "../../../../core/lib/base/ascending.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { costParts, formatCost, formatRate, rateUnit } from "../../../../core/billing/rate_card.ts";
import { type CsvColumn, csvFile } from "../../../../core/lib/base/csv.ts";
import {
  type ProviderSheet,
  readProviderSheet,
  type SheetLine,
  withoutDays,
} from "../../../../kv/money/costs/provider_sheet.ts";
import type { DayRange } from "../../../../kv/money/receipts/day_sums.ts";
import {
  Card,
  type Column,
  DataTable,
  Empty,
  Money,
  Notice,
  SelectField,
  Stat,
  Stats,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import { parseDay } from "../../../usage_api/range.ts";
import { type OperatorContext, type OperatorDeps, renderOperatorPage } from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { marginTexts } from "./texts.ts";

const path = "/operator/margins/sheet";

/** Period of the query: a UTC day, or a month. */
interface Asked {
  readonly day: string | undefined;
  /** `YYYY-MM` */
  readonly month: string;
  readonly range: DayRange;
  readonly provider: string | undefined;
  readonly invoice: string;
}

function monthOf(text: string | undefined): string | undefined {
  return text !== undefined && parseDay(`${text}-01`) !== undefined ? text : undefined;
}

function askedOf(c: OperatorContext, nowMs: number): Asked {
  const query = c.req.query();
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const day = parseDay(query["day"]);
  const month = monthOf(query["month"]) ?? monthOfDay(day ?? today);
  const range = day !== undefined ? { fromDay: day, toDay: day } : daysOfMonth(month);
  const { provider, invoice = "" } = query;
  return {
    day,
    month,
    range,
    provider: provider === "" ? undefined : provider,
    invoice: invoice.trim().slice(0, 40),
  };
}

async function readSheet(deps: OperatorDeps, { range, provider }: Asked): Promise<{
  readonly sheet: ProviderSheet;
  readonly providers: readonly string[];
}> {
  const sheet = await readProviderSheet(deps.kv, range);
  const providers = [...new Set(sheet.calls.map((one) => one.provider))].sort();
  if (provider === undefined) return { sheet, providers };
  const isOf = (one: { readonly provider: string }) => one.provider === provider;
  return {
    sheet: { ...sheet, lines: sheet.lines.filter(isOf), calls: sheet.calls.filter(isOf) },
    providers,
  };
}

/** Shows the sheet. */
export async function sheetPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = marginTexts[locale];
  const asked = askedOf(c, deps.clock.nowMs());
  const { sheet, providers } = await readSheet(deps, asked);
  const lines = withoutDays(sheet.lines);
  return await renderOperatorPage(
    c,
    {
      title: t.sheet,
      lead: t.sheetLead,
      actions: <a href={`/operator/margins/sheet.csv?${queryOf(asked)}`}>{t.export}</a>,
    },
    <>
      <Choice asked={asked} providers={providers} locale={locale} />
      {sheet.isPartial && <Notice tone="warning">{t.partial}</Notice>}
      <Totals asked={asked} sheet={sheet} lines={lines} locale={locale} />
      <Card>
        <SheetTable lines={lines} locale={locale} />
      </Card>
    </>,
  );
}

function queryOf({ day, month, provider }: Asked): string {
  return new URLSearchParams({
    ...(day === undefined ? { month } : { day }),
    ...(provider !== undefined && { provider }),
  }).toString();
}

function Choice({ asked, providers, locale }: {
  asked: Asked;
  providers: readonly string[];
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const names = new Set([...providers, ...(asked.provider === undefined ? [] : [asked.provider])]);
  return (
    <form method="get" action={path} class="card inline-form">
      <SelectField
        name="provider"
        label={t.provider}
        value={asked.provider ?? ""}
        options={[
          { value: "", label: t.all },
          ...[...names].sort().map((name) => ({ value: name, label: name })),
        ]}
      />
      <TextField name="month" type="month" label={t.month} value={asked.month} />
      <TextField name="day" type="date" label={t.day} value={asked.day ?? ""} />
      <TextField
        name="invoice"
        label={t.invoice}
        hint={t.invoiceHint}
        inputmode="decimal"
        value={asked.invoice}
        error={asked.invoice !== "" && costParts(asked.invoice) === undefined
          ? t.invoiceWrong
          : undefined}
      />
      <SubmitButton tone="plain">{frameTexts[locale].show}</SubmitButton>
    </form>
  );
}

/** Sums by currency, in the order of their codes. */
function sumsByCurrency(lines: readonly SheetLine[]) {
  const sums = new Map<string, { parts: bigint; microVnd: bigint }>();
  for (const { card, parts, costMicroVnd } of lines) {
    const { code } = card.terms.currency;
    const sum = sums.get(code) ?? { parts: 0n, microVnd: 0n };
    sums.set(code, { parts: sum.parts + parts, microVnd: sum.microVnd + costMicroVnd });
  }
  return [...sums].sort(([one], [other]) => ascending(one, other));
}

function Totals({ asked, sheet, lines, locale }: {
  asked: Asked;
  sheet: ProviderSheet;
  lines: readonly SheetLine[];
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const sum = (of: (one: ProviderSheet["calls"][number]) => number) =>
    sheet.calls.reduce((total, one) => total + of(one), 0);
  const calls = sum((one) => one.calls);
  const unknown = sum((one) => one.unknownCalls);
  const joined = sum((one) => one.joinedCalls);
  const sums = sumsByCurrency(lines);
  const invoiced = asked.invoice === "" ? undefined : costParts(asked.invoice);
  const [only] = sums;
  return (
    <>
      {unknown > 0 && <Notice tone="info">{t.sheetUnknown(formatCount(unknown, locale))}</Notice>}
      {joined > 0 && <Notice tone="warning">{t.sheetJoined(formatCount(joined, locale))}</Notice>}
      <Stats>
        {sums.map(([code, { parts, microVnd }]) => (
          <Stat
            label={`${t.total} ${code}`}
            note={code === "VND" ? t.sheetCalls(formatCount(calls, locale)) : (
              <>
                ≈ <Money microVnd={microVnd} locale={locale} /> ·{" "}
                {t.sheetCalls(formatCount(calls, locale))}
              </>
            )}
          >
            {formatCost(parts)}
          </Stat>
        ))}
        {invoiced !== undefined && only !== undefined && sums.length === 1 && (
          <Stat label={`${t.difference} (${only[0]})`}>{formatCost(invoiced - only[1].parts)}</Stat>
        )}
      </Stats>
    </>
  );
}

/** A column of the file; the page shows some of them, in the same order. */
interface SheetColumn extends CsvColumn<SheetLine> {
  readonly shown?: (locale: Locale) => Column<SheetLine>;
}

const sheetColumns: readonly SheetColumn[] = [
  { name: "utc_day", cell: ({ day }) => day },
  {
    name: "provider",
    cell: ({ provider }) => provider,
    shown: (locale) => ({
      head: marginTexts[locale].provider,
      cell: ({ provider }) => provider,
    }),
  },
  {
    name: "model",
    cell: ({ model }) => model,
    shown: (locale) => ({
      head: marginTexts[locale].model,
      kind: "long",
      cell: ({ model }) => model,
    }),
  },
  {
    name: "bucket",
    cell: ({ bucket }) => bucket,
    shown: (locale) => ({
      head: marginTexts[locale].bucket,
      cell: ({ bucket }) => <code>{bucket}</code>,
    }),
  },
  {
    name: "units",
    cell: ({ units }) => units,
    shown: (locale) => ({
      head: marginTexts[locale].units,
      kind: "number",
      cell: ({ units }) => formatCount(units, locale),
    }),
  },
  { name: "currency", cell: ({ card }) => card.terms.currency.code },
  {
    name: "rate",
    cell: ({ card, bucket }) => formatRate(card, bucket),
    shown: (locale) => ({
      head: marginTexts[locale].rate,
      kind: "number",
      cell: ({ card, bucket }) =>
        `${formatRate(card, bucket) ?? "–"} ${card.terms.currency.code} / ${
          marginTexts[locale].per[rateUnit(bucket)]
        }`,
    }),
  },
  { name: "rate_per", cell: ({ bucket }) => rateUnit(bucket) },
  {
    name: "sum",
    cell: ({ parts }) => formatCost(parts),
    shown: (locale) => ({
      head: marginTexts[locale].sum,
      kind: "number",
      cell: ({ card, parts }) => `${formatCost(parts)} ${card.terms.currency.code}`,
    }),
  },
  { name: "vnd_per_unit", cell: ({ card }) => String(card.terms.currency.vndPerUnit) },
  {
    name: "sum_vnd",
    cell: ({ costMicroVnd }) => formatVnd(costMicroVnd),
    shown: (locale) => ({
      head: marginTexts[locale].inVnd,
      kind: "number",
      wideOnly: true,
      cell: ({ costMicroVnd }) => <Money microVnd={costMicroVnd} locale={locale} />,
    }),
  },
  { name: "rate_card", cell: ({ card }) => card.id },
];

function SheetTable({ lines, locale }: { lines: readonly SheetLine[]; locale: Locale }) {
  const t = marginTexts[locale];
  return (
    <DataTable
      label={t.sheet}
      rows={lines}
      empty={
        <Empty title={t.noSheet}>
          <p>{t.noSheetText}</p>
        </Empty>
      }
      columns={sheetColumns.flatMap(({ shown }) => shown === undefined ? [] : [shown(locale)])}
    />
  );
}

/** Sends the sheet as a file, with a row for each day. */
export async function sheetFile(c: OperatorContext, deps: OperatorDeps): Promise<Response> {
  const asked = askedOf(c, deps.clock.nowMs());
  const { sheet } = await readSheet(deps, asked);
  const name = asked.day ?? asked.month;
  return new Response(csvFile(sheetColumns, sheet.lines), {
    headers: csvDownloadHeaders(`provider-sheet-${asked.provider ?? "all"}-${name}.csv`),
  });
}
