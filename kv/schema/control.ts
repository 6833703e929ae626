/** Keys of what instances tell each other: switches, epochs, availability. */
import type { InstanceId } from "../../core/lib/ids.ts";
import { rowsOfKindPrefix, type StoreKey } from "./store_key.ts";

// Control: what every instance must learn within two seconds.

/** Changes whenever a key or an account changed in a way that an auth cache must not miss. */
export function keysEpochKey(): StoreKey {
  return ["control", "keys_epoch"];
}

/** Maintenance and route switches. */
export function switchesKey(): StoreKey {
  return ["control", "switches"];
}

// Availability: calls answered and failed, per hour and instance.

export function availabilityHourPrefix(hour: number): StoreKey {
  return ["availability", hour];
}

export function availabilityKey(hour: number, instanceId: InstanceId): StoreKey {
  return ["availability", hour, instanceId];
}

/** Deleted at every start, and never there: so it shows whether the store takes writes. */
export function writeProbeKey(): StoreKey {
  return rowsOfKindPrefix("write_probe");
}
