/**
 * Sums of what parts of accounts have used in a window of days: of keys with limits, and of the subjects of budgets.
 * Running calls count with what they have reserved. The sums are in memory and are read again every few seconds, since
 * other instances serve calls of the same account and refunds arrive.
 */
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { recordOf } from "../../../core/lib/base/record_of.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import { shiftDay, vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import {
  type BudgetDays,
  type BudgetSubject,
  keyMember,
  type KeyOwner,
  subjectText,
} from "../../../core/limits/budgets.ts";
import { type PeriodMeter, periodMeters, unitMeters } from "../../../core/limits/limit_table.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  netCostMicroVnd,
  readTagUsage,
  readUsage,
  type UsageRow,
} from "../../money/ledger/usage.ts";
import type { DayRange } from "../../money/receipts/day_sums.ts";
import { readKeyOwners } from "../../people/api_keys/api_keys.ts";

// What is counted: the money of calls, and the units that they make.

/** Amounts by what is counted: money in µVND, units by number. */
export type PeriodAmounts = Readonly<Record<PeriodMeter, bigint>>;

/** Nothing of anything. */
export const noAmounts: PeriodAmounts = recordOf(periodMeters, () => 0n);

/** Amounts of a call. No limit of what is absent binds it. */
export type CallAmounts = { readonly [Meter in PeriodMeter]?: bigint };

/** Adds amounts, or takes them off. */
export function plus(
  amounts: PeriodAmounts,
  more: CallAmounts,
  times: 1n | -1n = 1n,
): PeriodAmounts {
  return recordOf(periodMeters, (meter) => amounts[meter] + times * (more[meter] ?? 0n));
}

/** Returns what a receipt, or a sum of receipts of one model, counts. */
export function amountsOf(
  { kind, units, costMicroVnd }: Pick<Receipt, "units" | "costMicroVnd"> & {
    readonly kind: Receipt["kind"] | undefined;
  },
): PeriodAmounts {
  return recordOf(periodMeters, (meter) => {
    if (meter === "money") return costMicroVnd;
    return unitMeters[meter] === kind ? BigInt(units) : 0n;
  });
}

/** Sums that are remembered per instance; bounds the memory. */
const maxSumsKept = 20_000;

/** Milliseconds after which a remembered sum is read again before a call is admitted by it. */
const sumStaleMs = 5_000;

/** Milliseconds after which it is read again in the background, so that calls of a busy account do not wait. */
const sumAgingMs = 2_500;

/** Days that are read each time; those before them change by refunds only. */
const recentDays = 2;

/** Days after today that are read with them, for calls before a clock was set back. */
const daysAhead = 3;

/** Milliseconds after which the days before them are read again. */
const olderStaleMs = 10 * minuteMs;

/** A part of an account, over a window of days. */
export interface SumOf extends BudgetDays {
  readonly subject: BudgetSubject;
}

/** Use of a part of an account in a window, as far as this instance knows. */
export class SpentSum {
  readonly of: SumOf;
  settled = noAmounts;
  reserved = noAmounts;
  /** Of calls that ended while the store was being read, which the read may have missed. */
  endedMeanwhile = noAmounts;
  /** The days before the recent ones. */
  older = { amounts: noAmounts, beforeDay: "", readAtMs: -Infinity };
  readAtMs = -Infinity;

  constructor(of: SumOf) {
    this.of = of;
  }

  reserve(amounts: CallAmounts): void {
    this.reserved = plus(this.reserved, amounts);
  }

  release(amounts: CallAmounts): void {
    this.reserved = plus(this.reserved, amounts, -1n);
    for (const meter of periodMeters) {
      invariant(this.reserved[meter] >= 0n, "what calls have reserved is never negative");
    }
  }

  /** A call that counts here has ended and used this. */
  ended(used: PeriodAmounts): void {
    this.settled = plus(this.settled, used);
    this.endedMeanwhile = plus(this.endedMeanwhile, used);
  }
}

/** Needs of the sums. */
export interface SpentSumsDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** The kind of a model; `undefined` if it has left the catalogue: then what it made counts as money alone. */
  readonly kindOf: (model: string) => Receipt["kind"] | undefined;
}

interface AccountSums {
  readonly sums: Map<string, SpentSum>;
  reading: Promise<void> | undefined;
}

/** The sums of all accounts with limits or budgets that this instance has served. */
export class SpentSums {
  readonly #deps: SpentSumsDeps;
  readonly #accounts = new Map<AccountId, AccountSums>();
  #size = 0;

  constructor(deps: SpentSumsDeps) {
    this.#deps = deps;
  }

  /** Returns current sums, in the order of `wanted`. */
  async read(accountId: AccountId, wanted: readonly SumOf[]): Promise<SpentSum[]> {
    for (;;) {
      if (this.#size + wanted.length > maxSumsKept) this.#forgetIdle();
      const account = this.#accountOf(accountId);
      const sums = wanted.map((of) => this.#sumOf(account, of));
      if (sums.every((sum) => this.#ageMs(sum) <= sumStaleMs)) {
        if (account.reading === undefined && sums.some((sum) => this.#ageMs(sum) > sumAgingMs)) {
          // A failure shows when a call has to wait for the reading.
          this.#begin(accountId, account).catch(() => {});
        }
        return sums;
      }
      // One that was added while others were read waits for the next reading.
      await (account.reading ?? this.#begin(accountId, account));
    }
  }

  #ageMs({ readAtMs }: SpentSum): number {
    return this.#deps.clock.monotonicMs() - readAtMs;
  }

  #accountOf(accountId: AccountId): AccountSums {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = { sums: new Map(), reading: undefined };
      this.#accounts.set(accountId, account);
    }
    return account;
  }

  #sumOf({ sums }: AccountSums, of: SumOf): SpentSum {
    const name = `${of.fromDay} ${of.toDay} ${subjectText(of.subject)}`;
    let sum = sums.get(name);
    if (sum === undefined) {
      sum = new SpentSum(of);
      sums.set(name, sum);
      this.#size++;
    }
    return sum;
  }

  /** Removes sums without running calls, but none that was just read: a call may be about to reserve against it. */
  #forgetIdle(): void {
    for (const [accountId, { sums, reading }] of this.#accounts) {
      if (reading !== undefined) continue;
      for (const [name, sum] of sums) {
        const isReserved = periodMeters.some((meter) => sum.reserved[meter] > 0n);
        if (isReserved || this.#ageMs(sum) <= sumStaleMs) continue;
        sums.delete(name);
        this.#size--;
      }
      if (sums.size === 0) this.#accounts.delete(accountId);
    }
  }

  #begin(accountId: AccountId, account: AccountSums): Promise<void> {
    const reading = this.#read(accountId, [...account.sums.values()]);
    return account.reading = reading.finally(() => account.reading = undefined);
  }

  async #read(accountId: AccountId, sums: readonly SpentSum[]): Promise<void> {
    const { clock } = this.#deps;
    const askedAtMs = clock.monotonicMs();
    const beforeDay = shiftDay(vietnamDay(clock.nowMs()), 1 - recentDays);
    for (const sum of sums) sum.endedMeanwhile = noAmounts;
    const isOld = ({ older }: SpentSum) =>
      older.beforeDay !== beforeDay || askedAtMs - older.readAtMs > olderStaleMs;
    const stale = sums.filter((sum) => sum.of.fromDay < beforeDay && isOld(sum));
    const reader = new UsageReader(this.#deps, accountId);
    const toDay = shiftDay(beforeDay, -1);
    for (const sum of stale) {
      const amounts = await reader.sum(sum.of, { fromDay: sum.of.fromDay, toDay });
      sum.older = { amounts, beforeDay, readAtMs: askedAtMs };
    }
    const recent = new Map<SpentSum, PeriodAmounts>();
    for (const sum of sums) {
      const range = { fromDay: beforeDay, toDay: shiftDay(beforeDay, recentDays + daysAhead) };
      recent.set(sum, await reader.sum(sum.of, range));
    }
    // A call that ended meanwhile may count twice until the next read. Too high a sum delays a call; too low a
    // sum would let its limit be exceeded.
    for (const [sum, amounts] of recent) {
      const older = sum.of.fromDay < beforeDay ? sum.older.amounts : noAmounts;
      sum.settled = plus(plus(amounts, older), sum.endedMeanwhile);
      sum.readAtMs = askedAtMs;
    }
  }
}

/** Reads what one account used, each range of days once. */
class UsageReader {
  readonly #deps: SpentSumsDeps;
  readonly #accountId: AccountId;
  readonly #rows = new Map<string, Promise<readonly UsageRow[]>>();
  #owners: Promise<ReadonlyMap<string, KeyOwner>> | undefined;

  constructor(deps: SpentSumsDeps, accountId: AccountId) {
    this.#deps = deps;
    this.#accountId = accountId;
  }

  /** Sums the part of a window that lies in a range. */
  async sum({ subject, fromDay, toDay }: SumOf, range: DayRange): Promise<PeriodAmounts> {
    const within = {
      fromDay: fromDay > range.fromDay ? fromDay : range.fromDay,
      toDay: toDay < range.toDay ? toDay : range.toDay,
    };
    if (within.fromDay > within.toDay) return noAmounts;
    const isOf = await this.#matching(subject);
    let amounts = noAmounts;
    for (const row of await this.#usage(subject, range)) {
      const { day, model, usage } = row;
      if (day < within.fromDay || day > within.toDay || !isOf(row)) continue;
      const costMicroVnd = netCostMicroVnd(usage);
      const kind = this.#deps.kindOf(model);
      amounts = plus(amounts, amountsOf({ kind, units: usage.units, costMicroVnd }));
    }
    return amounts;
  }

  /** The rows of a range; those of the recent days serve all sums. */
  #usage(subject: BudgetSubject, range: DayRange): Promise<readonly UsageRow[]> {
    const { kv } = this.#deps;
    const tag = subject.kind === "tag" ? subject : undefined;
    const name = `${range.fromDay} ${range.toDay} ${tag === undefined ? "" : subjectText(tag)}`;
    let rows = this.#rows.get(name);
    if (rows === undefined) {
      rows = tag === undefined
        ? readUsage(kv, this.#accountId, range)
        : readTagUsage(kv, this.#accountId, range, tag.tag);
      this.#rows.set(name, rows);
    }
    return rows;
  }

  async #matching(
    subject: BudgetSubject,
  ): Promise<(row: Pick<UsageRow, "keyId" | "model">) => boolean> {
    switch (subject.kind) {
      case "account":
      case "tag":
        return () => true;
      case "key":
        return ({ keyId }) => keyId === subject.keyId;
      case "model":
        return ({ model }) => model === subject.model;
      case "member": {
        const owners = await this.#keyOwners();
        return ({ keyId }) => {
          const owner = owners.get(keyId);
          return owner !== undefined && keyMember(owner) === subject.memberId;
        };
      }
      case "team": {
        const owners = await this.#keyOwners();
        return ({ keyId }) => owners.get(keyId)?.teamId === subject.teamId;
      }
    }
  }

  /** Owners of the keys now: their calls of the whole window count there. */
  #keyOwners(): Promise<ReadonlyMap<string, KeyOwner>> {
    return this.#owners ??= readKeyOwners(this.#deps.kv, this.#accountId);
  }
}
