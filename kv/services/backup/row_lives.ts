/**
 * Decides what a backup does with each kind of row that expires.
 *
 * Deno KV does not tell when a row expires. Where the engine cannot say it, a restored row of such a kind lives as long
 * as a new one: longer than it would have, by at most the time since it was written. All readers of these rows compare
 * times that the rows hold, so a longer life changes nothing but the space.
 */
import { availabilityExpireMs } from "../status/availability.ts";
import { historyExpireMs } from "../status/day_history.ts";
import { idempotencyKeptMs } from "../calls/idempotency.ts";
import { hourSumsKeptMs } from "../../money/receipts/hour_sums.ts";
import { restoredRefusedCallMs } from "../calls/refused_calls.ts";
import { knownPlaceMs } from "../../people/accounts/known_places.ts";
import { movedAloneMs } from "../../people/operators/operator_authority.ts";
import { topupOrderMs } from "../../money/payments/topups.ts";
import type { RowKind } from "../../engine/schema/keys.ts";

/** Milliseconds that restored rows live, by kind. Other kinds do not expire. */
const restoredLivesMs: Partial<Record<RowKind, number>> = {
  availability: availabilityExpireMs,
  availability_day: historyExpireMs,
  call_order: idempotencyKeptMs,
  known_place: knownPlaceMs,
  operator_moved: movedAloneMs,
  refused_call: restoredRefusedCallMs,
  refused_call_by_id: restoredRefusedCallMs,
  refused_hours: hourSumsKeptMs,
  topup_of_form: topupOrderMs,
  usage_hours: hourSumsKeptMs,
  video_order: idempotencyKeptMs,
};

/**
 * Kinds that a backup leaves out: rights and counters of minutes or days. A session or a mailed link that was ended since
 * must not work again after a restore.
 */
const leftOut: ReadonlySet<string> = new Set<RowKind>([
  "account_session",
  "mail_token",
  "operator_session",
  "rate_limit",
  "rate_use",
  "session",
  "sign_in_flow",
  "store",
  "write_probe",
]);

/** Whether rows of a kind are part of a backup. Kinds that this version does not know are. */
export function isBackedUp(kind: string): boolean {
  return !leftOut.has(kind);
}

/** The milliseconds that a restored row lives; undefined: without end. */
export function restoredLifeMs(
  kind: string,
  expiresAtMs: number | null,
  nowMs: number,
): number | undefined {
  if (expiresAtMs !== null) return Math.max(0, Math.ceil(expiresAtMs - nowMs));
  const lives: Readonly<Record<string, number>> = restoredLivesMs;
  return Object.hasOwn(lives, kind) ? lives[kind] : undefined;
}
