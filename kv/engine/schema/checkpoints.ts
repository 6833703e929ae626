/** Builds keys of checkpoints: what verification found right, day by day. */
import type { StoreKey } from "./store_key.ts";

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
