/**
 * Limits of keys over a day or month, and budgets of accounts: what calls use of them, as they reserve and
 * end. Threads of one process share one book, so that a limit holds over all of them; another thread reaches it by
 * messages.
 */
import {
  fittingMicroVnd,
  rangeOf,
  type ReservationAmount,
  type ReservationRange,
} from "../../../core/billing/price.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import {
  type Budget,
  type BudgetDays,
  budgetDays,
  budgetEndMs,
} from "../../../core/limits/budgets.ts";
import {
  type MadeUnits,
  type PeriodLimitName,
  type PeriodLimits,
  periodLimitsOf,
  type PeriodMeter,
} from "../../../core/limits/limit_table.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import type { ApiKeyRecord } from "../../people/api_keys/api_keys.ts";
import {
  type CallAmounts,
  noAmounts,
  type PeriodAmounts,
  plus,
  type SpentSum,
  SpentSums,
  type SpentSumsDeps,
  type SumOf,
} from "./spent_sums.ts";

/** Facts of a call that its limits need. */
export interface LimitedKey extends Pick<ApiKeyRecord, "id" | "accountId" | keyof PeriodLimits> {
  /** The budgets in which the call counts, and that refuse. */
  readonly budgets?: readonly Budget[];
}

/** Needs of the book. */
export interface LimitBookDeps extends SpentSumsDeps {
  readonly timer?: Timer;
}

// Enforces the limits that the owner of a key sets per day and month (Vietnam time), and budgets, before a call is
// admitted.
//
// Running calls count with the most that they may use, so many calls at once cannot exceed a limit.
// The use of other instances and refunds are read every few seconds: between two reads a limit can
// be exceeded by what other instances admit. A call counts in the day, week and month of its start,
// like its receipt, however late it is admitted or ends; a refund counts in the period of its call.

interface Refused {
  readonly ok: false;
  /** In µVND, or in units. */
  readonly limit: bigint;
  /** Used and reserved in that period. */
  readonly used: bigint;
  /** Need of the call. */
  readonly needed: bigint;
  /** The limit would allow the call if no other call had reserved of it, and the call has waited for them. */
  readonly isHeld?: boolean;
}

/** The refusal of a call that a limit of its key does not allow. */
export interface KeyLimitRefusal extends Refused {
  readonly reason: "key_limit";
  readonly limitName: PeriodLimitName;
  /** End of the period. */
  readonly endsInMs: number;
}

/** The refusal of a call that a budget does not allow. */
export interface BudgetRefusal extends Refused {
  readonly reason: "budget";
  readonly budget: Pick<Budget, "id" | "name" | "window">;
  /** End of its window; absent: never. */
  readonly resetsAtMs?: number;
}

/** The refusal of a call. */
export type LimitRefusal = KeyLimitRefusal | BudgetRefusal;

/** A limit that binds a call. */
interface Bound {
  readonly meter: PeriodMeter;
  readonly limit: bigint;
  readonly sum: SpentSum;
  readonly refusal:
    | Pick<KeyLimitRefusal, "reason" | "limitName" | "endsInMs">
    | Omit<BudgetRefusal, keyof Refused>;
}

/** The limits of one call, and all sums in which it counts, each once. */
class CallBounds {
  readonly accountId: AccountId;
  readonly #bounds: readonly Bound[];
  readonly #sums: ReadonlySet<SpentSum>;

  constructor(accountId: AccountId, bounds: readonly Bound[], sums: Iterable<SpentSum>) {
    this.accountId = accountId;
    this.#bounds = bounds;
    this.#sums = new Set(sums);
  }

  get #ofMoney(): readonly Bound[] {
    return this.#bounds.filter(({ meter }) => meter === "money");
  }

  /** Whether no other call has reserved money of a limit. */
  get isAlone(): boolean {
    return [...this.#sums].every(({ reserved }) => reserved.money === 0n);
  }

  /** Returns the limit that forbids some amounts, if one does. */
  refusal(amounts: CallAmounts): LimitRefusal | undefined {
    for (const { meter, limit, sum: { settled, reserved }, refusal } of this.#bounds) {
      const needed = amounts[meter];
      if (needed === undefined) continue;
      const used = settled[meter] + reserved[meter];
      if (used + needed > limit) return { ok: false, limit, used, needed, ...refusal };
    }
    return undefined;
  }

  /** Reserves amounts, or returns the limit that forbids them. */
  reserve(amounts: CallAmounts): LimitRefusal | undefined {
    const refused = this.refusal(amounts);
    if (refused === undefined) { for (const sum of this.#sums) sum.reserve(amounts); }
    return refused;
  }

  release(amounts: CallAmounts): void {
    for (const sum of this.#sums) sum.release(amounts);
  }

  /** Replaces what a call that ended had reserved by what it used. */
  ended(reserved: PeriodAmounts, used: PeriodAmounts): void {
    this.release(reserved);
    for (const sum of this.#sums) sum.ended(used);
  }

  /** Whether the limits would allow an amount if no call had reserved of them, and one has. */
  isHeld(amountMicroVnd: bigint): boolean {
    return !this.isAlone &&
      this.#ofMoney.every(({ sum, limit }) => sum.settled.money + amountMicroVnd <= limit);
  }

  /** Returns how much of `amountMicroVnd` the limits still allow, and which of them allows the least. */
  room(
    amountMicroVnd: bigint,
  ): { readonly microVnd: bigint; readonly boundBy: LimitRefusal["reason"] } {
    let microVnd = amountMicroVnd;
    let boundBy: LimitRefusal["reason"] = "key_limit";
    for (const { sum: { settled, reserved }, limit, refusal: { reason } } of this.#ofMoney) {
      const left = limit - settled.money - reserved.money;
      if (left < microVnd) [microVnd, boundBy] = [left, reason];
    }
    return { microVnd, boundBy };
  }
}

const keyWindows = ["day", "month"] as const;

/** Finds the limits that bind a call. */
class BoundsOfCalls {
  readonly #clock: Clock;
  readonly #sums: SpentSums;

  constructor(clock: Clock, sums: SpentSums) {
    this.#clock = clock;
    this.#sums = sums;
  }

  /** Returns the limits of the windows in which a call began, with current sums. */
  async of(key: LimitedKey, startedAtMs: number): Promise<CallBounds> {
    const { id: keyId, accountId, budgets = [] } = key;
    const limits = periodLimitsOf(key);
    const subject = { kind: "key", keyId } as const;
    const windows = (limits.length === 0 ? [] : keyWindows).map((window) =>
      budgetDays({ window, createdAtMs: startedAtMs }, startedAtMs)
    );
    const spans = budgets.map((budget) => budgetDays(budget, startedAtMs));
    const wanted: SumOf[] = [
      ...windows.map((days) => ({ ...days, subject })),
      ...budgets.map((budget, at) => ({ ...spanAt(spans, at), subject: budget.subject })),
    ];
    const sums = await this.#sums.read(accountId, wanted);
    const sumAt = (at: number) => {
      const sum = sums[at];
      invariant(sum !== undefined, "a sum for each that is asked for");
      return sum;
    };
    const bounds = [
      ...limits.map(({ limitName, meter, window, limit }): Bound => {
        const at = keyWindows.indexOf(window);
        const endsInMs = (budgetEndMs(spanAt(windows, at)) ?? 0) - this.#clock.nowMs();
        const refusal = { reason: "key_limit", limitName, endsInMs } as const;
        return { meter, limit, sum: sumAt(at), refusal };
      }),
      ...budgets.map((budget, at): Bound => {
        const { id, name, window, amountMicroVnd: limit } = budget;
        const resetsAtMs = budgetEndMs(spanAt(spans, at));
        const refusal = {
          reason: "budget",
          budget: { id, name, window },
          ...defined({ resetsAtMs }),
        } as const;
        return { meter: "money", limit, sum: sumAt(windows.length + at), refusal };
      }),
    ];
    return new CallBounds(accountId, bounds, sums);
  }
}

function spanAt(spans: readonly BudgetDays[], at: number): BudgetDays {
  const span = spans[at];
  invariant(span !== undefined, "days for each window");
  return span;
}

/**
 * Milliseconds that a call waits for what other calls have reserved of a limit, if it can begin with less than it
 * wants: as long as for money of the wallet.
 */
const limitWaitMs = 15_000;
/** Calls of one account that may wait at once; further ones take what there is. Bounds the memory. */
const maxWaitingCalls = 1_000;

/** An amount that the limits of a call allow. */
export interface LimitGrant {
  readonly ok: true;
  readonly amountMicroVnd: bigint;
}

/** Reservation of one running call under its limits. */
export interface LimitedCall {
  /** Reserves as much of an amount as the limits allow, if that is anything. */
  extend(amountMicroVnd: bigint): LimitGrant | LimitRefusal | Promise<LimitGrant | LimitRefusal>;
  /** Returns a part that the call did not get. */
  giveBack(amountMicroVnd: bigint): void;
  /** Replaces the reservation by what the call used. Safe to call twice. */
  end(used: PeriodAmounts): void;
}

/** Amounts that a call wants of its limits. */
export interface PeriodNeed {
  readonly money: ReservationAmount;
  /** Units that it asks for. Absent: it makes none that are counted, and their limits do not bind it. */
  readonly makes?: MadeUnits | undefined;
}

/** Use of a budget in its window. */
export interface BudgetUse {
  readonly spentMicroVnd: bigint;
  /** Reserved by calls that run here. */
  readonly reservedMicroVnd: bigint;
}

/** The reservations of running calls against the limits of their keys and the budgets of their accounts. */
export interface KeyLimitBook {
  /**
   * Reserves what a call needs to begin: of a range of money, what `fittingMicroVnd` says. A call with a range waits for
   * others that have reserved of the limit.
   *
   * @param startedAtMs decides the day and month that the call counts in
   */
  begin(
    key: LimitedKey,
    need: PeriodNeed,
    startedAtMs: number,
  ): Promise<LimitRefusal | BegunCall>;
  /** Returns what was spent of budgets of an account in the windows of a moment. */
  budgetUse(
    accountId: AccountId,
    budgets: readonly Budget[],
    atMs: number,
  ): Promise<readonly BudgetUse[]>;
}

/** A call that its limits allow. */
export interface BegunCall {
  readonly ok: true;
  readonly call: LimitedCall;
  /** The money that is reserved of the limits. */
  readonly amountMicroVnd: bigint;
  /** The kind of the limit that allowed the least. */
  readonly boundBy: LimitRefusal["reason"];
}

class BookedCall implements LimitedCall {
  readonly #bounds: CallBounds;
  #amounts: PeriodAmounts;
  readonly #onFreed: () => void;
  #hasEnded = false;

  /** @param onFreed called when the call has returned what it does not need */
  constructor(bounds: CallBounds, amounts: PeriodAmounts, onFreed: () => void) {
    this.#bounds = bounds;
    this.#amounts = amounts;
    this.#onFreed = onFreed;
  }

  extend(askedMicroVnd: bigint): LimitGrant | LimitRefusal {
    const { microVnd } = this.#bounds.room(askedMicroVnd);
    const amountMicroVnd = microVnd > 0n ? microVnd : askedMicroVnd;
    const more = { money: amountMicroVnd };
    const refusal = this.#bounds.reserve(more);
    if (refusal !== undefined) return refusal;
    // A call that ended meanwhile has released its reservation; this part must follow.
    if (this.#hasEnded) this.#bounds.release(more);
    else this.#amounts = plus(this.#amounts, more);
    return { ok: true, amountMicroVnd };
  }

  giveBack(amountMicroVnd: bigint): void {
    if (this.#hasEnded) return;
    const part = { money: amountMicroVnd };
    this.#amounts = plus(this.#amounts, part, -1n);
    this.#bounds.release(part);
    if (amountMicroVnd > 0n) this.#onFreed();
  }

  end(used: PeriodAmounts): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#bounds.ended(this.#amounts, used);
    this.#onFreed();
  }
}

/** Calls that wait for what others of their account have reserved of limits. */
class WaitingCalls {
  readonly #waiting = new Map<AccountId, Set<() => void>>();

  isFull(id: AccountId): boolean {
    return (this.#waiting.get(id)?.size ?? 0) >= maxWaitingCalls;
  }

  /** Waits for {@linkcode freed}. `onWaiting` gets a function that ends the wait. */
  wait(id: AccountId, onWaiting: (wake: () => void) => void): Promise<void> {
    const calls = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, calls);
    return new Promise((resolve) => {
      const wake = () => {
        calls.delete(wake);
        if (calls.size === 0) this.#waiting.delete(id);
        resolve();
      };
      calls.add(wake);
      onWaiting(wake);
    });
  }

  /** Wakes the calls that wait, the longest waiting first. */
  freed(id: AccountId): void {
    for (const wake of [...this.#waiting.get(id) ?? []]) wake();
  }
}

/** Opens the book of a process. */
export function openKeyLimitBook(deps: LimitBookDeps): KeyLimitBook {
  const { clock, timer = systemTimer } = deps;
  const sums = new SpentSums(deps);
  const boundsOf = new BoundsOfCalls(clock, sums);
  const waiting = new WaitingCalls();

  /** Reserves what a call can have; `undefined` if it should wait for others. */
  function book(
    bounds: CallBounds,
    { range, makes }: { readonly range: ReservationRange; readonly makes: MadeUnits },
    canWait: boolean,
  ): LimitRefusal | BegunCall | undefined {
    // First, since a call that may make nothing has no money to wait for.
    const refusedUnits = bounds.refusal(makes);
    if (refusedUnits !== undefined) return refusedUnits;
    const { wantedMicroVnd, leastMicroVnd } = range;
    const isHeld = bounds.isHeld(leastMicroVnd);
    const mayWait = canWait && isHeld;
    const { microVnd: roomMicroVnd, boundBy } = bounds.room(wantedMicroVnd);
    const { isAlone } = bounds;
    const free = { ownMicroVnd: roomMicroVnd, budgetMicroVnd: roomMicroVnd, isAlone };
    const fitting = fittingMicroVnd(range, free, !mayWait);
    if (fitting === undefined && mayWait) return undefined;
    const amountMicroVnd = fitting ?? leastMicroVnd;
    const amounts = { ...makes, money: amountMicroVnd };
    const refusal = bounds.reserve(amounts);
    if (refusal !== undefined) {
      return isHeld && leastMicroVnd < wantedMicroVnd ? { ...refusal, isHeld } : refusal;
    }
    const onFreed = () => waiting.freed(bounds.accountId);
    const call = new BookedCall(bounds, plus(noAmounts, amounts), onFreed);
    return { ok: true, call, amountMicroVnd, boundBy };
  }

  return {
    async begin(key, need, startedAtMs) {
      const range = rangeOf(need.money);
      const { makes = {} } = need;
      let canWait = range.waits !== false && range.leastMicroVnd < range.wantedMicroVnd &&
        !waiting.isFull(key.accountId);
      let wake = () => {};
      let stopTimer: (() => void) | undefined;
      try {
        for (;;) {
          const bounds = await boundsOf.of(key, startedAtMs);
          const begun = book(bounds, { range, makes }, canWait);
          if (begun !== undefined) return begun;
          stopTimer ??= timer.start(() => {
            canWait = false;
            wake();
          }, limitWaitMs);
          await waiting.wait(key.accountId, (known) => wake = known);
        }
      } finally {
        stopTimer?.();
      }
    },
    async budgetUse(accountId, budgets, atMs) {
      const wanted = budgets.map((budget) => ({
        ...budgetDays(budget, atMs),
        subject: budget.subject,
      }));
      return (await sums.read(accountId, wanted)).map(({ settled, reserved }) => ({
        spentMicroVnd: settled.money,
        reservedMicroVnd: reserved.money,
      }));
    },
  };
}
