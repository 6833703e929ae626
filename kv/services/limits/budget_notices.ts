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

/** A budget of an account that has reached a share, or is used up, in one of its windows. */
export interface BudgetEvent {
  readonly account: Account;
  readonly budget: Budget;
  readonly spentMicroVnd: bigint;
  /** The window in which it happened. */
  readonly days: BudgetDays;
  readonly atMs: number;
}

/**
 * Adds the webhook and the mail of a reached budget to the commit that marks it as announced. A budget that is used up has
 * a mail of its own.
 */
function announceReached(
  operation: AtomicWrite,
  event: BudgetEvent,
  percent: WarningPercent,
): void {
  const { account, budget, days: { fromDay }, atMs } = event;
  addWebhookEvent(operation, account.id, {
    type: "budget.reached",
    data: { ...factsOf(event), percent },
  }, atMs);
  const reader = mailReaderOf(account, "budget_reached");
  if (percent === 100 || reader === undefined) return;
  addMail(operation, { kind: "budget_reached", ...reader, ...mailFactsOf(event), percent }, {
    nowMs: atMs,
    id: `budget:${budget.id}:${fromDay}:${percent}:${budget.amountMicroVnd}`,
  });
}

/** The same of a budget that is used up, or has refused a call. */
function announceExhausted(operation: AtomicWrite, event: BudgetEvent): void {
  const { account, budget, days, atMs } = event;
  addWebhookEvent(operation, account.id, {
    type: "budget.exhausted",
    data: factsOf(event),
  }, atMs);
  const reader = mailReaderOf(account, "budget_exhausted");
  if (reader === undefined) return;
  addMail(operation, { kind: "budget_exhausted", ...reader, ...mailFactsOf(event) }, {
    nowMs: atMs,
    id: `budget:${budget.id}:${days.fromDay}:exhausted:${budget.amountMicroVnd}`,
  });
}

/** Facts that both webhooks have. */
function factsOf({ budget, spentMicroVnd, days }: BudgetEvent) {
  const { id, name, window, amountMicroVnd, atLimit } = budget;
  const resetsAtMs = budgetEndMs(days);
  return {
    budget_id: id,
    name,
    spent_vnd: formatVnd(spentMicroVnd),
    budget_vnd: formatVnd(amountMicroVnd),
    window,
    from_day: days.fromDay,
    at_limit: atLimit,
    ...(resetsAtMs !== undefined && { resets_at: new Date(resetsAtMs).toISOString() }),
  };
}

/** Facts that both mails have. */
function mailFactsOf({ budget, spentMicroVnd, days }: BudgetEvent) {
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

/** Announcement of a budget in a window. Another amount makes it another budget. */
interface BudgetMark {
  readonly fromDay: string;
  /** The largest share that was announced; 0: none. */
  readonly percent: number;
  readonly amountMicroVnd: bigint;
  /** That it was announced as used up. */
  readonly isExhausted?: true;
}

/** The marks of the budgets of an account, by their ids. */
type BudgetMarks = Readonly<Record<string, BudgetMark>>;

/**
 * Finds the budgets that were used up, or refused a call, in their windows of a moment.
 *
 * @returns their ids
 */
export async function exhaustedBudgets(
  kv: KeyValueStore,
  accountId: AccountId,
  budgets: readonly Budget[],
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const { value } = await kv.get<BudgetMarks>(budgetMarksKey(accountId));
  const isExhausted = (budget: Budget) => {
    const mark = value?.[budget.id];
    return mark?.isExhausted === true && mark.amountMicroVnd === budget.amountMicroVnd &&
      mark.fromDay === budgetDays(budget, nowMs).fromDay;
  };
  return new Set(budgets.filter(isExhausted).map(({ id }) => id));
}

/** A commit that announces events of the budgets of an account, and marks them as announced. */
class BudgetAnnouncements {
  readonly #account: Account;
  readonly #operation: AtomicWrite;
  readonly #key: Deno.KvKey;
  readonly #marks: Record<string, BudgetMark> = {};
  #announced = 0;

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
  static async begin(
    kv: KeyValueStore,
    accountId: AccountId,
  ): Promise<BudgetAnnouncements | undefined> {
    const [account, marks] = await kv.getMany<[Account, BudgetMarks]>([
      accountKey(accountId),
      budgetMarksKey(accountId),
    ]);
    if (account.value === null || account.value.blockedAtMs !== undefined) return undefined;
    return new BudgetAnnouncements(kv.atomic(), account.value, marks);
  }

  /** Announces a share, and that the budget is exhausted, unless that was done already. */
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
    // Days sort as texts; a window that is over is not announced.
    if (mark !== undefined && mark.fromDay > fromDay) return;
    const announced = mark?.fromDay === fromDay ? mark : undefined;
    const event = { account: this.#account, budget, days, ...spent };
    const isReached = percent !== undefined && percent > (announced?.percent ?? 0);
    const isUsedUp = isExhausted && announced?.isExhausted !== true;
    if (isReached) announceReached(this.#operation, event, percent);
    if (isUsedUp) announceExhausted(this.#operation, event);
    if (!isReached && !isUsedUp) return;
    this.#announced++;
    this.#marks[budget.id] = {
      fromDay,
      percent: Math.max(percent ?? 0, announced?.percent ?? 0),
      amountMicroVnd,
      ...((isExhausted || announced?.isExhausted === true) && { isExhausted: true }),
    };
  }

  /** @param budgets those whose marks stay */
  async commit(budgets: readonly Budget[]): Promise<number> {
    if (this.#announced === 0) return 0;
    const kept = Object.entries(this.#marks).filter(([id]) => budgets.some((one) => one.id === id));
    const operation = this.#operation.set(this.#key, Object.fromEntries(kept));
    // Another instance that looked at the same time has announced the same.
    return (await operation.commit()).ok ? this.#announced : 0;
  }
}

/**
 * Announces budgets that have refused some of these calls as exhausted. The refused calls are in the store by then, so no
 * call waits for it; what is lost here follows the next call that is refused.
 */
export async function announceRefusals(
  kv: KeyValueStore,
  calls: readonly RefusedCall[],
): Promise<void> {
  for (const [accountId, some] of Map.groupBy(calls, ({ accountId }) => accountId)) {
    const refusals = some.flatMap(({ code, figures, atMs }) =>
      code === "budget_exceeded" && figures?.kind === "budget" ? [{ ...figures, atMs }] : []
    );
    if (refusals.length === 0) continue;
    const announcements = await BudgetAnnouncements.begin(kv, accountId);
    if (announcements === undefined) continue;
    const budgets = await listBudgets(kv, accountId);
    for (const { id, limitMicroVnd, usedMicroVnd: spentMicroVnd, atMs } of refusals) {
      const budget = budgets.find((one) => one.id === id && one.amountMicroVnd === limitMicroVnd);
      if (budget !== undefined) {
        announcements.add(budget, { isExhausted: true, spentMicroVnd, atMs });
      }
    }
    await announcements.commit(budgets);
  }
}

/** Milliseconds after which an account is looked at although no call of it was indexed. */
const quietMs = 10 * minuteMs;

/** Needs of the notices. */
export interface BudgetNoticesDeps {
  readonly kv: KeyValueStore;
  readonly book: Pick<KeyLimitBook, "budgetUse">;
}

/** State of an account when it was looked at last. */
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
    const announcements = await BudgetAnnouncements.begin(kv, accountId);
    if (announcements === undefined) return 0;
    for (const [at, budget] of budgets.entries()) {
      const { spentMicroVnd = 0n } = uses[at] ?? {};
      const percent = reachedPercent(budget, spentMicroVnd);
      const isExhausted = percent === 100;
      announcements.add(budget, { percent, isExhausted, spentMicroVnd, atMs: nowMs });
    }
    return await announcements.commit(budgets);
  }
}

/** Milliseconds by which ids may be ahead of this clock. */
const aheadMs = 60 * minuteMs;
