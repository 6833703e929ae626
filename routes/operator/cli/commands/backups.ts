/**
 * `admin backup` and `admin restore`. The process that was started by the operator encrypts and decrypts, so the key does
 * not leave it. If a server has the store open, its bytes come over the server's socket.
 */
import type { Hono } from "hono";
import { backupKeyBytes } from "../../../../core/config/config_variables.ts";
import type { Config } from "../../../../core/config/config.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { errorLine } from "../../../../core/lib/base/assert.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { sleep } from "../../../../core/lib/time/sleep.ts";
import {
  backupBytes,
  type BackupSource,
  type BackupSummary,
  checkBackup,
  isEmptyStore,
  restoreBackup,
} from "../../../../kv/services/backup/backup.ts";
import { prepareStore } from "../../../../kv/engine/opening/schema_version.ts";
import type { Store } from "../../../../kv/engine/opening/store.ts";
import type { AdminDeps, StoreReading } from "./admin_deps.ts";
import { exists, writeWholeFile } from "./whole_file.ts";
import { join } from "node:path";
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
 * @throws if the file exists, or the bytes break off
 */
async function writeBackupFile(
  path: string,
  plain: AsyncIterable<Uint8Array>,
  key: Uint8Array<ArrayBuffer>,
): Promise<BackupSummary> {
  return await writeWholeFile(
    path,
    sealStream(plain, key),
    (draft) => checkBackup(backupFileBytes(draft, key)),
  );
}

// In a folder, backups have the moment of their start as their name, and old ones can leave.

/** The name of a backup in a folder, which sorts by time. */
const nameInFolder = /^gateway-\d{8}T\d{6}Z\.backup$/;

function nameAt(nowMs: number): string {
  const moment = new Date(nowMs).toISOString().replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
  return `gateway-${moment}.backup`;
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

/** Adds `/backup` and `/restore`. A store that a gateway has open cannot be restored into. */
export function addBackupRoutes(
  app: Hono,
  { kv, clock, snapshot, beginReading }: Pick<
    AdminDeps,
    "kv" | "clock" | "snapshot" | "beginReading"
  >,
): void {
  app.get("/backup", (context) => {
    if (snapshot === undefined) throw new GatewayError("invalid_request", "No backup is made here");
    const reading = beginReading?.(context.req.raw.signal);
    const source = { kv, snapshot, nowMs: clock.nowMs(), slices: reading?.slices };
    return new Response(ReadableStream.from(read(source, reading)));
  });

  app.post("/restore", () => {
    throw new GatewayError(
      "invalid_request",
      "A gateway has the store open: a backup is restored into an empty store, before the first start",
    );
  });
}

async function* read(
  source: BackupSource,
  reading: StoreReading | undefined,
): AsyncGenerator<Uint8Array> {
  using _ending = reading;
  yield* backupBytes(source);
}

/** What the commands write to. */
export interface BackupWorld {
  readonly clock: Clock;
  /** A file; for a backup also a folder, in which the file gets its name. */
  readonly path: string;
  /** Backups that stay in the folder; absent: all. */
  readonly keep?: number;
  /** Prints the result. */
  print(result: unknown): Promise<void>;
  error(text: string): void;
}

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

/** Writes the bytes of a backup, as a server sent them, to a file. Older ones leave only after it is whole. */
export function saveBackup(
  config: Config,
  world: BackupWorld,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { path, keep, clock } = world;
  return exitCode(world, "No backup was made", async () => {
    const inFolder = await isFolder(path);
    if (keep === 0) throw new Error("--keep must leave at least one backup");
    if (keep !== undefined && !inFolder) throw new Error(`${path} is no folder, as --keep needs`);
    const file = inFolder ? join(path, nameAt(clock.nowMs())) : path;
    const summary = await writeBackupFile(file, bytes, keyOf(config));
    const removed = keep === undefined ? undefined : await removeOldBackups(path, keep);
    return { file, ...summary, ...(removed !== undefined && { removed }) };
  });
}

/** Makes a backup of a store that this process has opened. */
export function backUpHere(config: Config, world: BackupWorld, store: Store): Promise<number> {
  return saveBackup(config, world, bytesOf(store, world));
}

async function* bytesOf({ kv, snapshot }: Store, { clock }: BackupWorld) {
  const prepared = await prepareStore(kv, { clock, sleep });
  if (!prepared.ok) throw new Error(prepared.problem);
  yield* backupBytes({ kv, snapshot, nowMs: clock.nowMs() });
}

/** A backup whose every byte was checked. */
export interface ProvenBackup {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly summary: Awaited<ReturnType<typeof checkBackup>>;
}

/**
 * Checks the whole file before a store is opened for it, so that a refused restore leaves no empty store behind.
 *
 * @returns `undefined` if it cannot be restored; the reason has been printed
 */
export async function proveBackup(
  config: Config,
  world: BackupWorld,
): Promise<ProvenBackup | undefined> {
  try {
    const bytes = backupFileBytes(world.path, keyOf(config));
    return { bytes, summary: await checkBackup(bytes) };
  } catch (error) {
    world.error(`${notRestored}: ${errorLine(error)}\n`);
    return undefined;
  }
}

const notRestored = "Nothing was restored";

/** Restores a backup into a store that this process has opened. */
export function restoreHere(
  { bytes, summary }: ProvenBackup,
  world: BackupWorld,
  { kv }: Store,
): Promise<number> {
  return exitCode(world, notRestored, async () => {
    if (!await isEmptyStore(kv)) {
      throw new Error("the store is not empty; name an empty one in GATEWAY_KV");
    }
    try {
      await restoreBackup(kv, bytes, world.clock.nowMs());
    } catch (error) {
      throw new Error(`${errorLine(error)}; empty the store before you try again`);
    }
    return { restored: world.path, ...summary };
  });
}
