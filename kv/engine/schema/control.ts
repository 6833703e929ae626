/** Builds keys of what instances share: switches, epochs, availability. */
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import { rowsOfKindPrefix, type StoreKey } from "./store_key.ts";

// Control: what every instance has to know within two seconds.

/** Changes with each change of a key or account that caches of callers must not miss. */
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

// The public history: calls answered and failed, and their speed, per day and instance.

export function availabilityDayPrefix(day: number): StoreKey {
  return ["availability_day", day];
}

export function availabilityDayKey(day: number, instanceId: InstanceId): StoreKey {
  return ["availability_day", day, instanceId];
}

/** Returns the day of a key. */
export function dayOfAvailability(key: Deno.KvKey): number {
  return Number(key[1]);
}

// The store itself: its schema version, and what changes it as a whole.

/** The version of the schema that the rows have. */
export function schemaVersionKey(): StoreKey {
  return ["store", "schema_version"];
}

/** Present while an instance migrates the rows. */
export function migrationLockKey(): StoreKey {
  return ["store", "migration_lock"];
}

/** Present from the begin of a restore until its end. */
export function restoreMarkKey(): StoreKey {
  return ["store", "restore_mark"];
}

/** When it was last certain that no account has money of a sandbox. */
export function sandboxMoneyEndKey(): StoreKey {
  return ["store", "sandbox_money_end"];
}

/** Written and deleted to see whether the store takes writes; it holds nothing. */
export function writeProbeKey(): StoreKey {
  return rowsOfKindPrefix("write_probe");
}
