/**
 * Opens the store. Only one process may have a local file open: two would starve each other until
 * the database reports "locked".
 *
 * - Folder `kv/engine/opening/`: opening the store: which engine a location means, its deadlines, the version of its
 *   schema.
 * - In: the location of the store, a clock.
 * - Out: an open store with its rows up to date, or the reason why it cannot be opened.
 * - Never: waits for the store without end, or opens a local file that another process has open.
 */
import { dirname } from "node:path";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { errorLine } from "../../../core/lib/base/assert.ts";
import type { StoreLocation } from "../../../core/config/platform.ts";
import { writeProbeKey } from "../schema/keys.ts";
import {
  announcedKinds,
  type ChangeNotices,
  isNoticeKind,
  type NoticeKind,
} from "../store/change_notices.ts";
import { kvConnectOutage } from "../kv_connect/client.ts";
import { KvConnectStore } from "../kv_connect/kv_connect_store.ts";
import { type ReadSnapshot, stillSnapshot, trackedSnapshot } from "../parts/snapshot.ts";
import { type CallGuard, callGuard, withDeadlines } from "../store/store_deadlines.ts";
import {
  type OutageKind,
  outageLine,
  type OutageOf,
  StoreUnavailableError,
} from "../store/store_unavailable.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";
import { trackWrites, WriteTracker } from "../parts/write_tracker.ts";

/**
 * The texts of SQLite's result codes (https://www.sqlite.org/c3ref/errcode.html, by `sqlite3_errstr`). The runtime throws
 * a `TypeError` for them as for a mistake of the caller, so that only the whole text tells them apart.
 */
const sqliteKinds: ReadonlyMap<string, OutageKind> = new Map([
  ["disk I/O error", "engine_failed"],
  ["database or disk is full", "no_room"],
  ["out of memory", "no_room"],
  ["attempt to write a readonly database", "takes_no_writes"],
  ["access permission denied", "takes_no_writes"],
  ["authorization denied", "takes_no_writes"],
  ["database is locked", "overloaded"],
  ["database table is locked", "overloaded"],
  ["locking protocol", "overloaded"],
  ["interrupted", "overloaded"],
  ["unable to open database file", "engine_failed"],
  ["database disk image is malformed", "damaged"],
  ["file is not a database", "damaged"],
  ["large file support is disabled", "no_room"],
]);

/** Returns the kind of an outage; `undefined` for an error of the caller. */
export function embeddedOutage(error: unknown): OutageKind | undefined {
  if (!(error instanceof Error)) return undefined;
  const isPlain = Object.getPrototypeOf(error) === Error.prototype;
  return sqliteKinds.get(error.message) ?? (isPlain ? "engine_failed" : undefined);
}

// Passes notices through the queue of Deno KV (https://docs.deno.com/api/deno/~/Deno.Kv#method_listenqueue_0). On Deno
// Deploy a message starts a process if none is there, so that work that is due does not wait for a request.

/** The part of a store that has a queue. */
export type QueueStore = Pick<Deno.Kv, "enqueue" | "listenQueue">;

/**
 * Makes notices of a queue. If a call of the queue fails, it is not used any more: `onTrouble` is called once, and the
 * store is asked at intervals instead. The queue delivers a message at least once and at some time, which is enough.
 *
 * @example
 * ```ts
 * import { queueNotices } from "./store.ts";
 * const kv = await Deno.openKv(":memory:");
 * const notices = queueNotices(kv, (error) => { throw error; });
 * const heard = Promise.withResolvers<string>();
 * const end = notices.listen((kind) => heard.resolve(kind));
 * notices.announce?.("outbox");
 * if (await heard.promise !== "outbox") throw new Error("another notice");
 * kv.close();
 * await end();
 * ```
 */
export function queueNotices(
  kv: QueueStore,
  onTrouble: (error: unknown) => void,
): ChangeNotices {
  let isBroken = false;
  const broke = (error: unknown): void => {
    if (isBroken) return;
    isBroken = true;
    onTrouble(error);
  };
  return {
    announce(kind) {
      if (!isBroken) kv.enqueue({ notice: kind }).catch(broke);
    },
    listen(onNotice) {
      let isOver = false;
      const listening = kv.listenQueue(async (message: unknown) => {
        const kind = kindOf(message);
        // An error here would deliver the message again, which is what the work itself does not need.
        if (kind !== undefined && !isOver) await Promise.resolve(onNotice(kind)).catch(() => {});
      }).catch((error: unknown) => {
        if (!isOver) broke(error);
      });
      return async () => {
        isOver = true;
        // Listening ends when the store is closed; until then messages are taken and ignored.
        await Promise.race([listening, Promise.resolve()]);
      };
    },
  };
}

function kindOf(message: unknown): NoticeKind | undefined {
  if (typeof message !== "object" || message === null || !("notice" in message)) return undefined;
  return isNoticeKind(message.notice) ? message.notice : undefined;
}

/** An open store. */
export interface Store extends Disposable {
  readonly kv: KeyValueStore;
  /** Warnings about the durability of this store, for the operator, a line each. */
  readonly warnings: readonly string[];
  /** Reads every row as of one moment. */
  readonly snapshot: ReadSnapshot;
  /** Notices of changes by other instances, where the store has them. */
  readonly notices: ChangeNotices | undefined;
  /** For what is read beside the rows, where the same server has it. */
  readonly guard: CallGuard;
}

/** The result of opening a store. */
export type OpenStoreResult =
  | { readonly ok: true; readonly store: Store }
  /** Another process has the file open; talk to that process instead. */
  | { readonly ok: false; readonly reason: "in_use" }
  /** It cannot be opened here, or is a file that does not exist; `problem` says it in one line. */
  | { readonly ok: false; readonly reason: "unusable" | "missing"; readonly problem: string };

/** Options of {@linkcode openStore}. */
export interface OpenStoreOptions {
  /** Uses the queue of the store for notices, where it has one; called if the queue does not work. */
  readonly onQueueTrouble?: ((error: unknown) => void) | undefined;
  /** Refuses a missing file instead of creating a new store. */
  readonly mustExist?: boolean;
}

/**
 * Whether the store exists. A lock file alone means that another process is creating it at this
 * moment.
 */
async function isThere(path: string): Promise<boolean> {
  return await fileExists(path) || await fileExists(`${path}.lock`);
}

async function fileExists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    // Any other obstacle is reported when the file is opened.
    return !(error instanceof Deno.errors.NotFound);
  }
}

/**
 * Opens the store. For a file it keeps an OS lock until the store is closed; the lock ends with the
 * process, so a crash leaves none behind.
 */
export async function openStore(
  location: StoreLocation,
  clock: Clock,
  { mustExist = false, onQueueTrouble }: OpenStoreOptions = {},
): Promise<OpenStoreResult> {
  if (mustExist && location.kind === "file" && !await isThere(location.path)) {
    const problem = `There is no store at ${location.path}: is GATEWAY_KV mistyped?`;
    return { ok: false, reason: "missing", problem };
  }
  try {
    switch (location.kind) {
      case "memory":
        return { ok: true, store: await openEmbedded(":memory:", clock, { onQueueTrouble }) };
      case "remote":
        return { ok: true, store: await openRemote(location.url, clock) };
      case "deploy":
        return { ok: true, store: await openHosted(clock, onQueueTrouble) };
      case "postgres":
        return { ok: true, store: await openServer(location.url, clock) };
      case "file":
        return await openFile(location.path, clock, onQueueTrouble);
    }
  } catch (error) {
    const where = location.kind === "file" ? ` ${location.path}` : "";
    const cannot = error instanceof StoreWriteError ? "Cannot write to" : "Cannot open";
    const problem = `${cannot} the store${where}: ${problemLine(error)}`;
    return { ok: false, reason: "unusable", problem };
  }
}

const earlierRuntime =
  "A store in a file needs the file locks of Deno 2.9: upgrade, or start with npx -y deno@2.9";

async function openFile(
  path: string,
  clock: Clock,
  onQueueTrouble: OpenStoreOptions["onQueueTrouble"],
): Promise<OpenStoreResult> {
  await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const lock = await Deno.open(`${path}.lock`, { create: true, write: true, mode: 0o600 });
  try {
    // Another process could open a file without a lock, and spend the same money.
    if (!("tryLock" in lock)) throw new Error(`${earlierRuntime} (this is ${Deno.version.deno})`);
    if (!await lock.tryLock(true)) {
      lock.close();
      return { ok: false, reason: "in_use" };
    }
    await keepPrivate(path);
    return { ok: true, store: await openEmbedded(path, clock, { lock, onQueueTrouble }) };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Line of an error for the owner of the machine. */
function problemLine(error: unknown): string {
  return error instanceof StoreUnavailableError ? outageLine(error) : errorLine(error);
}

/** Thrown if the store opened but takes no writes. */
class StoreWriteError extends Error {
  override name = "StoreWriteError";
}

/**
 * Tests that the store takes writes. With a full disk or a read-only server it can be opened and
 * read, but every later write would wait: the process would start and neither serve nor report a
 * fault.
 */
async function proveWritable(kv: KeyValueStore): Promise<void> {
  try {
    await kv.delete(writeProbeKey());
  } catch (error) {
    throw new StoreWriteError(problemLine(error), { cause: error });
  }
}

/**
 * Makes the file private, since it contains addresses, hashes and ciphertexts. The database gives
 * its side files the mode of the main file, and accepts an empty file as a new database.
 */
async function keepPrivate(path: string): Promise<void> {
  const file = await Deno.open(path, { create: true, write: true, mode: 0o600 });
  file.close();
  for (const suffix of ["", "-wal", "-shm"]) {
    try {
      await Deno.chmod(path + suffix, 0o600);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/** Parts of a store besides its rows. */
interface StoreExtras {
  readonly outageOf: OutageOf;
  readonly snapshot: ReadSnapshot;
  /** The lock of its file. */
  readonly lock?: Deno.FsFile;
  readonly warnings?: readonly string[];
  readonly notices?: ChangeNotices | undefined;
}

async function openEmbedded(
  path: string,
  clock: Clock,
  { lock, onQueueTrouble }: Pick<OpenStoreOptions, "onQueueTrouble"> & {
    readonly lock?: Deno.FsFile;
  },
): Promise<Store> {
  const kv = await Deno.openKv(path);
  const tracker = new WriteTracker();
  trackWrites(kv, tracker);
  const snapshot: ReadSnapshot = (reading) => trackedSnapshot(kv, tracker, reading);
  const notices = onQueueTrouble && queueNotices(kv, onQueueTrouble);
  const outageOf = embeddedOutage;
  return await ready(kv, clock, { outageOf, snapshot, notices, ...defined({ lock }) });
}

async function openRemote(url: string, clock: Clock): Promise<Store> {
  // Named as all clients of KV Connect name it.
  const accessToken = Deno.env.get("DENO_KV_ACCESS_TOKEN");
  if (accessToken === undefined || accessToken === "") {
    throw new Error("DENO_KV_ACCESS_TOKEN, the access token of the store, is not set");
  }
  const kv = await KvConnectStore.open({ url, accessToken, clock });
  const snapshot: ReadSnapshot = (reading) => stillSnapshot(kv, reading);
  return await ready(kv, clock, { outageOf: kvConnectOutage, snapshot });
}

async function openServer(url: string, clock: Clock): Promise<Store> {
  // Loaded on demand: the driver costs a tenth of a start, and most gateways have another store.
  const { openPostgres } = await import("../postgres/open_postgres.ts");
  const { postgresOutage: outageOf } = await import("../postgres/outages.ts");
  const { kv, warnings } = await openPostgres({ url, clock, announcedKinds });
  const notices = kv.notices();
  const snapshot: ReadSnapshot = (reading) => kv.snapshot(reading);
  return await ready(kv, clock, { outageOf, warnings, notices, snapshot });
}

/** The platform names the store. */
async function openHosted(
  clock: Clock,
  onQueueTrouble: OpenStoreOptions["onQueueTrouble"],
): Promise<Store> {
  const kv = await Deno.openKv();
  const notices = onQueueTrouble && queueNotices(kv, onQueueTrouble);
  const snapshot: ReadSnapshot = (reading) => stillSnapshot(kv, reading);
  return await ready(kv, clock, { outageOf: embeddedOutage, notices, snapshot });
}

/** Gives an open engine deadlines and proves that it takes writes. */
async function ready(
  engine: KeyValueStore,
  clock: Clock,
  { outageOf, lock, warnings = [], snapshot, notices }: StoreExtras,
): Promise<Store> {
  const deadlines = new Deadlines({ clock });
  const kv = withDeadlines(engine, deadlines, outageOf);
  const close = () => {
    kv.close();
    deadlines.close();
  };
  try {
    await proveWritable(kv);
  } catch (error) {
    close();
    throw error;
  }
  return {
    kv,
    warnings,
    snapshot,
    notices,
    guard: callGuard(deadlines, outageOf),
    [Symbol.dispose]() {
      close();
      lock?.close();
    },
  };
}
