/** Opens the store. A local file has exactly one process: two starve each other until the database is "locked". */
import { dirname } from "node:path";
import type { StoreLocation } from "../core/config.ts";

export interface Store extends Disposable {
  readonly kv: Deno.Kv;
}

export type OpenStoreResult =
  | { readonly ok: true; readonly store: Store }
  /** Another process has the file; talk to it instead. */
  | { readonly ok: false; readonly reason: "in_use" };

/**
 * Opens the store. For a file an OS lock is held until the store is closed; the lock dies with the process, so a
 * crash leaves nothing behind.
 */
export async function openStore(location: StoreLocation): Promise<OpenStoreResult> {
  switch (location.kind) {
    case "memory":
      return { ok: true, store: withKv(await Deno.openKv(":memory:"), undefined) };
    case "remote":
      return { ok: true, store: withKv(await Deno.openKv(location.url), undefined) };
    case "file": {
      await Deno.mkdir(dirname(location.path), { recursive: true, mode: 0o700 });
      const lock = await Deno.open(`${location.path}.lock`, {
        create: true,
        write: true,
        mode: 0o600,
      });
      if (!await lock.tryLock(true)) {
        lock.close();
        return { ok: false, reason: "in_use" };
      }
      await keepPrivate(location.path);
      return { ok: true, store: withKv(await Deno.openKv(location.path), lock) };
    }
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
