/** Reading every row of a kind, for audits and exports. */
import type { TimeSlices } from "../../core/lib/time/time_slices.ts";
import type { KeyValueStore } from "./key_value_store.ts";

/**
 * Rows fetched at a time by a reading of a whole kind. They are unpacked in one go: 500 rows with a dozen
 * receipts each would keep calls waiting for a tenth of a second.
 */
export const listBatchRows = 100;

/**
 * The rows of a selector in key order, a bounded number in memory at a time. With `slices` the reader, who works on
 * each row as it comes, takes turns with whatever else the thread does.
 */
export async function* wholeKind<Value>(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  slices: TimeSlices | undefined,
): AsyncGenerator<Deno.KvEntry<Value>> {
  for await (const entry of kv.list<Value>(selector, { batchSize: listBatchRows })) {
    yield entry;
    const rest = slices?.rest();
    if (rest !== undefined) await rest;
  }
}
