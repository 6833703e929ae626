/** Builds keys of what instances share: switches, epochs, availability. */
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import { rowsOfKindPrefix, type StoreKey } from "./store_key.ts";

// Builds keys of the catalogue: its head, its versions, and their contents in pieces.

/** Version that is in force. A row of the control state, since every instance has to know it within two seconds. */
export function catalogHeadKey(): StoreKey {
  return ["control", "catalog"];
}

export function catalogVersionsPrefix(): StoreKey {
  return ["catalog_version"];
}

export function catalogVersionKey(version: number): StoreKey {
  return ["catalog_version", version];
}

/** Returns the version of a key. */
export function versionOfKey(key: Deno.KvKey): number {
  return Number(key[1]);
}

export function catalogContentsPrefix(): StoreKey {
  return ["catalog_content"];
}

/** Key of what is known of the contents of a version: how many pieces they have. */
export function catalogContentKey(contentId: string): StoreKey {
  return ["catalog_content", contentId];
}

/** Returns the contents of a key. */
export function contentIdOf(key: Deno.KvKey): string {
  return String(key[1]);
}

export function catalogPieceKey(contentId: string, at: number): StoreKey {
  return ["catalog_piece", contentId, at];
}

// Builds keys of checkpoints: what verification found right, day by day.

export function checkpointsPrefix(): StoreKey {
  return ["checkpoint"];
}

/** @param day `YYYY-MM-DD` in Vietnam time: it sorts as text */
export function checkpointKey(day: string): StoreKey {
  return ["checkpoint", day];
}

/** Returns the day of a checkpoint. */
export function dayOfCheckpoint(key: Deno.KvKey): string {
  return String(key[1]);
}

/** Selects the checkpoints from a day on. */
export function checkpointsFromSelector(day: string): Deno.KvListSelector {
  return { prefix: ["checkpoint"], start: ["checkpoint", day] };
}

/** Names the last checkpoint, so that its deletion is found. */
export function checkpointHeadKey(): StoreKey {
  return ["checkpoint_head", "last"];
}

/** Selects the balances of all accounts at the end of a day, in pages. */
export function dayBalancesPrefix(day: string): StoreKey {
  return ["checkpoint_balances", day];
}

export function dayBalancesKey(day: string, page: number): StoreKey {
  return ["checkpoint_balances", day, page];
}

/** Selects the balances of all days before a day. */
export function balancesBeforeSelector(day: string): Deno.KvListSelector {
  return { prefix: ["checkpoint_balances"], end: ["checkpoint_balances", day] };
}

// The balances from which everything is verified, once receipts before them were dropped.

/** Says of which day the balances are. */
export function keptBalancesHeadKey(): StoreKey {
  return ["kept_balances"];
}

export function keptBalancesPrefix(day: string): StoreKey {
  return ["kept_balances", day];
}

export function keptBalancesKey(day: string, page: number): StoreKey {
  return ["kept_balances", day, page];
}

/** Selects the kept balances of all days before a day; not the row that says of which day they are. */
export function keptBalancesBefore(day: string): Deno.KvListSelector {
  return { start: ["kept_balances", ""], end: ["kept_balances", day] };
}

// What is left of rows that were dropped by their age: a row for each kind and month.

export function droppedPrefix(): StoreKey {
  return ["dropped"];
}

/** Names the sums of a kind, and is the prefix of their keys. */
export function droppedContentsKey(kind: string): StoreKey {
  return ["dropped", kind];
}

/** @param month `YYYY-MM` in Vietnam time, of the rows that were dropped */
export function droppedKey(kind: string, month: string): StoreKey {
  return ["dropped", kind, month];
}

/** Returns the kind of a row of what was dropped, and the month; contents of a kind have none. */
export function droppedPlaceOf(
  [, kind, month]: Deno.KvKey,
): { readonly kind: string; readonly month: string | undefined } {
  return { kind: String(kind), month: month === undefined ? undefined : String(month) };
}

// Builds keys of the outbox: one prefix per queue, rows in order of their due time.

export function outboxQueuePrefix(queue: string): StoreKey {
  return ["outbox", queue];
}

export function outboxRowKey(queue: string, dueAtMs: number, id: string): StoreKey {
  return ["outbox", queue, dueAtMs, id];
}

/** Selects rows of a queue that are due at `nowMs`, oldest first. */
export function outboxDueSelector(queue: string, nowMs: number): Deno.KvListSelector {
  return { prefix: outboxQueuePrefix(queue), end: ["outbox", queue, Math.floor(nowMs) + 1] };
}

/** Selects the rows of all queues whose names, in ASCII, begin with a text. */
export function outboxQueuesSelector(beginning: string): Deno.KvListSelector {
  return { start: ["outbox", beginning], end: ["outbox", `${beginning}\uffff`] };
}

/** Returns the due time and id of a waiting row. */
export function outboxRowOf(key: Deno.KvKey): { readonly dueAtMs: number; readonly id: string } {
  return { dueAtMs: Number(key[2]), id: String(key[3]) };
}

export function outboxDeadPrefix(queue: string): StoreKey {
  return ["outbox_dead", queue];
}

export function outboxDeadKey(queue: string, id: string): StoreKey {
  return ["outbox_dead", queue, id];
}

// Builds keys of what instances publish of the use of rate limits.

export function rateUsePrefix(): StoreKey {
  return ["rate_use"];
}

/** Key of one page of what an instance publishes. */
export function rateUseKey(instance: string, page: number): StoreKey {
  return ["rate_use", instance, page];
}

/** Returns the instance and the page of a key. */
export function rateUseOf(key: Deno.KvKey): { readonly instance: string; readonly page: number } {
  return { instance: String(key[1]), page: Number(key[2]) };
}

// Control: what every instance has to know within two seconds.

/** Changes with each change of a key or account that caches of callers must not miss. */
export function keysEpochKey(): StoreKey {
  return ["control", "keys_epoch"];
}

/** Changes with each change of a stored key of a provider. */
export function vaultEpochKey(): StoreKey {
  return ["control", "vault"];
}

/** Maintenance and route switches. */
export function switchesKey(): StoreKey {
  return ["control", "switches"];
}

// Keys of providers, sealed.

export function storedKeysPrefix(): StoreKey {
  return ["provider_key"];
}

export function storedKeyKey(name: string): StoreKey {
  return ["provider_key", name];
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

/** Present once receipts have left the store for an archive. */
export function archiveMarkKey(): StoreKey {
  return ["store", "archive"];
}

/** Present once sums of a day may have left the store for an archive; each change of what has left changes the row. */
export function archivedSumsKey(day: string): StoreKey {
  return ["store", "archived_sums", day];
}

/** Selects the rows of all days whose sums may have left. */
export function archivedSumsPrefix(): StoreKey {
  return ["store", "archived_sums"];
}

/** Returns the day of such a row. */
export function archivedSumsDayOf(key: Deno.KvKey): string {
  return String(key[2]);
}

/** Last move of days to the archive, and how many could not be moved. */
export function lastMoveKey(): StoreKey {
  return ["store", "last_move"];
}

/** Last end of a backup. */
export function lastBackupKey(): StoreKey {
  return ["store", "last_backup"];
}

/** Up to which grant the owners of expiring credit were told, so many days before. */
export function creditNoticeKey(daysBefore: number): StoreKey {
  return ["store", "credit_notice", daysBefore];
}

/** Present while an instance migrates the rows. */
export function migrationLockKey(): StoreKey {
  return ["store", "migration_lock"];
}

/** Present from the begin of a restore until its end. */
export function restoreMarkKey(): StoreKey {
  return ["store", "restore_mark"];
}

/** Last moment at which it was certain that no account has money of a sandbox. */
export function sandboxMoneyEndKey(): StoreKey {
  return ["store", "sandbox_money_end"];
}

/** Last end of a verification, and how many problems it found: one row for the daily ones, one for the full ones. */
export function lastVerificationKey(scope: "daily" | "full"): StoreKey {
  return ["store", "last_verification", scope];
}

/** Written and deleted to see whether the store takes writes; it holds nothing. */
export function writeProbeKey(): StoreKey {
  return rowsOfKindPrefix("write_probe");
}
