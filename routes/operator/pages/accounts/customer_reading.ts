/** Reads what a customer's page shows: each part is bounded by days or by rows, whatever the customer has done. */
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { listAccountInvoices } from "../../../../kv/money/invoices/invoices.ts";
import { readStatement } from "../../../../kv/money/ledger/statement.ts";
import { netCostMicroVnd, readUsage, type UsageRow } from "../../../../kv/money/ledger/usage.ts";
import { listTopupOrders } from "../../../../kv/money/payments/topups.ts";
import { listNotes } from "../../../../kv/people/accounts/account_notes.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { findActivity } from "../../../../kv/people/audit/account_activity.ts";
import { listSessions } from "../../../../kv/people/accounts/sessions.ts";
import { listSentMails } from "../../../../kv/people/accounts/sent_mails.ts";
import {
  type ApiKeyRecord,
  isActive,
  listApiKeys,
} from "../../../../kv/people/api_keys/api_keys.ts";
import {
  type KeySpend,
  type LimitInUse,
  limitsInUse,
  periodLimitsInUse,
  spendOfKey,
} from "../../../dashboard/page/rate_view.ts";
import { type Call, callerOf, takeCalls } from "../../../usage_api/search/call_scan.ts";
import { shiftDay } from "../../../usage_api/range.ts";
import { readHealth, usageSince } from "../../../usage_api/summary.ts";
import type { OperatorDeps } from "../base/frame.tsx";

/** Days of the statement. */
const statementDays = 90;

/** Days of charges and of the chart. */
export const usageDays = 30;

/** Days whose pace says how long the balance lasts. */
const paceDays = 7;

/** Days that are searched for errors, and how many are looked at to know the last one of each key. */
const errorDays = 7;
const recentErrors = 50;

/** Orders and invoices of the page; the lists of all have the others. */
const rowsShown = 20;

/** Keys of the page, those in use first. */
const maxKeysShown = 20;

/** A key with what is used of its limits. */
export interface CustomerKey {
  readonly record: ApiKeyRecord;
  readonly active: boolean;
  readonly spend: KeySpend;
  readonly limits: readonly LimitInUse[];
  readonly lastError: Call | undefined;
}

/** The keys of a customer. */
export interface CustomerKeys {
  readonly shown: readonly CustomerKey[];
  readonly active: number;
  readonly notShown: number;
}

async function readKeys(
  deps: OperatorDeps,
  account: Account,
  rows: readonly UsageRow[],
  errors: readonly Call[],
): Promise<CustomerKeys> {
  const nowMs = deps.clock.nowMs();
  const today = vietnamDay(nowMs);
  const records = (await listApiKeys(deps.kv, account.id)).reverse();
  const active = records.filter((record) => isActive(record, nowMs));
  const ordered = [...active, ...records.filter((record) => !active.includes(record))];
  const kindOf = (id: string): Receipt["kind"] | undefined => deps.catalog.current.find(id)?.kind;
  const shown = await Promise.all(
    ordered.slice(0, maxKeysShown).map(async (record): Promise<CustomerKey> => {
      const isUsable = active.includes(record);
      const rates = isUsable ? await limitsInUse(deps.rates, { account, key: record }) : [];
      return {
        record,
        active: isUsable,
        spend: spendOfKey(record.id, rows, today),
        limits: [
          ...periodLimitsInUse(record, rows, today, kindOf),
          ...rates.filter(({ scope }) => scope === "key"),
        ],
        lastError: errors.find((call) => callerOf(call).keyId === record.id),
      };
    }),
  );
  return { shown, active: active.length, notShown: ordered.length - shown.length };
}

/** Days beyond which a runway is not said: the pace of a week says nothing about a year. */
const maxRunwayDays = 365;

/** Days that a balance lasts at the pace of the last week; absent without a pace. */
function runwayDays(balanceMicroVnd: bigint, rows: readonly UsageRow[], today: string) {
  const since = shiftDay(today, -paceDays);
  const spent = rows.filter(({ day }) => day >= since && day < today)
    .reduce((sum, { usage }) => sum + netCostMicroVnd(usage), 0n);
  if (spent <= 0n || balanceMicroVnd <= 0n) return undefined;
  const days = Number(balanceMicroVnd * BigInt(paceDays) / spent);
  return days > maxRunwayDays ? undefined : days;
}

/** Reads the page. */
export async function readCustomer(deps: OperatorDeps, account: Account) {
  const { kv, wallet, clock, rates } = deps;
  const nowMs = clock.nowMs();
  const today = vietnamDay(nowMs);
  const { id: accountId } = account;
  const untilMs = nowMs + 1;
  const [
    balance,
    allRows,
    health,
    errors,
    statement,
    orders,
    invoices,
    limits,
    notes,
    mails,
    sessions,
    activity,
  ] = await Promise.all([
    wallet.balance(accountId),
    readUsage(kv, accountId, { fromDay: shiftDay(today, -usageDays), toDay: today }),
    readHealth(kv, { fromMs: nowMs - dayMs, untilMs, accountId }),
    takeCalls(
      kv,
      { accountId, fromMs: nowMs - errorDays * dayMs, untilMs, status: "error" },
      recentErrors,
    ),
    readStatement(kv, accountId, { fromDay: shiftDay(today, -statementDays), toDay: today }),
    listTopupOrders(kv, accountId, { count: rowsShown }),
    listAccountInvoices(kv, accountId, rowsShown),
    limitsInUse(rates, { account }),
    listNotes(kv, accountId),
    listSentMails(kv, accountId),
    listSessions(kv, accountId, nowMs),
    findActivity(kv, accountId, { count: rowsShown }),
  ]);
  // A month may have had a day more than the charges and the chart.
  const rows = usageSince(allRows, shiftDay(today, 1 - usageDays));
  return {
    nowMs,
    balance,
    runwayDays: runwayDays(balance.totalMicroVnd, rows, today),
    rows,
    health,
    errors: errors.calls,
    statement,
    orders,
    invoices,
    limits,
    notes,
    mails,
    browsers: sessions.length,
    activity: activity.lines,
    keys: await readKeys(deps, account, allRows, errors.calls),
  };
}

/** Content of the page. */
export type CustomerView = Awaited<ReturnType<typeof readCustomer>>;
