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
  type BudgetDays,
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
import { listBudgets } from "../../people/accounts/budgets.ts";
import type { RefusedCall } from "../calls/refused_calls.ts";
import type { KeyLimitBook } from "./limit_book.ts";

/** What an account is told of a budget. */
export interface BudgetNews {
  readonly account: Account;
  readonly budget: Budget;
  readonly spentMicroVnd: bigint;
  /** The window in which it happened. */
  readonly days: BudgetDays;
  readonly atMs: number;
}

/**
 * Adds everything by which an account hears of a reached budget to the commit that marks it as told. Each way of being
 * told is a row that the commit queues. A budget that is used up has a mail of its own.
 */
function announceReached(
  operation: AtomicWrite,
  news: BudgetNews,
  percent: WarningPercent,
): void {
  const { account, budget, days: { fromDay }, atMs } = news;
  addWebhookEvent(operation, account.id, {
    type: "budget.reached",
    data: { ...factsOf(news), percent },
  }, atMs);
  const reader = mailReaderOf(account, "budget_reached");
  if (percent === 100 || reader === undefined) return;
  addMail(operation, { kind: "budget_reached", ...reader, ...mailFactsOf(news), percent }, {
    nowMs: atMs,
    id: `budget:${budget.id}:${fromDay}:${percent}:${budget.amountMicroVnd}`,
  });
}

/** The same of a budget that is used up, or has refused a call. */
function announceExhausted(operation: AtomicWrite, news: BudgetNews): void {
  const { account, budget, days, atMs } = news;
  const resetsAtMs = budgetEndMs(days);
  addWebhookEvent(operation, account.id, {
    type: "budget.exhausted",
    data: {
      ...factsOf(news),
      at_limit: budget.atLimit,
      ...(resetsAtMs !== undefined && { resets_at: new Date(resetsAtMs).toISOString() }),
    },
  }, atMs);
  const reader = mailReaderOf(account, "budget_exhausted");
  if (reader === undefined) return;
  addMail(operation, { kind: "budget_exhausted", ...reader, ...mailFactsOf(news) }, {
    nowMs: atMs,
    id: `budget:${budget.id}:${days.fromDay}:exhausted:${budget.amountMicroVnd}`,
  });
}

/** What both webhooks have. */
function factsOf({ budget, spentMicroVnd, days: { fromDay } }: BudgetNews) {
  const { id, name, window, amountMicroVnd } = budget;
  return {
    budget_id: id,
    name,
    spent_vnd: formatVnd(spentMicroVnd),
    budget_vnd: formatVnd(amountMicroVnd),
    window,
    from_day: fromDay,
  };
}

/** What both mails have. */
function mailFactsOf({ budget, spentMicroVnd, days }: BudgetNews) {
  const { name, window, amountMicroVnd, atLimit } = budget;
  const resetsAtMs = budgetEndMs(days);
  return {
    budgetName: name,
    window,
    amountMicroVnd,
    spentMicroVnd,
    atLimit,
    ...defined({ resetsAtMs }),
  };
}

/** What was told of a budget in a window. A changed amount begins anew. */
interface BudgetMark {
  readonly fromDay: string;
  /** The largest share; 0: none. */
  readonly percent: number;
  readonly amountMicroVnd: bigint;
  /** That it is used up, or has refused a call. */
  readonly isExhausted?: true;
}

/** The marks of the budgets of an account, by their ids. */
type BudgetMarks = Readonly<Record<string, BudgetMark>>;

/** A commit that tells news of the budgets of an account, and marks them as told. */
class BudgetTelling {
  readonly #account: Account;
  readonly #operation: AtomicWrite;
  readonly #key: Deno.KvKey;
  readonly #marks: Record<string, BudgetMark> = {};
  #told = 0;

  private constructor(
    operation: AtomicWrite,
    account: Account,
    marks: Deno.KvEntryMaybe<BudgetMarks>,
  ) {
    this.#operation = operation.check(marks);
    this.#account = account;
    this.#key = marks.key;
    Object.assign(this.#marks, marks.value);
  }

  /** Returns nothing for an account that is blocked, or does not exist any more. */
  static async begin(kv: KeyValueStore, accountId: AccountId): Promise<BudgetTelling | undefined> {
    const [account, marks] = await kv.getMany<[Account, BudgetMarks]>([
      accountKey(accountId),
      budgetMarksKey(accountId),
    ]);
    if (account.value === null || account.value.blockedAtMs !== undefined) return undefined;
    return new BudgetTelling(kv.atomic(), account.value, marks);
  }

  /** Tells of a share, and that the budget is exhausted, unless this was told already. */
  add(
    budget: Budget,
    { percent, isExhausted, ...spent }: {
      /** The largest share that is reached. */
      readonly percent?: WarningPercent | undefined;
      readonly isExhausted: boolean;
      readonly spentMicroVnd: bigint;
      readonly atMs: number;
    },
  ): void {
    const days = budgetDays(budget, spent.atMs);
    const { fromDay } = days;
    const { amountMicroVnd } = budget;
    const former = this.#marks[budget.id];
    const mark = former?.amountMicroVnd === amountMicroVnd ? former : undefined;
    // Days sort as texts; a window that is over is no news.
    if (mark !== undefined && mark.fromDay > fromDay) return;
    const told = mark?.fromDay === fromDay ? mark : undefined;
    const news = { account: this.#account, budget, days, ...spent };
    const isReached = percent !== undefined && percent > (told?.percent ?? 0);
    const isUsedUp = isExhausted && told?.isExhausted !== true;
    if (isReached) announceReached(this.#operation, news, percent);
    if (isUsedUp) announceExhausted(this.#operation, news);
    if (!isReached && !isUsedUp) return;
    this.#told++;
    this.#marks[budget.id] = {
      fromDay,
      percent: Math.max(percent ?? 0, told?.percent ?? 0),
      amountMicroVnd,
      ...((isExhausted || told?.isExhausted === true) && { isExhausted: true }),
    };
  }

  /** @param budgets those whose marks stay */
  async commit(budgets: readonly Budget[]): Promise<number> {
    if (this.#told === 0) return 0;
    const kept = Object.entries(this.#marks).filter(([id]) => budgets.some((one) => one.id === id));
    const operation = this.#operation.set(this.#key, Object.fromEntries(kept));
    // Another instance that looked at the same time has told the same.
    return (await operation.commit()).ok ? this.#told : 0;
  }
}

/**
 * Tells that budgets are exhausted that have refused some of these calls. The refused calls are in the store by then, so
 * no call waits for it; what is lost here follows the next call that is refused.
 */
export async function tellRefusingBudgets(
  kv: KeyValueStore,
  calls: readonly RefusedCall[],
): Promise<void> {
  for (const [accountId, some] of Map.groupBy(calls, ({ accountId }) => accountId)) {
    const refusals = some.filter(({ code, figures }) =>
      code === "budget_exceeded" && figures?.kind === "budget"
    );
    if (refusals.length === 0) continue;
    const telling = await BudgetTelling.begin(kv, accountId);
    const budgets = await listBudgets(kv, accountId);
    for (const { figures, atMs } of refusals) {
      if (figures?.kind !== "budget") continue;
      const { id, limitMicroVnd, usedMicroVnd: spentMicroVnd } = figures;
      const budget = budgets.find((one) => one.id === id && one.amountMicroVnd === limitMicroVnd);
      if (budget !== undefined) telling?.add(budget, { isExhausted: true, spentMicroVnd, atMs });
    }
    await telling?.commit(budgets);
  }
}

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
    const telling = await BudgetTelling.begin(kv, accountId);
    for (const [at, budget] of budgets.entries()) {
      const { spentMicroVnd = 0n } = uses[at] ?? {};
      const percent = reachedPercent(budget, spentMicroVnd);
      const isExhausted = percent === 100;
      telling?.add(budget, { percent, isExhausted, spentMicroVnd, atMs: nowMs });
    }
    return await telling?.commit(budgets) ?? 0;
  }
}

/** Milliseconds by which ids may be ahead of this clock. */
const aheadMs = 60 * minuteMs;
