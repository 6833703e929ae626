/** Reads all rows of a kind, for audits and exports. */
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import type { KeyValueStore } from "./key_value_store.ts";
import { readAhead } from "./read_ahead.ts";

/**
 * Rows fetched at once by readers that stop early or read little. They are decoded without a pause:
 * 500 rows with a dozen receipts each would block calls for a tenth of a second.
 */
export const listBatchRows = 100;

/**
 * Lists the rows of a selector in key order, with a bounded number in memory. With `slices` the
 * reader yields to other work of the thread.
 */
export async function* wholeKind<Value>(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  slices: TimeSlices | undefined,
): AsyncGenerator<Deno.KvEntry<Value>> {
  for await (const entry of readAhead<Value>(kv, selector)) {
    yield entry;
    const rest = slices?.rest();
    if (rest !== undefined) await rest;
  }
}
