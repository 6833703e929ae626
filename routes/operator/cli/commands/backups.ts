/**
 * `admin backup` and `admin restore`. The process that was started by the operator encrypts and decrypts, so the key does
 * not leave it. If a server has the store open, its bytes come over the server's socket.
 */
import { sleep } from "../../../../core/lib/time/sleep.ts";
import { storeLookMs } from "../../../../kv/engine/store/store_wait.ts";
import type { Hono } from "hono";
import { backupKeyBytes } from "../../../../core/config/config_variables.ts";
import type { Config } from "../../../../core/config/config.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { errorLine } from "../../../../core/lib/base/assert.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import {
  type BackupBytes,
  backupBytes,
  type BackupSummary,
  checkBackup,
  dayBytes,
  restBytes,
  Restore,
} from "../../../../kv/services/backup/backup.ts";
import type { BackedUpDay, BackupPart } from "../../../../kv/services/backup/backup_records.ts";
import { noteBackup } from "../../../../kv/services/backup/last_backup.ts";
import { daysWithFiles } from "../../../../kv/services/backup/sealed_day_rows.ts";
import type { ArchivedStore } from "../../../../kv/services/archive/open_archive.ts";
import { readInput } from "../../operations/contract/operation.ts";
import type { AdminDeps, StoreReading } from "./admin_deps.ts";
import { exists, removeDeadDrafts, writeWholeFile } from "./whole_file.ts";
import { dirname, join } from "node:path";
import { z } from "zod";
import { openStream, sealStream } from "../../../../kv/services/backup/sealed_stream.ts";

// Writes and reads the encrypted file of a backup.

/** Bytes that are read at once. */
const readBytes = 262_144;

/** Opens the plain bytes of a file as often as they are read. */
function backupFileBytes(
  path: string,
  key: Uint8Array<ArrayBuffer>,
): AsyncIterable<Uint8Array> {
  return {
    async *[Symbol.asyncIterator]() {
      using file = await Deno.open(path);
      yield* openStream(partsOf(file), key);
    },
  };
}

async function* partsOf(file: Deno.FsFile): AsyncGenerator<Uint8Array> {
  for (;;) {
    const buffer = new Uint8Array(readBytes);
    const count = await file.read(buffer);
    if (count === null) return;
    yield buffer.subarray(0, count);
  }
}

/**
 * Encrypts the bytes of a backup into a new file, and reads the file again before it gets its name: what has the name is
 * whole and can be decrypted with the key.
 *
 * @param of the day that it has to be of
 * @throws if the file exists, the bytes break off, or are of something else
 */
async function writeBackupFile(
  path: string,
  plain: AsyncIterable<Uint8Array>,
  { key, of }: { readonly key: Uint8Array<ArrayBuffer>; readonly of?: BackedUpDay },
): Promise<BackupSummary> {
  return await writeWholeFile(path, sealStream(plain, key), async (draft) => {
    const summary = await checkBackup(backupFileBytes(draft, key));
    if (of !== undefined && !isOfDay(summary.part, of)) {
      throw new Error(`${of.day} was sealed anew`);
    }
    return summary;
  });
}

/** The folder of the files of sealed days, below that of the backups. */
const daysFolder = "days";

// In a folder, backups have the moment of their start as their name, and old ones can leave.

/** The name of a backup in a folder, which sorts by time. */
const nameInFolder = /^gateway-\d{8}T\d{6}Z\.backup$/;

function nameAt(nowMs: number): string {
  const moment = new Date(nowMs).toISOString().replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
  return `gateway-${moment}.backup`;
}

/** Removes what killed runs have left in a folder of backups. */
async function removeDrafts(folder: string): Promise<void> {
  await removeDeadDrafts(folder, (name) => nameInFolder.test(name));
  const days = join(folder, daysFolder);
  if (await isFolder(days)) await removeDeadDrafts(days, (name) => name.endsWith(".backup"));
}

async function isFolder(path: string): Promise<boolean> {
  return await exists(path) && (await Deno.stat(path)).isDirectory;
}

/** Removes all backups of a folder but the newest, and returns the names of those that left. */
async function removeOldBackups(folder: string, keep: number): Promise<readonly string[]> {
  const names = (await Array.fromAsync(Deno.readDir(folder)))
    .filter(({ isFile, name }) => isFile && nameInFolder.test(name))
    .map(({ name }) => name)
    .sort();
  const old = names.slice(0, Math.max(0, names.length - keep));
  for (const name of old) await Deno.remove(join(folder, name));
  return old;
}

// The files of sealed days are in a folder below. Their names have what they contain, so that another one of the day, after
// it was sealed anew, stands beside them; older backups of the rest need the first.

function dayFile(folder: string, { day, content }: BackedUpDay): string {
  return join(folder, daysFolder, `${day}-${content}.backup`);
}

const sealedDay = z.strictObject({ day: z.iso.date(), content: z.string().regex(/^[0-9a-f]+$/) });

/** Answer of `/backup/days`. */
const sealedDayList = z.strictObject({ days: z.array(sealedDay), problem: z.string().optional() });

const dayPath = z.strictObject({ day: z.iso.date("must be a day such as 2026-11-20") });

/** With a day, sealed days up to it are left out of the answer. */
const backupQuery = z.strictObject({ through: z.iso.date().optional() });

/** Needs of reading backups. */
export type BackupDeps =
  & Pick<AdminDeps, "kv" | "clock" | "snapshot" | "beginReading">
  & Partial<Pick<AdminDeps, "masterKeys">>;

/** Adds `/backup`, its sealed days if there are keys to check them, and `/restore`. */
export function addBackupRoutes(app: Hono, deps: BackupDeps): void {
  const { kv, clock, masterKeys, snapshot, beginReading } = deps;
  /** Answers with bytes, which the client reads to their end or leaves. */
  const answer = async (
    signal: AbortSignal,
    open: (slices: TimeSlices | undefined) => AsyncIterable<Uint8Array> | DayBytes,
  ) => {
    const reading = beginReading?.(signal);
    try {
      const bytes = await open(reading?.slices);
      return new Response(ReadableStream.from(untilEnd(bytes, reading)));
    } catch (error) {
      reading?.[Symbol.dispose]();
      throw error;
    }
  };

  app.get("/backup", (context) => {
    if (snapshot === undefined) throw new GatewayError("invalid_request", "No backup is made here");
    const { through } = readInput(backupQuery, context.req.query());
    return answer(context.req.raw.signal, (slices) => {
      const source = { kv, snapshot, slices, nowMs: clock.nowMs() };
      return through === undefined || masterKeys === undefined
        ? backupBytes(source)
        : restBytes({ ...source, masterKeys }, through);
    });
  });

  if (masterKeys !== undefined) {
    app.get(
      "/backup/days",
      async (context) =>
        context.json(await daysWithFiles({ kv, masterKeys, nowMs: clock.nowMs() })),
    );

    app.get("/backup/days/:day", (context) => {
      const { day } = readInput(dayPath, context.req.param());
      return answer(
        context.req.raw.signal,
        (slices) => dayBytes({ kv, masterKeys, slices, nowMs: clock.nowMs() }, day),
      );
    });
  }

  app.post("/backup/ended", async (context) => {
    await noteBackup(kv, { atMs: clock.nowMs() });
    return context.body(null, 204);
  });

  // A store that a gateway has open cannot be restored into.
  app.post("/restore", () => {
    throw new GatewayError(
      "invalid_request",
      "A gateway has the store open: a backup is restored into an empty store, before the first start",
    );
  });
}

type DayBytes = ReturnType<typeof dayBytes>;

async function* untilEnd(
  bytes: AsyncIterable<Uint8Array>,
  reading: StoreReading | undefined,
): AsyncGenerator<Uint8Array> {
  using _ending = reading;
  yield* bytes;
}

/** Outputs of the commands. */
export interface BackupWorld {
  readonly clock: Clock;
  /** A file; for a backup also a folder, in which the file gets its name. */
  readonly path: string;
  /** Backups that stay in the folder; absent: all. */
  readonly keep?: number;
  /** Sealed days get files of their own, once, and the backup leaves them out. */
  readonly since?: true;
  /** Prints the result. */
  print(result: unknown): Promise<void>;
  error(text: string): void;
}

/** Asks the admin app, which this process or the running server has. */
export type AskAdmin = (
  path: string,
  init?: RequestInit,
) => Promise<Disposable & { readonly response: Response }>;

function keyOf(config: Config): Uint8Array<ArrayBuffer> {
  const key = config.backupKey === undefined ? undefined : backupKeyBytes(config.backupKey);
  if (key === undefined) throw new Error("GATEWAY_BACKUP_KEY is not set: 32 bytes in base64url");
  return key;
}

async function exitCode(world: BackupWorld, what: string, run: () => Promise<unknown>) {
  try {
    await world.print(await run());
    return 0;
  } catch (error) {
    world.error(`${what}: ${errorLine(error)}\n`);
    return 1;
  }
}

/** The bytes of an answer. */
async function bytesIn(response: Response): Promise<AsyncIterable<Uint8Array>> {
  if (response.ok && response.body !== null) return response.body;
  throw new Error(`the store answered ${response.status}: ${await response.text()}`);
}

/**
 * Writes a backup to a file. Older ones leave only after it is whole.
 *
 * @param first the answer to the request of the command: the bytes, or with `since` the sealed days
 */
export async function saveBackup(
  config: Config,
  world: BackupWorld,
  first: Response,
  ask: AskAdmin,
): Promise<number> {
  const { path, keep, since } = world;
  let days: WrittenDays | undefined;
  const code = await exitCode(world, "No backup was made", async () => {
    const inFolder = await isFolder(path);
    if (keep === 0) throw new Error("--keep must leave at least one backup");
    if (keep !== undefined && !inFolder) throw new Error(`${path} is no folder, as --keep needs`);
    const key = keyOf(config);
    if (inFolder) await removeDrafts(path);
    if (since === undefined) {
      const saved = await saveBytes(key, world, await bytesIn(first));
      await tellEnd(ask);
      return saved;
    }
    if (!inFolder) throw new Error(`${path} is no folder, as --since needs`);
    days = await writeDays(key, world, sealedDayList.parse(await first.json()), ask);
    const { written, present, through } = days;
    using call = await ask(through === undefined ? "/backup" : `/backup?through=${through}`);
    const saved = await saveBytes(key, world, await bytesIn(call.response));
    if (days.problem === undefined) await tellEnd(ask);
    return { ...saved, days: { written, present, through: through ?? null } };
  });
  if (code !== 0 || days?.problem === undefined) return code;
  world.error(`The backup is whole, but it has all later days itself: ${days.problem}\n`);
  return 1;
}

/** Tells the store that a backup is whole. One that has just failed does not make the backup worse. */
async function tellEnd(ask: AskAdmin): Promise<void> {
  try {
    using _call = await ask("/backup/ended", { method: "POST" });
  } catch {
    // The age of the last backup is then that of the one before.
  }
}

async function saveBytes(
  key: Uint8Array<ArrayBuffer>,
  { path, keep, clock }: BackupWorld,
  bytes: AsyncIterable<Uint8Array>,
) {
  const file = await isFolder(path) ? join(path, nameAt(clock.nowMs())) : path;
  const { part: _, ...summary } = await writeBackupFile(file, bytes, { key });
  const removed = keep === undefined ? undefined : await removeOldBackups(path, keep);
  return { file, ...summary, ...defined({ removed }) };
}

/** Days that the folder has. */
interface WrittenDays {
  readonly written: readonly string[];
  readonly present: number;
  /** The last day that has a file, and before which all have one; absent if none has. */
  readonly through: string | undefined;
  /** Why later sealed days have none. */
  readonly problem: string | undefined;
}

/** Writes the files of days that the folder lacks, and stops at the first that cannot be written. */
async function writeDays(
  key: Uint8Array<ArrayBuffer>,
  { path }: BackupWorld,
  { days, problem }: z.infer<typeof sealedDayList>,
  ask: AskAdmin,
): Promise<WrittenDays> {
  const written: string[] = [];
  let present = 0;
  let through: string | undefined;
  for (const one of days) {
    const file = dayFile(path, one);
    try {
      if (await exists(file)) present++;
      else {
        await Deno.mkdir(dirname(file), { recursive: true });
        using call = await ask(`/backup/days/${one.day}`);
        await writeBackupFile(file, await bytesIn(call.response), { key, of: one });
        written.push(one.day);
      }
    } catch (error) {
      return { written, present, through, problem: errorLine(error) };
    }
    through = one.day;
  }
  return { written, present, through, problem };
}

function isOfDay(part: BackupPart, { day, content }: BackedUpDay): boolean {
  return part.kind === "day" && part.day.day === day && part.day.content === content;
}

/** Backups whose every byte was checked. */
export interface ProvenBackup {
  readonly bytes: BackupBytes;
  readonly summary: Omit<BackupSummary, "part"> & { readonly days?: number };
}

/**
 * Checks all files before a store is opened for them, so that a refused restore leaves no empty store behind.
 *
 * @returns `undefined` if it cannot be restored; the reason has been printed
 */
export async function proveBackup(
  config: Config,
  world: BackupWorld,
): Promise<ProvenBackup | undefined> {
  const { path } = world;
  try {
    const key = keyOf(config);
    const last = backupFileBytes(path, key);
    const { part, ...summary } = await checkBackup(last);
    if (part.kind === "whole") return { bytes: { days: [], last }, summary };
    if (part.kind === "day") {
      throw new Error(`${path} has ${part.day.day} only; restore a file of the folder above it`);
    }
    const days: AsyncIterable<Uint8Array>[] = [];
    let records = summary.records;
    for (const day of part.days) {
      const file = dayFile(dirname(path), day);
      const bytes = backupFileBytes(file, key);
      const found = await checkBackup(bytes).catch((error) => {
        throw new Error(`${file}, which it needs: ${errorLine(error)}`);
      });
      if (!isOfDay(found.part, day)) throw new Error(`${file} is not what its name says`);
      records += found.records;
      days.push(bytes);
    }
    return { bytes: { days, last }, summary: { ...summary, records, days: days.length } };
  } catch (error) {
    world.error(`${notRestored}: ${errorLine(error)}\n`);
    return undefined;
  }
}

const notRestored = "Not restored";

/** Restores a backup into a store that this process has opened, or goes on with one that did not end. */
export function restoreHere(
  { bytes, summary }: ProvenBackup,
  world: BackupWorld,
  { kv, parts }: Pick<ArchivedStore, "kv" | "parts">,
  storeWaitMs: number,
): Promise<number> {
  return exitCode(world, notRestored, async () => {
    // Readers would take what an earlier store has archived for receipts of the backup.
    if ((await parts?.archive.months())?.some(({ receipts }) => receipts > 0)) {
      throw new Error(
        "the archive of the store is not empty: move its folder away, or drop the tables archive_…",
      );
    }
    const { clock, path } = world;
    const wait = { clock, waitMs: storeWaitMs, nextLook: () => sleep(storeLookMs) };
    const backup = `${summary.madeAt}, ${summary.records} records`;
    const restore = await Restore.begin(kv, { nowMs: clock.nowMs(), backup, wait });
    try {
      await restore.write(bytes);
    } catch (error) {
      throw new Error(`${errorLine(error)}; the same command goes on where it stopped`);
    }
    const { resumedAfter } = restore;
    return { restored: path, ...summary, ...(resumedAfter > 0 && { resumedAfter }) };
  });
}
