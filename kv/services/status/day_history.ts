/** Stores the public history of models: each process writes a row of its own per day. */
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import type { CountedDay } from "../../../core/routing/history/day_history.ts";
import {
  availabilityDayKey,
  availabilityDayPrefix,
  dayOfAvailability,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Days that the public history covers. */
export const historyDays = 90;

/** Milliseconds after which a row expires: two days longer than it is read. */
export const historyExpireMs = (historyDays + 2) * 24 * 3_600_000;

/** Most rows of one reading: days × processes, where each restart is a new one. */
const maxHistoryRows = 5_000;

/** Writes the counts of a process for a day, replacing its earlier row. */
export async function writeDayHistory(
  kv: KeyValueStore,
  instanceId: InstanceId,
  { day, counts }: CountedDay,
): Promise<void> {
  if (Object.keys(counts).length === 0) return;
  await kv.set(availabilityDayKey(day, instanceId), counts, { expireIn: historyExpireMs });
}

/** Reads the rows of the last days up to and including `today`. */
export async function readDayHistory(kv: KeyValueStore, today: number): Promise<CountedDay[]> {
  const rows: CountedDay[] = [];
  const range = {
    start: availabilityDayPrefix(today - historyDays + 1),
    end: availabilityDayPrefix(today + 1),
  };
  for await (
    const { key, value } of kv.list<CountedDay["counts"]>(range, { limit: maxHistoryRows })
  ) {
    rows.push({ day: dayOfAvailability(key), counts: value });
  }
  return rows;
}
