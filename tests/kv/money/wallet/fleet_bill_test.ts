/**
 * What a large fleet asks of its store: the bill in `docs/operations/several-instances.md` (A large fleet).
 *
 * The fleet has 100 instances, 1 M accounts and 10 M receipts a day. The test plays a slice of it that is the same in
 * every rate: a tenth of the instances and of the accounts, so that an instance has as many calls a second and an account
 * as many calls a day, for a few minutes of simulated time, with the real wallet engines on a store whose calls are
 * counted.
 */
import { seededRandom } from "../../../support/random.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { everyRow } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { countedKv, rowBytes, type StoreCounts } from "../../../support/stores/counted_kv.ts";
import { draftOf, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import { setImmediate } from "node:timers";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const fleet = { instances: 100, accounts: 1_000_000, receiptsPerDay: 10_000_000 };
/** The part of the fleet that the test plays. */
const part = 0.1;
const calls = 2_000;
const costMicroVnd = 125_000n;
const reservedMicroVnd = 1_000_000n;
/** Milliseconds from the reservation of a call to its receipt. */
const callMs = 1_000;
/** Milliseconds of simulated time that one answer of an engine may take. */
const longestWaitMs = 60_000;
/** Turns of the event loop without a call to the store after which no engine has anything left to do. */
const quietTurns = 3;

/** Per call, as `docs/operations/several-instances.md` has them: a fifth above what was measured. */
const bill = { reads: 4.4, commits: 5.6, writtenBytes: 1_850, storedBytes: 1_040 } as const;

async function storedBytes(kv: KeyValueStore): Promise<number> {
  let bytes = 0;
  for await (const { key, value } of kv.list(everyRow())) bytes += rowBytes(key, value);
  return bytes;
}

/** Lets what calls and timers began go on until the store has answered it: its answers take no simulated time. */
async function breathe(counts: StoreCounts): Promise<void> {
  for (let quiet = 0; quiet < quietTurns; quiet = counts.underWay === 0 ? quiet + 1 : 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface Slice {
  readonly counts: StoreCounts;
  readonly time: ManualTime;
  readonly engines: readonly WalletEngine[];
}

type Passing = Pick<Slice, "counts" | "time">;

async function advance({ counts, time }: Passing, ms: number): Promise<void> {
  time.advance(ms);
  await breathe(counts);
}

/** Waits for an answer of an engine, for which time goes on where the engine waits for a timer. */
async function passing<T>(slice: Passing, answer: T | Promise<T>): Promise<T> {
  const promise = Promise.resolve(answer);
  let isSettled = false;
  const settled = () => void (isSettled = true);
  promise.then(settled, settled);
  await breathe(slice.counts);
  for (let ms = 0; !isSettled; ms++) {
    assert(ms < longestWaitMs, "the engine answers within a minute");
    await advance(slice, 1);
  }
  return await promise;
}

/** Makes the calls, each by any instance for any account, at the rate of the fleet. */
async function play(slice: Slice, accounts: readonly AccountId[]): Promise<void> {
  const { time, engines } = slice;
  const next = seededRandom(3);
  const everyMs = dayMs / (fleet.receiptsPerDay * part);
  const underWay: { readonly endMs: number; readonly end: () => Promise<unknown> }[] = [];
  const settling: Promise<unknown>[] = [];
  for (const accountId of accounts) {
    await advance(slice, everyMs * 2 * next());
    while (underWay.length > 0 && underWay[0]!.endMs <= time.nowMs()) {
      settling.push(underWay.shift()!.end());
    }
    const engine = engines[Math.floor(next() * engines.length)]!;
    const result = await passing(slice, engine.reserve(accountId, reservedMicroVnd));
    assert(result.ok, "the wallet can pay");
    const requestId = newId("request", time.nowMs());
    const draft = draftOf(costMicroVnd, { requestId, startedAtMs: time.nowMs() });
    underWay.push({
      endMs: time.nowMs() + callMs,
      end: () => engine.settle(result.reservation, draft),
    });
  }
  await advance(slice, callMs);
  settling.push(...underWay.map(({ end }) => end()));
  await advance(slice, callMs);
  await passing(slice, Promise.all(settling));
}

Deno.test("the bill of 100 instances, 1 M accounts, 10 M receipts a day", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const next = seededRandom(5);
  const engines: WalletEngine[] = [];
  for (let instance = 0; instance < fleet.instances * part; instance++) {
    engines.push(await openWalletEngine(kv, { clock: time, timer: time, random: next }));
  }
  // Of 100,000 accounts that are called at random, few are called twice within minutes.
  const accountsOfSlice = fleet.accounts * part;
  const known = new Map<number, AccountId>();
  const accounts = Array.from({ length: calls }, () => {
    const number = Math.floor(next() * accountsOfSlice);
    const accountId = known.get(number) ?? newAccount();
    known.set(number, accountId);
    return accountId;
  });
  for (const accountId of new Set(accounts)) await topUp(kv, accountId, 100_000_000_000n);

  const bytesBefore = await storedBytes(kv);
  const counts = countedKv(kv);
  const slice = { counts, time, engines };
  await play(slice, accounts);
  const perCall = {
    reads: counts.reads / calls,
    commits: counts.commits / calls,
    writtenBytes: counts.writtenBytes / calls,
  };
  // Leases that are idle go back, which belongs to the calls.
  for (let ms = 0; ms < 60_000; ms += 250) await advance(slice, 250);
  for (const engine of engines) await passing(slice, engine.close());
  const storedPerCall = (await storedBytes(kv) - bytesBefore) / calls;
  const measured = { ...perCall, storedBytes: storedPerCall };
  for (const name of ["reads", "commits", "writtenBytes", "storedBytes"] as const) {
    const [value, bound] = [measured[name], bill[name]];
    assert(value <= bound, `${name} per call: ${value}, the bill says ${bound}`);
    assert(value > bound / 2, `${name} per call: ${value}: lower the ${bound} of the bill`);
  }
  const books = await verifyStore(kv);
  assertEquals(books.problems, []);
  assertEquals(books.receipts, calls);
});
