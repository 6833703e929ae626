/** Keeps how the last run of `admin archive` ended, for metrics. */
import { lastMoveKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** End of a run that was not interrupted. */
export interface EndedMove {
  readonly atMs: number;
  /** Days that stayed in the store, since they are not as they were sealed, and problems of the chain of seals. */
  readonly problems: number;
}

/** Keeps how a run ended. */
export async function noteMove(kv: KeyValueStore, ended: EndedMove): Promise<void> {
  await kv.set(lastMoveKey(), ended);
}

/** Reads how the last run ended; `undefined`: none has. */
export async function readLastMove(kv: KeyValueStore): Promise<EndedMove | undefined> {
  return (await kv.get<EndedMove>(lastMoveKey())).value ?? undefined;
}
