/**
 * Lays a monthly statement out as tables, once for all kinds of files: PDF, XLSX and CSV show the same rows and sums.
 *
 * - Folder `routes/usage_api/statements/`: monthly statements as JSON, CSV, XLSX and PDF, in both languages.
 * - In: a statement, the language of its reader.
 * - Out: files, and the answers of `/v1/statements`.
 * - Never: computes money in floating point. Only cells of XLSX are such numbers, as spreadsheets have no others.
 */
import { microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Locale } from "../../../core/lib/base/locale.ts";
import { dayText } from "../../../core/lib/time/day_text.ts";
import { vietnamDay, vietnamIsoTime } from "../../../core/lib/time/vietnam_time.ts";
import type { Invoice } from "../../../core/trade/invoices/invoice.ts";
import { formatVatRate, type VatSplit } from "../../../core/trade/invoices/vat.ts";
import type { CallSum, MonthStatement } from "../../../kv/money/statements/month_statement.ts";
import { ledgerReason } from "./ledger_reason.ts";
import { statementTexts } from "./statement_texts.ts";

/**
 * All columns, in the order of a CSV file, and what their cells are: text, a day (`2026-11-20`), a moment in ISO 8601, a
 * number of things, or µVND.
 */
export const statementColumns = {
  day: "day",
  booked_at: "time",
  item: "text",
  detail: "text",
  reference: "text",
  state: "text",
  calls: "count",
  input_tokens: "count",
  output_tokens: "count",
  units: "count",
  vat_rate: "text",
  gross_vnd: "vnd",
  net_vnd: "vnd",
  vat_vnd: "vnd",
  amount_vnd: "vnd",
} as const;

/** The name of a column. */
export type StatementColumn = keyof typeof statementColumns;

/** A cell: `bigint` is µVND. */
export type StatementCell = string | number | bigint;

/** A row has the cells of some columns. */
export type StatementRow = { readonly [Column in StatementColumn]?: StatementCell };

/** The name of a table. */
export type SectionName = keyof typeof statementTexts.en.sections;

/** A table. Its last row has the sums of the others, in the columns that are named. */
export interface StatementSection {
  readonly name: SectionName;
  readonly columns: readonly StatementColumn[];
  readonly rows: readonly StatementRow[];
  readonly sumLabel: string;
  readonly summed: readonly StatementColumn[];
}

/** A statement as tables. */
export interface StatementDocument {
  readonly locale: Locale;
  /** The name of the service. */
  readonly brand: string;
  readonly title: string;
  /** Names and values above the tables. */
  readonly facts: readonly (readonly [string, string])[];
  readonly sections: readonly StatementSection[];
}

/** Adds the cells of a column. */
export function sumOf(rows: readonly StatementRow[], column: StatementColumn): number | bigint {
  if (statementColumns[column] === "vnd") {
    return rows.reduce((sum, row) => {
      const cell = row[column];
      return typeof cell === "bigint" ? sum + cell : sum;
    }, 0n);
  }
  return rows.reduce((sum, row) => {
    const cell = row[column];
    return typeof cell === "number" ? sum + cell : sum;
  }, 0);
}

function summary(statement: MonthStatement, locale: Locale): StatementSection {
  const t = statementTexts[locale];
  const { openingMicroVnd, kinds, calls } = statement;
  return {
    name: "summary",
    columns: ["item", "amount_vnd"],
    rows: [
      { item: t.opening, amount_vnd: openingMicroVnd },
      ...kinds.map(({ kind, microVnd }) => ({ item: t.kinds[kind], amount_vnd: microVnd })),
      { item: t.calls, amount_vnd: -calls.costMicroVnd },
    ],
    sumLabel: t.closing,
    summed: ["amount_vnd"],
  };
}

function movements(statement: MonthStatement, locale: Locale): StatementSection {
  const t = statementTexts[locale];
  return {
    name: "movements",
    columns: ["booked_at", "item", "detail", "reference", "amount_vnd"],
    rows: statement.movements.map((entry) => ({
      booked_at: vietnamIsoTime(entry.atMs),
      item: t.kinds[entry.kind],
      detail: ledgerReason(entry, locale),
      reference: entry.ledgerId,
      amount_vnd: entry.amountMicroVnd,
    })),
    sumLabel: t.total,
    summed: ["amount_vnd"],
  };
}

/** First columns of a table of calls. */
type CallName = Pick<StatementRow, "day" | "item" | "reference">;

function calls(
  name: "by_day" | "by_model" | "by_key",
  sums: readonly CallSum[],
  nameOf: (sum: CallSum) => CallName,
  locale: Locale,
): StatementSection {
  const names: Readonly<Record<typeof name, readonly StatementColumn[]>> = {
    by_day: ["day"],
    by_model: ["item"],
    by_key: ["item", "reference"],
  };
  const summed: readonly StatementColumn[] = [
    "calls",
    "input_tokens",
    "output_tokens",
    "units",
    "amount_vnd",
  ];
  return {
    name,
    columns: [...names[name], ...summed],
    rows: sums.map((sum) => ({
      ...nameOf(sum),
      calls: sum.usage.calls,
      input_tokens: sum.usage.inputTokens + sum.usage.cacheReadTokens + sum.usage.cacheWriteTokens,
      output_tokens: sum.usage.outputTokens,
      units: sum.usage.units,
      amount_vnd: sum.usage.costMicroVnd,
    })),
    sumLabel: statementTexts[locale].total,
    summed,
  };
}

const taxSums = ["gross_vnd", "net_vnd", "vat_vnd"] as const;

function taxCells({ grossVnd, netVnd, vatVnd }: VatSplit) {
  return {
    gross_vnd: grossVnd * microVndPerVnd,
    net_vnd: netVnd * microVndPerVnd,
    vat_vnd: vatVnd * microVndPerVnd,
  };
}

function topupVat({ topups }: MonthStatement, locale: Locale): StatementSection {
  const t = statementTexts[locale];
  return {
    name: "topup_vat",
    columns: ["day", "reference", "vat_rate", ...taxSums],
    rows: topups.map(({ entry, rate, split }) => ({
      day: vietnamDay(entry.atMs),
      reference: entry.ledgerId,
      vat_rate: rate === undefined ? t.noRate : formatVatRate(rate),
      ...(split === undefined ? { gross_vnd: entry.amountMicroVnd } : taxCells(split)),
    })),
    sumLabel: t.total,
    summed: taxSums,
  };
}

function invoicesSection(invoices: readonly Invoice[], locale: Locale): StatementSection {
  const t = statementTexts[locale];
  return {
    name: "invoices",
    columns: ["day", "reference", "state", "vat_rate", ...taxSums],
    rows: invoices.map((invoice) => ({
      day: invoice.issued?.date ?? vietnamDay(invoice.requestedAtMs),
      reference: invoice.issued === undefined
        ? invoice.id
        : `${invoice.issued.series} ${invoice.issued.number}`,
      state: t.states[invoice.state],
      vat_rate: formatVatRate(invoice.rate),
      ...taxCells(invoice),
    })),
    sumLabel: t.total,
    // Those that were rejected or replaced do not count, so a sum of all would mislead.
    summed: [],
  };
}

/**
 * Lays a statement out in a language.
 *
 * @param brand the name of the service
 * @param seller who runs it
 * @param proofAddress where the proof of the month is
 */
export function statementDocument(
  statement: MonthStatement,
  { locale, brand, seller, proofAddress }: {
    readonly locale: Locale;
    readonly brand: string;
    readonly seller: string | undefined;
    readonly proofAddress: string;
  },
): StatementDocument {
  const t = statementTexts[locale];
  const { month, holder, fromDay, toDay, isOpen, byDay, byModel, byKey, invoices } = statement;
  const [year, number] = month.split("-");
  const facts: readonly (readonly [string, string | undefined])[] = [
    [t.facts.seller, seller],
    [t.facts.legalName, holder.legalName],
    [t.facts.taxCode, holder.taxCode],
    [t.facts.address, holder.address],
    [t.facts.email, holder.email],
    [t.facts.accountId, holder.accountId],
    [t.facts.period, t.period(dayText(fromDay, locale), dayText(toDay, locale))],
    [t.facts.currency, "VND"],
    [t.facts.state, isOpen ? t.open : t.closed],
    [t.facts.proof, proofAddress],
  ];
  return {
    locale,
    brand,
    title: t.title(`${number}/${year}`),
    facts: facts.flatMap(([name, value]) => value === undefined ? [] : [[name, value] as const]),
    sections: [
      summary(statement, locale),
      movements(statement, locale),
      calls("by_day", byDay, ({ of }) => ({ day: of }), locale),
      calls("by_model", byModel, ({ of }) => ({ item: of }), locale),
      calls("by_key", byKey, ({ of, name }) => ({ item: name ?? of, reference: of }), locale),
      topupVat(statement, locale),
      ...(invoices === undefined ? [] : [invoicesSection(invoices, locale)]),
    ],
  };
}
