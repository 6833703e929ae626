/**
 * `kill -9` of `admin archive` at random moments. Whoever reads the store sees every receipt once all the time, and a run
 * that nobody disturbs ends what the killed ones began.
 */
import { listAllReceipts } from "../support/worlds/money_world.ts";
import { assert, assertEquals } from "../support/assert.ts";
import type { StoreLocation } from "../../core/config/platform.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import type { AccountId, RequestId } from "../../core/lib/ids/ids.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { dayMs, minuteMs } from "../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import { openStore } from "../../kv/engine/opening/store.ts";
import { daySumCellOf, daySumsPrefix } from "../../kv/engine/schema/keys.ts";
import { readUsage } from "../../kv/money/ledger/usage.ts";
import { receiptPagesBetween } from "../../kv/money/receipts/receipt_pages.ts";
import { listReceipts } from "../../kv/money/receipts/receipts.ts";
import { type ArchivedStore, withArchive } from "../../kv/services/archive/open_archive.ts";
import { root } from "../repository/source_files.ts";
import { testEnvironment } from "../support/gateways/gateway_in_process.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { runRandom } from "../support/random.ts";
import { until } from "../support/until.ts";
import { casesOf } from "../support/property.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { BooksWorld, problemLines } from "../support/worlds/books_world.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

/** All days are older than the 35 that `admin archive` leaves in the store. */
const startedDaysAgo = 45;
const seededDays = 4;
const minutesBetweenCalls = 5;

/** Kills that have to come amid the work. */
const killsWanted = casesOf(10);
/** Copies of the seeded store on which they are tried: one that is done before has a successor. */
const maxCopies = 8;
/** Starts of the command on one copy. */
const maxStarts = 100;
/** Milliseconds from the moment when the work is seen to have begun, within which the first kill comes. */
const firstSpreadMs = 100;
/** By what that becomes less after a run that ended before its kill, and more after a kill before anything was moved. */
const earlierFactor = 0.7;
const laterFactor = 1.3;

/** What was seeded, and what every reader has to see of it, the latest first. */
interface Seed {
  readonly masterKey: string;
  readonly account: AccountId;
  readonly allIds: readonly RequestId[];
  readonly idsOfAccount: readonly RequestId[];
  /** The end of the last sealed day. */
  readonly sealedUntilMs: number;
}

async function openWhole(location: StoreLocation): Promise<ArchivedStore> {
  const opened = await openStore(location, systemClock);
  assert(opened.ok, "the store opens");
  const archived = await withArchive(opened.store, location, systemClock);
  assert(archived.ok, archived.ok ? "" : archived.problem);
  return archived.store;
}

async function listAll({ kv }: ArchivedStore): Promise<RequestId[]> {
  return await Array.fromAsync(listAllReceipts(kv), ({ requestId }) => requestId);
}

async function listAccount({ kv }: ArchivedStore, accountId: AccountId): Promise<RequestId[]> {
  const ids: RequestId[] = [];
  let before: RequestId | undefined;
  do {
    const page = await listReceipts(kv, accountId, { limit: 100, ...(before && { before }) });
    ids.push(...page.receipts.map(({ requestId }) => requestId));
    before = page.next;
  } while (before !== undefined);
  return ids;
}

/** Fills a store with sealed days that are old enough to move, and with the beginning of a day that is not sealed. */
async function seedStore(location: StoreLocation): Promise<Seed> {
  const masterKey = newMasterKey();
  using store = await openWhole(location);
  const { kv } = store;
  const world = await BooksWorld.open(kv, {
    // Noon by the calendar, since a day is sealed two hours after its end only.
    noonMs: vietnamDayStartMs(vietnamDay(Date.now() - startedDaysAgo * dayMs)) + dayMs / 2,
    masterKeys: await readMasterKeys(masterKey),
  });
  const { ann, bob, wallet } = world;
  for (const account of [ann, bob]) await world.topUp(account, 1_000_000n);
  for (let minutes = 0; minutes < seededDays * 24 * 60; minutes += minutesBetweenCalls) {
    await Promise.all([ann, bob, ann].map((account, i) => world.settle(account, BigInt(i) * 7n)));
    await wallet.indexOnce();
    world.advance(minutesBetweenCalls * minuteMs);
  }
  const books = await world.verify({ kv });
  assertEquals(problemLines(books), []);
  await wallet.close();
  return {
    masterKey,
    account: ann,
    allIds: await listAll(store),
    idsOfAccount: await listAccount(store, ann),
    sealedUntilMs: vietnamDayStartMs(books.sealedNow.at(-1) ?? "") + dayMs,
  };
}

/** How far the moving is. */
interface Progress {
  /** Hours that are in the archive. */
  readonly hours: number;
  /** Pages of sealed days that are in the store. */
  readonly pages: number;
  /** Their sums by day, key and model that are in the store. */
  readonly sums: number;
}

/** A copy of the seeded store. */
interface Copy extends AsyncDisposable {
  /** `GATEWAY_KV` of it. */
  readonly address: string;
  /** How far it is; nobody has to see what was seeded. */
  progress(): Promise<Progress>;
  /** A text that changes as the command writes, for who looks from outside. */
  traces(): Promise<string>;
  /** Looks at the store as its readers see it, and fails if they do not see all that was seeded. */
  look(): Promise<void>;
}

/** The command of `deno task admin` itself: a task would live on in a process of its own when it is killed. */
const [, ...adminFlags] = String(
  JSON.parse(await Deno.readTextFile(new URL("deno.json", root))).tasks.admin,
).split(" ");

function adminCommand({ masterKey }: Seed, { address }: Copy, ...args: string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: [...adminFlags, ...args],
    cwd: root,
    env: { ...testEnvironment, GATEWAY_KV: address, GATEWAY_MASTER_KEYS: masterKey, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

async function runAdmin(seed: Seed, copy: Copy, ...args: string[]) {
  const { code, stdout, stderr } = await adminCommand(seed, copy, ...args).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stdout) + decoder.decode(stderr));
  return JSON.parse(decoder.decode(stdout));
}

/**
 * Starts `admin archive` and kills it once its work is seen to have begun, however long the machine takes to start it.
 *
 * @param afterMs from then to the kill
 * @returns whether it was still alive
 */
async function killArchiving(seed: Seed, copy: Copy, afterMs: number): Promise<boolean> {
  const before = await copy.traces();
  const child = adminCommand(seed, copy, "archive").spawn();
  let isOver = false;
  const ending = child.output().finally(() => isOver = true);
  while (!isOver && await copy.traces() === before) await sleep(1);
  await Promise.race([ending, sleep(afterMs)]);
  try {
    child.kill("SIGKILL");
  } catch {
    // It has already ended.
  }
  const { code, signal, stdout, stderr } = await ending;
  if (signal === "SIGKILL") return true;
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stdout) + decoder.decode(stderr));
  return false;
}

function isChanged(before: Progress, after: Progress): boolean {
  return after.hours !== before.hours || after.pages !== before.pages || after.sums !== before.sums;
}

/** What a database in a file leaves on the disk when it is written. Only the process that has it open may read it. */
async function tracesOf(path: string): Promise<string> {
  const files = [path, `${path}-wal`].map((one) => Deno.stat(one).catch(() => undefined));
  return (await Promise.all(files)).map((file) => `${file?.size} ${file?.mtime?.getTime()}`).join();
}

async function assertWhole(store: ArchivedStore, seed: Seed): Promise<void> {
  // As one text: the differences of two lists of a thousand ids would take minutes to print.
  assertEquals((await listAll(store)).join(), seed.allIds.join());
  assertEquals((await listAccount(store, seed.account)).join(), seed.idsOfAccount.join());
  const everyDay = { fromDay: "2000-01-01", toDay: "2999-12-31" };
  const usage = await readUsage(store.kv, seed.account, everyDay);
  const calls = usage.reduce((sum, { usage }) => sum + usage.calls, 0);
  assertEquals(calls, seed.idsOfAccount.length);
}

async function progressOf(
  { parts }: ArchivedStore,
  { sealedUntilMs }: Seed,
): Promise<Progress> {
  assert(parts !== undefined, "the store has an archive");
  const hours = await parts.archive.hoursBetween(0, sealedUntilMs);
  const pages = await Array.fromAsync(parts.living.list(receiptPagesBetween(0, sealedUntilMs)));
  const sums = await Array.fromAsync(parts.living.list({ prefix: daySumsPrefix() }));
  const day = vietnamDay(sealedUntilMs);
  const old = sums.filter(({ key }) => daySumCellOf(key).day < day);
  return { hours: hours.length, pages: pages.length, sums: old.length };
}

/** When the next kill comes, as the last ones were too early or too late. */
class KillTimes {
  #spreadMs = firstSpreadMs;

  next(): number {
    return runRandom() * this.#spreadMs;
  }

  wasVain(): void {
    this.#spreadMs *= laterFactor;
  }

  wasLate(): void {
    this.#spreadMs *= earlierFactor;
  }
}

/**
 * Kills the command again and again until a copy is moved or enough kills came amid its work.
 *
 * @returns how many changed something and left something to do
 */
async function killedOn(
  seed: Seed,
  copy: Copy,
  { times, wanted }: { readonly times: KillTimes; readonly wanted: number },
): Promise<number> {
  let amid = 0;
  let before = await copy.progress();
  for (let starts = 0; amid < wanted && starts < maxStarts; starts++) {
    const isKilled = await killArchiving(seed, copy, times.next());
    const after = await copy.progress();
    const isVain = !isChanged(before, after);
    before = after;
    if (!isVain) await copy.look();
    if (!isKilled || after.pages + after.sums === 0) {
      times.wasLate();
      break;
    }
    if (isVain) times.wasVain();
    else amid++;
  }
  return amid;
}

/** Moves copies of a seeded store with kills, until enough of them came amid the work. */
async function killOften(seed: Seed, makeCopy: () => Promise<Copy>): Promise<void> {
  let amid = 0;
  const times = new KillTimes();
  for (let copies = 0; amid < killsWanted; copies++) {
    assert(copies < maxCopies, `${amid} kills came amid the work`);
    await using copy = await makeCopy();
    amid += await killedOn(seed, copy, { times, wanted: killsWanted - amid });
    const { ok, problems } = await runAdmin(seed, copy, "archive");
    assertEquals([ok, problems], [true, []]);
    await copy.look();
    const { pages, sums } = await copy.progress();
    assertEquals([pages, sums], [0, 0], "the sealed days have left the store");
    const books = await runAdmin(seed, copy, "verify", "--full");
    assertEquals([books.ok, books.full, books.receipts], [true, true, seed.allIds.length]);
  }
}

Deno.test(
  "kill -9 of `admin archive` on a file: every receipt is there once after each",
  processes,
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "gateway-archive-kill-" });
    try {
      const seeded = `${folder}/seeded.sqlite3`;
      const seed = await seedStore({ kind: "file", path: seeded });
      let copies = 0;
      await killOften(seed, async () => {
        const path = `${folder}/copy-${++copies}.sqlite3`;
        await Deno.copyFile(seeded, path);
        return {
          address: path,
          async progress() {
            using store = await openWhole({ kind: "file", path });
            return await progressOf(store, seed);
          },
          traces: () => tracesOf(`${path}.archive`),
          async look() {
            using store = await openWhole({ kind: "file", path });
            await assertWhole(store, seed);
          },
          async [Symbol.asyncDispose]() {},
        };
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

/** Reads a store all the time, while another process moves days. */
async function readBeside(url: string, seed: Seed): Promise<Copy> {
  const store = await openWhole({ kind: "postgres", url });
  let isOver = false;
  let looks = 0;
  const reading = (async () => {
    for (; !isOver; looks++) await assertWhole(store, seed);
  })();
  // A look that fails is told by the next `look`.
  reading.catch(() => {});
  return {
    address: url,
    progress: () => progressOf(store, seed),
    traces: async () => JSON.stringify(await progressOf(store, seed)),
    async look() {
      const before = looks;
      // The second look from now has begun after now.
      const isRead = () => looks > before + 1;
      await Promise.race([reading, until(isRead, "the reader goes on")]);
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await reading;
      store[Symbol.dispose]();
    },
  };
}

const programs = await postgresPrograms();

Deno.test(
  "kill -9 of `admin archive` on PostgreSQL: who reads all the time beside it misses nothing",
  { ...processes, ignore: programs === undefined },
  async () => {
    await using server = await startPostgres(programs ?? "");
    const seeded = await server.makeDatabase();
    const seed = await seedStore({ kind: "postgres", url: seeded });
    await killOften(seed, async () => await readBeside(await server.makeDatabase(seeded), seed));
  },
);
