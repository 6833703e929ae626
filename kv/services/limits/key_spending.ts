/**
 * Remembers what each key with limits has spent in a month and on its days (Vietnam time), and reads
 * it again every few seconds, since other instances spend with the same key and refunds arrive.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { ApiKeyId } from "../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { netCostMicroVnd, readUsage } from "../../money/ledger/usage.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { ApiKeyRecord } from "../../people/api_keys/api_keys.ts";

/** Months of keys whose spending is remembered per instance; bounds the memory. */
const maxLimitedKeysKept = 10_000;

/** Milliseconds after which the remembered spending of a key is read again. */
const keySpendingStaleMs = 5_000;

/** What is needed of a key to enforce its limits. */
export type LimitedKey = Pick<
  ApiKeyRecord,
  "id" | "accountId" | "dailyLimitMicroVnd" | "monthlyLimitMicroVnd"
>;

/** The sum that one key spent in a day or a month, as far as this instance knows. */
export interface PeriodSum {
  settledMicroVnd: bigint;
  reservedMicroVnd: bigint;
  /** Cost of calls that ended while the store was being read, which the read may have missed. */
  endedMeanwhileMicroVnd: bigint;
}

/** The sums of one key: of a month, and of the days on which it spent something. */
interface Spending {
  readonly month: PeriodSum;
  readonly days: Map<string, PeriodSum>;
  readAtMs: number;
  reading: Promise<void> | undefined;
}

/** The sums of the day and month that a call counts in. */
export interface Periods {
  readonly day: PeriodSum;
  readonly month: PeriodSum;
}

function noSum(): PeriodSum {
  return { settledMicroVnd: 0n, reservedMicroVnd: 0n, endedMeanwhileMicroVnd: 0n };
}

function sumOfDay(spending: Spending, day: string): PeriodSum {
  const known = spending.days.get(day);
  if (known !== undefined) return known;
  const sum = noSum();
  spending.days.set(day, sum);
  return sum;
}

function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** The spending of all keys with limits that this instance has served. */
export class KeySpendings {
  readonly #kv: KeyValueStore;
  readonly #clock: Clock;
  /** By key and month: a call that began before the turn of a month counts in the month of its start. */
  readonly #spendings = new Map<string, Spending>();

  constructor(kv: KeyValueStore, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Returns the current sums of the day and month in which a call began. */
  async periods(key: LimitedKey, startedAtMs: number): Promise<Periods> {
    const today = vietnamDay(startedAtMs);
    const spending = await this.#fresh(key, monthOf(today));
    return { day: sumOfDay(spending, today), month: spending.month };
  }

  #spending(keyId: ApiKeyId, month: string): Spending {
    const id = `${keyId} ${month}`;
    let spending = this.#spendings.get(id);
    if (spending === undefined) {
      if (this.#spendings.size >= maxLimitedKeysKept) this.#forgetIdle();
      spending = { month: noSum(), days: new Map(), readAtMs: -Infinity, reading: undefined };
      this.#spendings.set(id, spending);
    }
    return spending;
  }

  /** Removes months without running calls, but none that was just read: a call may be about to reserve against it. */
  #forgetIdle(): void {
    for (const [id, spending] of this.#spendings) {
      const isIdle = spending.month.reservedMicroVnd === 0n && spending.reading === undefined;
      if (isIdle && !this.#isFresh(spending)) this.#spendings.delete(id);
    }
  }

  #isFresh({ readAtMs }: Spending): boolean {
    return this.#clock.monotonicMs() - readAtMs <= keySpendingStaleMs;
  }

  async #read(key: LimitedKey, month: string, spending: Spending): Promise<void> {
    const askedAtMs = this.#clock.monotonicMs();
    const sums = () => [spending.month, ...spending.days.values()];
    for (const sum of sums()) sum.endedMeanwhileMicroVnd = 0n;
    const rows = await readUsage(this.#kv, key.accountId, {
      fromDay: `${month}-01`,
      toDay: `${month}-31`,
    });
    // A call that ended meanwhile may count twice until the next read. Too high a sum delays a call; too low a
    // sum would let the key exceed its limit.
    for (const sum of sums()) sum.settledMicroVnd = sum.endedMeanwhileMicroVnd;
    for (const { keyId, day, usage } of rows) {
      if (keyId !== key.id) continue;
      spending.month.settledMicroVnd += netCostMicroVnd(usage);
      sumOfDay(spending, day).settledMicroVnd += netCostMicroVnd(usage);
    }
    spending.readAtMs = askedAtMs;
  }

  /** Returns up-to-date sums of a month, with at most one read per key and month at a time. */
  #fresh(key: LimitedKey, month: string): Spending | Promise<Spending> {
    const spending = this.#spending(key.id, month);
    if (this.#isFresh(spending)) return spending;
    spending.reading ??= this.#read(key, month, spending)
      .finally(() => spending.reading = undefined);
    return spending.reading.then(() => spending);
  }
}
