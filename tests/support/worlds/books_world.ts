/** A store with several days of calls and top-ups, for tests of the verification of days. */
import {
  type MasterKeys,
  newMasterKey,
  readMasterKeys,
} from "../../../core/people/api_keys/seal.ts";
import { type AccountId, newId } from "../../../core/lib/ids/ids.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import {
  type BooksOptions,
  type BooksReport,
  verifyBooks,
} from "../../../kv/services/verify/verify_books.ts";
import { openWalletEngine, type WalletEngine } from "../../../kv/money/wallet/mod.ts";
import { ManualTime } from "../manual_time.ts";
import { draftOf, mustReserve } from "./money_world.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** Noon in Vietnam of the first day of the next world: ids of one process always rise. */
let nextNoonMs = Date.UTC(2027, 0, 1, 5);

/** Amounts are in µVND. Every account begins with 10,000. */
export class BooksWorld implements AsyncDisposable {
  readonly kv: KeyValueStore;
  readonly wallet: WalletEngine;
  readonly ann: AccountId;
  readonly bob: AccountId;
  readonly #options: Pick<BooksOptions, "masterKeys">;
  readonly #clock: { nowMs: number };

  private constructor(
    kv: KeyValueStore,
    wallet: WalletEngine,
    options: Pick<BooksOptions, "masterKeys">,
    clock: { nowMs: number },
  ) {
    this.kv = kv;
    this.wallet = wallet;
    this.#options = options;
    this.#clock = clock;
    this.ann = newId("account", clock.nowMs);
    this.bob = newId("account", clock.nowMs);
  }

  /**
   * Opens an empty store at noon of its first day.
   *
   * @param given for a process that has the machine's clock: a noon in the past, before all other ids of this process,
   *   and its keys
   */
  static async open(
    kv?: KeyValueStore,
    given: { readonly noonMs?: number; readonly masterKeys?: MasterKeys } = {},
  ): Promise<BooksWorld> {
    const clock = { nowMs: given.noonMs ?? nextNoonMs };
    nextNoonMs += 100 * dayMs;
    const store = kv ?? await Deno.openKv(":memory:");
    const masterKeys = given.masterKeys ?? await readMasterKeys(newMasterKey());
    const wallet = await openWalletEngine(store, {
      clock: { nowMs: () => clock.nowMs, monotonicMs: () => clock.nowMs },
      timer: new ManualTime(),
    });
    return new BooksWorld(store, wallet, { masterKeys }, clock);
  }

  /** A store with calls on three days and on the fourth, which has not ended; none is sealed. */
  static async used(kv?: KeyValueStore): Promise<BooksWorld> {
    const world = await BooksWorld.open(kv);
    await world.topUp(world.ann, 10_000n);
    await world.topUp(world.bob, 10_000n);
    for (let day = 0; day < 4; day++) {
      if (day > 0) world.nextDay();
      for (const cost of [10n, 20n]) {
        await world.call(world.ann, cost);
        await world.call(world.bob, cost);
      }
      await world.topUp(world.ann, 1_000n);
    }
    return world;
  }

  get nowMs(): number {
    return this.#clock.nowMs;
  }

  advance(durationMs: number): void {
    this.#clock.nowMs += durationMs;
    nextNoonMs = Math.max(nextNoonMs, this.#clock.nowMs + dayMs);
  }

  nextDay(): void {
    this.advance(dayMs);
  }

  /** Settles a call of this moment; its index and the row of the lease lag behind. */
  async settle(accountId: AccountId, cost: bigint): Promise<void> {
    const startedAtMs = this.nowMs;
    const requestId = newId("request", startedAtMs);
    const reservation = await mustReserve(this.wallet, accountId, cost);
    await this.wallet.settle(reservation, draftOf(cost, { requestId, startedAtMs }));
  }

  /** Settles and indexes a call of this moment. */
  async call(accountId: AccountId, cost: bigint): Promise<void> {
    await this.settle(accountId, cost);
    await this.wallet.indexOnce();
  }

  async topUp(accountId: AccountId, amountMicroVnd: bigint): Promise<void> {
    const result = await credit(this.kv, {
      accountId,
      amountMicroVnd,
      kind: "topup",
      operationId: `books:${newId("ledger", this.nowMs)}`,
      reason: "test",
      atMs: this.nowMs,
    });
    if (result.status !== "applied") throw new Error(result.status);
  }

  get masterKeys(): MasterKeys {
    return this.#options.masterKeys;
  }

  /** Verifies as of now, also as another store reads the rows. */
  async verify(
    { kv = this.kv, ...options }: Partial<BooksOptions> & { readonly kv?: KeyValueStore } = {},
  ): Promise<BooksReport> {
    return await verifyBooks(kv, {
      ...this.#options,
      nowMs: this.nowMs,
      pause: () => Promise.resolve(),
      ...options,
    });
  }

  /** The n-th row under a prefix. */
  async row(prefix: Deno.KvKey, at = 0): Promise<Deno.KvEntry<unknown>> {
    const rows = await Array.fromAsync(this.kv.list<unknown>({ prefix }));
    const row = rows.at(at);
    if (row === undefined) throw new Error(`no row ${at} under ${prefix.join(" ")}`);
    return row;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wallet.close();
    this.kv.close();
  }
}

/** The problems of a report, a line each. */
export function problemLines({ problems }: BooksReport): string[] {
  return problems.map(({ kind, detail }) => `${kind}: ${detail}`);
}
