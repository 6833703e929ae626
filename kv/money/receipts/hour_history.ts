/** Reads sums by hour, of one account or of all. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  hourCellOf,
  hourSumsOfAccountPrefix,
  hourSumsOfDayPrefix,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { DaySumCell } from "./day_sums.ts";
import { decodeHourSums, type HourSums } from "./hour_sums.ts";

/** The hours of one day sum. */
export interface HourRow {
  readonly cell: DaySumCell;
  readonly sums: HourSums;
}

/** Rows that are read at once, of up to 8 KB each. */
const rowsPerRead = 500;

/** Reads the hours of a day. Calls settled within the last second may be missing. */
export async function* readHours(
  kv: KeyValueStore,
  day: string,
  accountId?: AccountId,
): AsyncGenerator<HourRow, void, void> {
  const prefix = accountId === undefined
    ? hourSumsOfDayPrefix(day)
    : hourSumsOfAccountPrefix(day, accountId);
  for await (const { key, value } of kv.list<unknown>({ prefix }, { batchSize: rowsPerRead })) {
    yield { cell: hourCellOf(key), sums: decodeHourSums(value) };
  }
}
