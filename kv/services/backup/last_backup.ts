/** Keeps when the last backup ended, for metrics and `admin doctor`. */
import { lastBackupKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** A backup whose file was read again and found whole. */
export interface EndedBackup {
  readonly atMs: number;
}

/** Keeps when a backup ended. */
export async function noteBackup(kv: KeyValueStore, ended: EndedBackup): Promise<void> {
  await kv.set(lastBackupKey(), ended);
}

/** Reads when the last backup ended; `undefined`: none has. */
export async function readLastBackup(kv: KeyValueStore): Promise<EndedBackup | undefined> {
  return (await kv.get<EndedBackup>(lastBackupKey())).value ?? undefined;
}
