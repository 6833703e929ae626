/**
 * Builds the statement of a month for bookkeeping: the balance before it, every movement, the calls by day, model and
 * key, the tax in what was paid in, and the balance at its end. Months and days are those of Vietnam.
 *
 * - Folder `kv/money/statements/`: monthly statements for accountants.
 * - In: the ledger and the sums of usage of an account, its invoices, the operator's schedule of tax rates.
 * - Out: one model of a month, of which every file of it is made.
 * - Never: gives out a statement whose movements do not lead from its first balance to its last.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import { microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  daysOfMonth,
  monthOfDay,
  shiftMonth,
  vietnamDay,
} from "../../../core/lib/time/vietnam_time.ts";
import type { Invoice } from "../../../core/trade/invoices/invoice.ts";
import {
  type DatedVatRate,
  splitVat,
  type VatRate,
  vatRateAt,
  type VatSplit,
} from "../../../core/trade/invoices/vat.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { getAccount } from "../../people/accounts/accounts.ts";
import { listApiKeys } from "../../people/api_keys/api_keys.ts";
import { getInvoiceSettings, listAccountInvoices } from "../invoices/invoices.ts";
import type { LedgerEntry, LedgerKind } from "../ledger/ledger.ts";
import { type Period, readLedgerOf } from "../ledger/statement.ts";
import { readUsage, type UsageRow } from "../ledger/usage.ts";
import { addUsage, noUsage, type UsageSum } from "../receipts/day_sums.ts";

/** Newest invoices of an account among which those of a month are found: one a day for years. */
const maxInvoicesRead = 2_000;

/** The movements of one kind. */
export interface KindSum {
  readonly kind: LedgerKind;
  readonly count: number;
  readonly microVnd: bigint;
}

/** The calls of a day, a model or a key. */
export interface CallSum {
  /** The day, the model, or the id of the key. */
  readonly of: string;
  /** The name of a key that still has one. */
  readonly name?: string;
  readonly usage: UsageSum;
}

/** Amount that was paid in at once, and the tax in it; without a rate if the operator has none for that day. */
export interface TaxedTopup {
  readonly entry: LedgerEntry;
  readonly rate?: VatRate;
  readonly split?: VatSplit;
}

/** The invoice details of an account, as they are when the statement is made. */
export interface StatementHolder {
  readonly accountId: AccountId;
  readonly email?: string;
  readonly legalName?: string;
  readonly taxCode?: string;
  readonly address?: string;
}

/** The statement of a month. */
export interface MonthStatement extends Period {
  /** Month such as `2026-11`. */
  readonly month: string;
  readonly holder: StatementHolder;
  /** The month is not over: movements may follow. */
  readonly isOpen: boolean;
  readonly openingMicroVnd: bigint;
  /** The lines of the ledger, oldest first. */
  readonly movements: readonly LedgerEntry[];
  readonly kinds: readonly KindSum[];
  readonly calls: UsageSum;
  readonly byDay: readonly CallSum[];
  readonly byModel: readonly CallSum[];
  readonly byKey: readonly CallSum[];
  readonly topups: readonly TaxedTopup[];
  /** Invoices that were requested in the month; absent: its reader may not see invoices. */
  readonly invoices?: readonly Invoice[];
  readonly closingMicroVnd: bigint;
}

/** Removes invoices and the buyer's details, for readers whose role may not see invoices. */
export function withoutInvoices(
  { invoices: _, holder: { accountId, email }, ...rest }: MonthStatement,
): MonthStatement {
  return { ...rest, holder: { accountId, ...defined({ email }) } };
}

/** Removes the names of keys, for readers whose role may not see keys. */
export function withoutKeyNames({ byKey, ...rest }: MonthStatement): MonthStatement {
  return { ...rest, byKey: byKey.map(({ of, usage }) => ({ of, usage })) };
}

/** Lists the months from an account's beginning to now, newest first. */
export function monthsOf(createdAtMs: number, nowMs: number): string[] {
  const first = monthOfDay(vietnamDay(createdAtMs));
  const months: string[] = [];
  let month = monthOfDay(vietnamDay(nowMs));
  while (month >= first) {
    months.push(month);
    month = shiftMonth(month, -1);
  }
  return months;
}

function sumsBy(
  rows: readonly UsageRow[],
  nameOf: (row: UsageRow) => string,
  names: ReadonlyMap<string, string> = new Map(),
): CallSum[] {
  const sums = new Map<string, UsageSum>();
  for (const row of rows) {
    sums.set(nameOf(row), addUsage(sums.get(nameOf(row)) ?? noUsage, row.usage));
  }
  return [...sums].sort(([one], [other]) => ascending(one, other))
    .map(([of, usage]) => ({ of, ...defined({ name: names.get(of) }), usage }));
}

function totalOf(sums: readonly CallSum[]): UsageSum {
  return sums.reduce((total, { usage }) => addUsage(total, usage), noUsage);
}

function sumsOfKinds(movements: readonly LedgerEntry[]): KindSum[] {
  const sums = new Map<LedgerKind, KindSum>();
  for (const { kind, amountMicroVnd } of movements) {
    const known = sums.get(kind) ?? { kind, count: 0, microVnd: 0n };
    sums.set(kind, { kind, count: known.count + 1, microVnd: known.microVnd + amountMicroVnd });
  }
  return [...sums.values()];
}

function taxed(entry: LedgerEntry, schedule: readonly DatedVatRate[]): TaxedTopup {
  const rate = vatRateAt(schedule, entry.atMs);
  const isWhole = entry.amountMicroVnd >= 0n && entry.amountMicroVnd % microVndPerVnd === 0n;
  if (rate === undefined || !isWhole) return { entry };
  return { entry, rate, split: splitVat(entry.amountMicroVnd / microVndPerVnd, rate) };
}

/** Fails unless the movements lead from the first balance to the last, and all sums of calls agree. */
function checkSums(statement: MonthStatement): void {
  const { openingMicroVnd, closingMicroVnd, kinds, movements, calls } = statement;
  const moved = kinds.reduce((sum, { microVnd }) => sum + microVnd, 0n);
  const listed = movements.reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n);
  invariant(moved === listed, "the kinds of movements have the sum of the movements");
  for (const sums of [statement.byDay, statement.byModel, statement.byKey]) {
    invariant(totalOf(sums).costMicroVnd === calls.costMicroVnd, "all groups have the same cost");
  }
  invariant(
    openingMicroVnd + moved - calls.costMicroVnd === closingMicroVnd,
    "the movements of a month lead from its first balance to its last",
  );
}

async function holderOf(
  kv: KeyValueStore,
  accountId: AccountId,
  [latest]: readonly Invoice[],
): Promise<StatementHolder> {
  const [account, buyer] = await Promise.all([
    getAccount(kv, accountId),
    getInvoiceSettings(kv, accountId),
  ]);
  // Who has saved no details has written them on an invoice.
  const { legalName, taxCode, address } = buyer.legalName === undefined && latest !== undefined
    ? latest.buyer
    : buyer;
  return { accountId, ...defined({ email: account?.email, legalName, taxCode, address }) };
}

/**
 * Reads the statement of a month; `undefined` if it has more lines than a statement holds
 * (`maxStatementLines`): the pages have them by shorter periods.
 */
export async function readMonthStatement(
  kv: KeyValueStore,
  accountId: AccountId,
  { month, nowMs, vatRates }: {
    readonly month: string;
    readonly nowMs: number;
    readonly vatRates: readonly DatedVatRate[];
  },
): Promise<MonthStatement | undefined> {
  const period = daysOfMonth(month);
  const { entries, earlierMicroVnd, truncated } = await readLedgerOf(kv, accountId, period);
  if (truncated) return undefined;
  const { toDay } = period;
  const [usage, keys, invoices] = await Promise.all([
    readUsage(kv, accountId, { fromDay: "2000-01-01", toDay }),
    listApiKeys(kv, accountId),
    listAccountInvoices(kv, accountId, maxInvoicesRead),
  ]);
  const costOf = (rows: readonly UsageRow[]) =>
    rows.reduce((sum, row) => sum + row.usage.costMicroVnd, 0n);
  const rows = usage.filter(({ day }) => day >= period.fromDay);
  const moved = entries.reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n);
  const byDay = sumsBy(rows, ({ day }) => day);
  // The keys of a closed account have no names.
  const keyNames = new Map(keys.flatMap(({ id, name }) => name === "" ? [] : [[id, name]]));
  const statement: MonthStatement = {
    ...period,
    month,
    holder: await holderOf(kv, accountId, invoices),
    isOpen: toDay >= vietnamDay(nowMs),
    openingMicroVnd: earlierMicroVnd - costOf(usage.filter(({ day }) => day < period.fromDay)),
    movements: entries,
    kinds: sumsOfKinds(entries),
    calls: totalOf(byDay),
    byDay,
    byModel: sumsBy(rows, ({ model }) => model),
    byKey: sumsBy(rows, ({ keyId }) => keyId, keyNames),
    topups: entries.filter(({ kind }) => kind === "topup").map((entry) => taxed(entry, vatRates)),
    invoices: invoices.filter(({ requestedAtMs }) =>
      monthOfDay(vietnamDay(requestedAtMs)) === month
    ).toReversed(),
    closingMicroVnd: earlierMicroVnd + moved - costOf(usage),
  };
  checkSums(statement);
  return statement;
}
