/** Opens the store. A local file has exactly one process: two starve each other until the database is "locked". */
import { dirname } from "node:path";
import type { StoreLocation } from "../core/settings/store_location.ts";
import { errorLine } from "../core/error_line.ts";
import { writeProbeKey } from "./keys.ts";

export interface Store extends Disposable {
  readonly kv: Deno.Kv;
}

export type OpenStoreResult =
  | { readonly ok: true; readonly store: Store }
  /** Another process has the file; talk to it instead. */
  | { readonly ok: false; readonly reason: "in_use" }
  /** It cannot be opened by anyone here; `problem` says why, on one line. */
  | { readonly ok: false; readonly reason: "unusable"; readonly problem: string };

/**
 * Opens the store. For a file an OS lock is held until the store is closed; the lock dies with the process, so a
 * crash leaves nothing behind.
 */
export async function openStore(location: StoreLocation): Promise<OpenStoreResult> {
  try {
    switch (location.kind) {
      case "memory":
        return { ok: true, store: withKv(await Deno.openKv(":memory:"), undefined) };
      case "remote":
        return { ok: true, store: withKv(await Deno.openKv(location.url), undefined) };
      case "file":
        return await openFile(location.path);
    }
  } catch (error) {
    const where = location.kind === "file" ? ` ${location.path}` : "";
    const cannot = error instanceof StoreWriteError ? "Cannot write to" : "Cannot open";
    const problem = `${cannot} the store${where}: ${errorLine(error)}`;
    return { ok: false, reason: "unusable", problem };
  }
}

async function openFile(path: string): Promise<OpenStoreResult> {
  await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const lock = await Deno.open(`${path}.lock`, { create: true, write: true, mode: 0o600 });
  try {
    if (!await lock.tryLock(true)) {
      lock.close();
      return { ok: false, reason: "in_use" };
    }
    await keepPrivate(path);
    const kv = await Deno.openKv(path);
    try {
      await proveWritable(kv);
    } catch (error) {
      kv.close();
      throw error;
    }
    return { ok: true, store: withKv(kv, lock) };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** The store opened, but takes no writes. */
class StoreWriteError extends Error {
  override name = "StoreWriteError";
}

/**
 * A full disk lets a store be opened and read. What writes to it later waits until it can, which at the start would
 * be a process that neither serves nor says why.
 */
async function proveWritable(kv: Deno.Kv): Promise<void> {
  try {
    await kv.delete(writeProbeKey());
  } catch (error) {
    throw new StoreWriteError(errorLine(error), { cause: error });
  }
}

/**
 * The file holds addresses, hashes and ciphertexts: nobody else on the machine may read it. The database gives its
 * side files the mode of the main one, and takes an empty file for a new database.
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

function withKv(kv: Deno.Kv, lock: Deno.FsFile | undefined): Store {
  return {
    kv,
    [Symbol.dispose]() {
      kv.close();
      lock?.close();
    },
  };
}
