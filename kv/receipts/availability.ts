/** The last day of availability, shared by all instances: each writes its own row per hour. */
import type { InstanceId } from "../../core/lib/ids.ts";
import type { AvailabilityCounts } from "../../core/routing/availability.ts";
import { availabilityHourPrefix, availabilityKey } from "../schema/keys.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Hours that the public status covers. */
const availabilityHours = 24;

/** Milliseconds that rows of availability are kept: two hours longer than they are read. */
const availabilityExpireMs = 26 * 3_600_000;

/** Rows of availability read for one status: instances × hours, where a restart is a new instance. */
const maxAvailabilityRows = 10_000;

/** Writes what an instance counted in an hour; each write replaces the former. */
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

/** Reads the last day up to and with `hour`, as far as it was written; one entry per instance and hour. */
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
