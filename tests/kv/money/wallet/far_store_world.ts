/**
 * Plays clients on a wallet engine whose store is some milliseconds away, in simulated time: what a call waits is then a
 * matter of the order of commits, not of the machine.
 */
import { setImmediate } from "node:timers";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { AtomicWrite, KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { draftOf, newAccount, topUp } from "../../../support/worlds/money_world.ts";

export interface FarStoreOptions {
  /** Milliseconds from a call to its answer; half of it before the store takes the call. */
  readonly roundTripMs: number;
  readonly clients: number;
  readonly accounts: number;
  /** Milliseconds that a provider takes for the next call. */
  readonly providerMs: () => number;
  /** Calls of each client: the first ones open leases and lanes. */
  readonly warmCalls: number;
  readonly calls: number;
  /** The price of a call, which reserves 1 VND; 0.02 VND by default. */
  readonly priceMicroVnd?: bigint;
  /** Lanes of the engine; by default as many as it likes. */
  readonly maxLanes?: number;
}

export interface Waits {
  /** Of a whole answer, in round trips. */
  readonly settle: readonly number[];
  /** Of the first byte of a stream, in round trips. */
  readonly reserve: readonly number[];
  /** Commits of the instance per round trip. */
  readonly commitsPerRoundTrip: number;
}

/** A store that is far away in simulated time. */
class FarStore {
  readonly #time: ManualTime;
  readonly #halfMs: number;
  /** Calls that the real store works on. */
  underWay = 0;
  commits = 0;

  constructor(time: ManualTime, roundTripMs: number) {
    this.#time = time;
    this.#halfMs = roundTripMs / 2;
  }

  of(kv: KeyValueStore): KeyValueStore {
    const wrap = (target: AtomicWrite): AtomicWrite =>
      new Proxy(target, {
        get: (op, property, proxy) => {
          if (property === "commit") {
            this.commits++;
            return () => this.#call(() => op.commit());
          }
          const value: unknown = Reflect.get(op, property, op);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) => {
            const result: unknown = value.apply(op, args);
            return result === op ? proxy : result;
          };
        },
      });
    return new Proxy(kv, {
      get: (target, property) => {
        switch (property) {
          case "get":
            return (...args: Parameters<KeyValueStore["get"]>) =>
              this.#call(() => target.get(...args));
          case "getMany":
            return (...args: Parameters<KeyValueStore["getMany"]>) =>
              this.#call(() => target.getMany(...args));
          case "delete":
            return (...args: Parameters<KeyValueStore["delete"]>) =>
              this.#call(() => target.delete(...args));
          case "list":
            return (...args: Parameters<KeyValueStore["list"]>) => this.#list(target, args);
          case "atomic":
            return () => wrap(target.atomic());
          default:
            throw new Error(`The far store has no ${String(property)}`);
        }
      },
    });
  }

  async *#list(kv: KeyValueStore, args: Parameters<KeyValueStore["list"]>) {
    yield* await this.#call(() => Array.fromAsync(kv.list(...args)));
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    await this.#pass();
    this.underWay++;
    const result = await run().finally(() => {
      this.underWay--;
    });
    await this.#pass();
    return result;
  }

  #pass(): Promise<void> {
    return new Promise((resolve) => this.#time.start(resolve, this.#halfMs));
  }
}

/** Lets all clients make their calls one after the other; returns what the calls after the warm ones waited. */
export async function playFarStore(options: FarStoreOptions): Promise<Waits> {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const store = new FarStore(time, options.roundTripMs);
  const accounts = Array.from({ length: options.accounts }, newAccount);
  for (const accountId of accounts) await topUp(kv, accountId, 10n ** 15n);
  let running = options.clients;
  const settle: number[] = [];
  const reserve: number[] = [];
  const run = { warm: options.clients, commits: 0, sinceMs: 0, untilMs: 0, untilCommits: 0 };
  const { maxLanes } = options;
  const opening = openWalletEngine(store.of(kv), {
    clock: time,
    timer: time,
    random: () => 0.5,
    ...(maxLanes === undefined ? {} : { lanes: { maxLanes } }),
  });
  const played = opening.then(async (wallet) => {
    await Promise.all(Array.from({ length: options.clients }, async (_, at) => {
      const accountId = accounts[at % accounts.length];
      if (accountId === undefined) throw new Error("no account");
      for (let call = 0; call < options.warmCalls + options.calls; call++) {
        const waits = await oneCall(wallet, accountId, time, options);
        if (call >= options.warmCalls) {
          reserve.push(waits.reserveMs / options.roundTripMs);
          settle.push(waits.settleMs / options.roundTripMs);
        } else if (call === options.warmCalls - 1 && --run.warm === 0) {
          run.commits = store.commits;
          run.sinceMs = time.nowMs();
        }
      }
      if (running-- === options.clients) {
        run.untilMs = time.nowMs();
        run.untilCommits = store.commits;
      }
    }));
    await wallet.close();
  });
  let isOver = false;
  const over = played.finally(() => isOver = true);
  over.catch(() => {});
  while (!isOver) {
    do await new Promise((resolve) => setImmediate(resolve)); while (store.underWay > 0);
    time.advance(1);
  }
  await over;
  const roundTrips = (run.untilMs - run.sinceMs) / options.roundTripMs;
  return {
    settle,
    reserve,
    commitsPerRoundTrip: (run.untilCommits - run.commits) / roundTrips,
  };
}

async function oneCall(
  wallet: WalletEngine,
  accountId: AccountId,
  time: ManualTime,
  { providerMs, priceMicroVnd = 20_000n }: FarStoreOptions,
): Promise<{ readonly reserveMs: number; readonly settleMs: number }> {
  const startedMs = time.nowMs();
  const pending = wallet.reserve(accountId, 1_000_000n);
  const result = "then" in pending ? await pending : pending;
  if (!result.ok) throw new Error(`refused: ${result.reason}`);
  const reserveMs = time.nowMs() - startedMs;
  await new Promise<void>((resolve) => time.start(resolve, providerMs()));
  const endedMs = time.nowMs();
  await wallet.settle(result.reservation, draftOf(priceMicroVnd));
  return { reserveMs, settleMs: time.nowMs() - endedMs };
}
