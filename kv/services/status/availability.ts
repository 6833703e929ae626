/**
 * Stores the availability of the last day for all instances: each writes a row of its own per hour.
 *
 * - Folder `kv/services/status/`: counts of answered calls in the store, by hour and by day.
 * - In: counts of this process.
 * - Out: counts of all instances.
 * - Never: stores who called.
 */
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import type { AvailabilityCounts } from "../../../core/routing/history/availability.ts";
import { availabilityHourPrefix, availabilityKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Hours that the public status page covers. */
const availabilityHours = 24;

/** Milliseconds after which rows of availability expire: two hours longer than they are read. */
export const availabilityExpireMs = 26 * 3_600_000;

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
