/**
 * Tells the owner of an account that a budget has reached a share of its amount: once for each share and window, over
 * all instances, since the mark and the mail are one commit. It looks at what is stored, at intervals: what a killed
 * process did not tell, the next look tells.
 */
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { addWebhookEvent } from "../../people/webhooks/events.ts";
import { type AccountId, beforeIdsOf, parseId } from "../../../core/lib/ids/ids.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import {
  type Budget,
  budgetDays,
  budgetEndMs,
  reachedPercent,
  type WarningPercent,
} from "../../../core/limits/budgets.ts";
import {
  accountKey,
  accountOfKey,
  budgetMarksKey,
  budgetsPrefix,
} from "../../engine/schema/keys.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { latestIndexed } from "../../money/receipts/receipt_index.ts";
import { type Account, mailReaderOf } from "../../people/accounts/accounts.ts";
import type { KeyLimitBook } from "./limit_book.ts";

/** A share of a budget that was reached. */
export interface BudgetReached {
  readonly account: Account;
  readonly budget: Budget;
  readonly percent: WarningPercent;
  readonly spentMicroVnd: bigint;
  /** The first day of the window. */
  readonly fromDay: string;
  /** When the window ends; `undefined`: never. */
  readonly resetsAtMs: number | undefined;
  readonly atMs: number;
}

/**
 * Adds everything by which an account hears of a reached budget to the commit that marks it as told. Each way of being
 * told is a row that the commit queues.
 */
function announceBudgetReached(operation: AtomicWrite, reached: BudgetReached): void {
  const { account, budget, percent, spentMicroVnd, fromDay, resetsAtMs, atMs } = reached;
  const { id, name, window, amountMicroVnd, atLimit } = budget;
  addWebhookEvent(operation, account.id, {
    type: "budget.reached",
    data: {
      budget_id: id,
      name,
      percent,
      spent_vnd: formatVnd(spentMicroVnd),
      budget_vnd: formatVnd(amountMicroVnd),
      window,
      from_day: fromDay,
    },
  }, atMs);
  const reader = mailReaderOf(account, "budget_reached");
  if (reader === undefined) return;
  addMail(operation, {
    kind: "budget_reached",
    ...reader,
    budgetName: name,
    window,
    percent,
    amountMicroVnd,
    spentMicroVnd,
    atLimit,
    ...defined({ resetsAtMs }),
  }, { nowMs: atMs, id: `budget:${id}:${fromDay}:${percent}:${amountMicroVnd}` });
}

/** What was told of a budget: the largest share in a window. A changed amount begins anew. */
interface BudgetMark {
  readonly fromDay: string;
  readonly percent: number;
  readonly amountMicroVnd: bigint;
}

/** The marks of the budgets of an account, by their ids. */
type BudgetMarks = Readonly<Record<string, BudgetMark>>;

/** Milliseconds after which an account is looked at although no call of it was indexed. */
const quietMs = 10 * minuteMs;

/** What telling depends on. */
export interface BudgetNoticesDeps {
  readonly kv: KeyValueStore;
  readonly book: Pick<KeyLimitBook, "budgetUse">;
}

/** What was seen of an account when it was looked at last. */
interface Seen {
  readonly version: string;
  readonly atMs: number;
}

/** Looks at the budgets of all accounts. */
export class BudgetNotices {
  readonly #deps: BudgetNoticesDeps;
  #seen: ReadonlyMap<AccountId, Seen> = new Map();

  constructor(deps: BudgetNoticesDeps) {
    this.#deps = deps;
  }

  /** Tells what was reached since the last look. Returns how much. */
  async look(nowMs: number): Promise<number> {
    const { kv } = this.#deps;
    const seen = new Map<AccountId, Seen>();
    const end = parseId("request", beforeIdsOf("request", nowMs + aheadMs));
    let told = 0;
    const rows = kv.list<readonly Budget[]>({ prefix: budgetsPrefix() });
    for await (const { key, value, versionstamp } of rows) {
      const accountId = accountOfKey(key);
      const latest = end && await latestIndexed(kv, accountId, end);
      const version = `${versionstamp} ${latest ?? ""}`;
      const former = this.#seen.get(accountId);
      if (former?.version === version && nowMs - former.atMs < quietMs) {
        seen.set(accountId, former);
        continue;
      }
      told += await this.#lookAt(accountId, value, nowMs);
      seen.set(accountId, { version, atMs: nowMs });
    }
    this.#seen = seen;
    return told;
  }

  async #lookAt(
    accountId: AccountId,
    budgets: readonly Budget[],
    nowMs: number,
  ): Promise<number> {
    const { kv, book } = this.#deps;
    const uses = await book.budgetUse(accountId, budgets, nowMs);
    const [account, marks] = await kv.getMany<[Account, BudgetMarks]>([
      accountKey(accountId),
      budgetMarksKey(accountId),
    ]);
    if (account.value === null || account.value.blockedAtMs !== undefined) return 0;
    const next: Record<string, BudgetMark> = {};
    const operation = kv.atomic().check(marks);
    let reached = 0;
    for (const [at, budget] of budgets.entries()) {
      const mark = marks.value?.[budget.id];
      if (mark !== undefined) next[budget.id] = mark;
      const { spentMicroVnd = 0n } = uses[at] ?? {};
      const days = budgetDays(budget, nowMs);
      const percent = reachedPercent(budget, spentMicroVnd);
      if (percent === undefined || isTold(mark, budget, days.fromDay, percent)) continue;
      const { amountMicroVnd } = budget;
      next[budget.id] = { fromDay: days.fromDay, percent, amountMicroVnd };
      announceBudgetReached(operation, {
        account: account.value,
        budget,
        percent,
        spentMicroVnd,
        fromDay: days.fromDay,
        resetsAtMs: budgetEndMs(days),
        atMs: nowMs,
      });
      reached++;
    }
    if (reached === 0) return 0;
    // Another instance that looked at the same time has told the same.
    return (await operation.set(marks.key, next).commit()).ok ? reached : 0;
  }
}

/** Milliseconds by which ids may be ahead of this clock. */
const aheadMs = 60 * minuteMs;

function isTold(
  mark: BudgetMark | undefined,
  { amountMicroVnd }: Budget,
  fromDay: string,
  percent: number,
): boolean {
  return mark !== undefined && mark.amountMicroVnd === amountMicroVnd &&
    // Days sort as texts; a window that is over is no news.
    (mark.fromDay > fromDay || (mark.fromDay === fromDay && mark.percent >= percent));
}
