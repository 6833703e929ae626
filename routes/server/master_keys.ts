/** The master keys of this instance: from the environment, or kept beside a local store. */
import { dirname, join } from "node:path";
import type { Config } from "../../core/config.ts";
import { type MasterKeys, newMasterKey, readMasterKeys } from "../../core/keys/seal.ts";

/**
 * Reads the master keys. Beside a local store a missing key is generated once, readable by its owner only; a remote
 * store refuses to start without one (checked by the configuration), since instances must share it.
 *
 * @throws {RangeError} if the configured keys cannot be read
 */
export async function loadMasterKeys(config: Config): Promise<MasterKeys> {
  if (config.masterKeys !== undefined) return await readMasterKeys(config.masterKeys);
  if (config.store.kind !== "file") return await readMasterKeys(newMasterKey());
  const path = join(dirname(config.store.path), "master.key");
  try {
    return await readMasterKeys(await Deno.readTextFile(path));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const text = newMasterKey();
  // createNew: of two processes that start at once only one makes the key.
  await Deno.writeTextFile(path, `${text}\n`, { createNew: true, mode: 0o600 });
  return await readMasterKeys(text);
}
