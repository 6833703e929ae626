/**
 * Remembers where an account has signed in: browsers, recognized by a cookie, and network
 * addresses. Sign-in attempts from known places have a budget of their own, so that strangers who
 * guess passwords elsewhere cannot use it up. A known place grants no access; it only means that
 * the password is checked there while other places are refused unread.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { knownPlaceKey, knownPlacesPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * A browser or an address as the store keeps it: the hash of the cookie's token, or of the address.
 */
export type PlaceHash = string;

interface KnownPlace {
  readonly seenAtMs: number;
}

/** Milliseconds after which a place without sign-in is forgotten: half a year. */
export const knownPlaceMs = 180 * 86_400_000;
/**
 * Most browsers and addresses per account: some devices in some networks. The one unused for
 * longest is dropped first.
 */
const placesPerAccount = 40;

/**
 * Reads, for each place, whether the account has signed in from it. An account that does not exist
 * knows no place.
 */
export async function areKnownPlaces(
  kv: KeyValueStore,
  accountId: AccountId,
  places: readonly PlaceHash[],
  nowMs: number,
): Promise<boolean[]> {
  const rows = await kv.getMany<KnownPlace[]>(
    places.map((place) => knownPlaceKey(accountId, place)),
  );
  return rows.map(({ value }) => value !== null && nowMs < value.seenAtMs + knownPlaceMs);
}

/** Adds places after a successful sign-in from them. */
export async function rememberPlaces(
  kv: KeyValueStore,
  accountId: AccountId,
  places: readonly PlaceHash[],
  nowMs: number,
): Promise<void> {
  const operation = kv.atomic();
  for (const place of places) {
    const row: KnownPlace = { seenAtMs: nowMs };
    operation.set(knownPlaceKey(accountId, place), row, { expireIn: knownPlaceMs });
  }
  await operation.commit();
  const rows = await Array.fromAsync(kv.list<KnownPlace>({ prefix: knownPlacesPrefix(accountId) }));
  const oldest = rows.sort((one, other) => other.value.seenAtMs - one.value.seenAtMs)
    .slice(placesPerAccount);
  for (const { key } of oldest) await kv.delete(key);
}

/**
 * Forgets all places of an account: after a change of password or address, and when the account is
 * deleted.
 */
export async function forgetPlaces(kv: KeyValueStore, accountId: AccountId): Promise<void> {
  for await (const { key } of kv.list({ prefix: knownPlacesPrefix(accountId) })) {
    await kv.delete(key);
  }
}
