/**
 * Stores the availability of the last day for all instances: each writes a row of its own per hour.
 *
 * - Folder `kv/services/status/`: counts of answered calls in the store, by hour and by day.
 * - In: counts of this process.
 * - Out: counts of all instances.
 * - Never: stores who called.
 */
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import type { AvailabilityCounts, CountedDay } from "../../../core/routing/history/availability.ts";
import {
  availabilityDayKey,
  availabilityDayPrefix,
  availabilityHourPrefix,
  availabilityKey,
  dayOfAvailability,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";

// Stores the public history of models: each process writes a row of its own per day.

/** Days that the public history covers. */
export const historyDays = 90;

/** Milliseconds after which a row expires: two days longer than it is read. */
export const historyExpireMs = (historyDays + 2) * dayMs;

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

/** Hours that the public status page covers. */
const availabilityHours = 24;

/** Milliseconds after which rows of availability expire: two hours longer than they are read. */
export const availabilityExpireMs = 26 * hourMs;

/** Most rows read for one status: instances × hours, where each restart is a new instance. */
const maxAvailabilityRows = 10_000;

/** Writes the counts of an instance for an hour, replacing its earlier row. */
export async function writeAvailability(
  kv: KeyValueStore,
  instanceId: InstanceId,
  hour: number,
  counts: AvailabilityCounts,
): Promise<void> {
  await kv.set(availabilityKey(hour, instanceId), counts, {
    expireIn: availabilityExpireMs,
  });
}

/** Reads the rows of the last day up to and including `hour`; one entry per instance and hour. */
export async function readAvailability(
  kv: KeyValueStore,
  hour: number,
): Promise<AvailabilityCounts[]> {
  const rows: AvailabilityCounts[] = [];
  const range = {
    start: availabilityHourPrefix(hour - availabilityHours + 1),
    end: availabilityHourPrefix(hour + 1),
  };
  for await (
    const entry of kv.list<AvailabilityCounts>(range, { limit: maxAvailabilityRows })
  ) {
    rows.push(entry.value);
  }
  return rows;
}
