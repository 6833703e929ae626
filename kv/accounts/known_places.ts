/**
 * Where an account has signed in before: browsers, known by a cookie of their own, and network addresses. Tries from
 * there have a budget of their own, so that strangers who guess from elsewhere cannot use it up. A known place
 * opens nothing: there a password is looked at that would be refused unread elsewhere.
 */
import type { AccountId } from "../../core/lib/ids.ts";
import { knownPlaceKey, knownPlacesPrefix } from "../schema/keys.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** A browser or an address as the store knows it: the hash of the cookie's token, or of the address. */
export type PlaceHash = string;

interface KnownPlace {
  readonly seenAtMs: number;
}

/** A place that was not signed in from for half a year is a stranger's again. */
export const knownPlaceMs = 180 * 86_400_000;
/** Browsers and addresses per account: some devices at some networks. The one not seen for longest goes first. */
const placesPerAccount = 40;

/** Whether each place is known to the account, in one read. An account that does not exist knows none. */
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

/** Notes that somebody has just signed in from these places. */
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

/** Makes every place a stranger's: after a change of password or address, and when the person is gone. */
export async function forgetPlaces(kv: KeyValueStore, accountId: AccountId): Promise<void> {
  for await (const { key } of kv.list({ prefix: knownPlacesPrefix(accountId) })) {
    await kv.delete(key);
  }
}
