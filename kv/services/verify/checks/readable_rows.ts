/** Reads what can be read: a row that cannot is a problem once, told by the scan that reads all rows of its kind. */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { batchesPrefix } from "../../../engine/schema/keys.ts";
import { type Batch, decodeBatch } from "../../../engine/store/batches.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { readAhead } from "../../../engine/store/read_ahead.ts";

/** Lists the batches that can be read; the scan reports the others. */
export async function* readableBatches(kv: KeyValueStore): AsyncGenerator<Batch> {
  for await (const entry of readAhead<unknown>(kv, { prefix: batchesPrefix() })) {
    yield* readable(() => [decodeBatch(entry)]);
  }
}

/** Returns nothing if a row cannot be read, which the scan has reported already. */
export function readable<Item>(read: () => Item[]): Item[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvariantError) return [];
    throw error;
  }
}
