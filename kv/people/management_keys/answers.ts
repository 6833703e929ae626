/**
 * The answers of the management API that a repeated request gets again, by its idempotency key. They can hold a new
 * secret, so they are sealed with the master keys.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { type MasterKeys, open, seal } from "../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import { dayMs, minuteMs } from "../../../core/lib/time/durations.ts";
import { managementAnswerKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Milliseconds for which an answer is repeated: a day, as for calls. */
export const managementAnswerMs = dayMs;

/** Milliseconds after which a request that never ended may be sent again: its process is gone. */
const runningMs = minuteMs;

interface AnswerRow {
  /** Hash of key, path, body, and the roles of who sent it. */
  readonly fingerprint: string;
  readonly startedAtMs: number;
  /** Absent while the request runs. */
  readonly sealed?: string;
}

/** A request with an idempotency key. */
export interface RepeatableRequest {
  readonly organisationId: AccountId;
  /** Hash of the idempotency key, and of the management key that sent it. */
  readonly id: string;
  readonly fingerprint: string;
}

/** Beginning of a request with an idempotency key. */
export type AnswerClaim =
  | { readonly kind: "claimed" }
  | { readonly kind: "answered"; readonly answer: string }
  | { readonly kind: "under_way" }
  | { readonly kind: "other_request" };

const ownerOf = ({ organisationId, id }: RepeatableRequest) =>
  sealOwners.management_answer(organisationId, id);

/** Claims a request for one run, or says how an earlier one ended. */
export async function claimAnswer(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  request: RepeatableRequest,
  nowMs: number,
): Promise<AnswerClaim> {
  const entry = await kv.get<AnswerRow>(managementAnswerKey(request.organisationId, request.id));
  const row = entry.value;
  if (row !== null) {
    if (row.fingerprint !== request.fingerprint) return { kind: "other_request" };
    if (row.sealed !== undefined) {
      const answer = await open(masterKeys, row.sealed, ownerOf(request));
      return answer === undefined ? { kind: "other_request" } : { kind: "answered", answer };
    }
    if (nowMs < row.startedAtMs + runningMs) return { kind: "under_way" };
  }
  const claim: AnswerRow = { fingerprint: request.fingerprint, startedAtMs: nowMs };
  const { ok } = await kv.atomic().check(entry)
    .set(entry.key, claim, { expireIn: managementAnswerMs }).commit();
  return { kind: ok ? "claimed" : "under_way" };
}

/** Keeps the answer of a claimed request. */
export async function keepAnswer(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  request: RepeatableRequest,
  { answer, nowMs }: { readonly answer: string; readonly nowMs: number },
): Promise<void> {
  const row: AnswerRow = {
    fingerprint: request.fingerprint,
    startedAtMs: nowMs,
    sealed: await seal(masterKeys, answer, ownerOf(request)),
  };
  const key = managementAnswerKey(request.organisationId, request.id);
  await kv.set(key, row, { expireIn: managementAnswerMs });
}

/** Gives up a claimed request that was refused, so that it can be sent again. */
export async function dropAnswer(kv: KeyValueStore, request: RepeatableRequest): Promise<void> {
  await kv.delete(managementAnswerKey(request.organisationId, request.id));
}
