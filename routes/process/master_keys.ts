/**
 * Loads the master keys of this instance from the environment or from a file beside a local store.
 */
import { dirname, join } from "node:path";
import type { Config } from "../../core/config/config.ts";
import { errorLine } from "../../core/lib/base/error_line.ts";
import {
  type MasterKeys,
  masterKeysProblem,
  newMasterKey,
  readMasterKeys,
} from "../../core/people/api_keys/seal.ts";

/** The loaded keys, or the reason why there are none. */
export type LoadedMasterKeys =
  | { readonly ok: true; readonly masterKeys: MasterKeys; readonly text: string }
  /** One line for the operator, without any key. */
  | { readonly ok: false; readonly problem: string };

/**
 * Loads the master keys. Beside a local store a missing key is generated once, readable by its
 * owner only. A remote store needs a configured key, since its instances must share it; the
 * configuration checks that.
 */
export async function loadMasterKeys(config: Config): Promise<LoadedMasterKeys> {
  const { masterKeys: configured, store } = config;
  if (configured !== undefined || store.kind !== "file") {
    const text = configured ?? newMasterKey();
    return { ok: true, masterKeys: await readMasterKeys(text), text };
  }
  const path = join(dirname(store.path), "master.key");
  try {
    const kept = await keptText(path);
    const problem = masterKeysProblem(kept);
    if (problem === undefined) {
      return { ok: true, masterKeys: await readMasterKeys(kept), text: kept };
    }
    // An unreadable key is not replaced: everything that it sealed would be lost for good.
    const advice = "put the earlier file back, or see docs/operations/one-machine.md, Keys at rest";
    return { ok: false, problem: `Cannot read the master key ${path}: ${problem}; ${advice}` };
  } catch (error) {
    return { ok: false, problem: `Cannot read the master key ${path}: ${errorLine(error)}` };
  }
}

/** Reads the file; creates it with a new key on first use. */
async function keptText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const text = newMasterKey();
  await keepText(path, `${text}\n`);
  return text;
}

/**
 * Writes the file atomically and durably: the store is on disk with every commit, and what it seals
 * must not outlive its key. The caller holds the lock of the store, so no other process writes.
 */
async function keepText(path: string, text: string): Promise<void> {
  const draftPath = `${path}.draft`;
  await Deno.writeTextFile(draftPath, text, { mode: 0o600 });
  await syncToDisk(draftPath, { write: true });
  await Deno.rename(draftPath, path);
  // The folder holds the new name. Some systems cannot open folders, and sync them on their own.
  await syncToDisk(dirname(path), { read: true }).catch(() => {});
}

async function syncToDisk(path: string, access: Deno.OpenOptions): Promise<void> {
  using file = await Deno.open(path, access);
  await file.sync();
}
