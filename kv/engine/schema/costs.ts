/** Builds keys of what calls cost the operator. */
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

export function rateCardsPrefix(): StoreKey {
  return ["rate_card"];
}

export function rateCardKey(id: string): StoreKey {
  return ["rate_card", id];
}

// Copies of the day sums that have costs, by day: operators read a day of all accounts at once.

export function dayCopiesPrefix(): StoreKey {
  return ["usage_by_day"];
}

export function dayCopyKey(
  { day, accountId, keyId, model }: {
    readonly day: string;
    readonly accountId: AccountId;
    readonly keyId: ApiKeyId;
    readonly model: string;
  },
): StoreKey {
  return ["usage_by_day", day, accountId, keyId, model];
}

/** Selects the copies of some days, both included. */
export function dayCopiesRange(
  { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
): { readonly start: StoreKey; readonly end: StoreKey } {
  return { start: ["usage_by_day", fromDay], end: ["usage_by_day", `${toDay}~`] };
}

/** Returns what a copy is of. */
export function dayCopyOf(key: Deno.KvKey): {
  readonly day: string;
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
  readonly model: string;
} {
  const [, day, accountId, keyId, model] = key;
  return {
    day: String(day),
    accountId: String(accountId) as AccountId,
    keyId: String(keyId) as ApiKeyId,
    model: String(model),
  };
}
