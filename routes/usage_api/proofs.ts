/**
 * Proofs by API: `GET /v1/receipts/{id}/proof` and `/v1/statements/{month}/proof` with a key, and for everybody the
 * signed days (`/v1/proofs/days`) and the keys that signed them (`/.well-known/gateway-proof-keys.json`).
 */
import { daysOfMonth } from "../../core/lib/time/vietnam_time.ts";
import type { Context } from "hono";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  type DescribedField,
  listField,
  nullableField,
  objectField,
  text,
} from "../../core/lib/json/schemas.ts";
import type { Inclusion, KeySet, SignedDay } from "../../core/trade/proofs/check_proof.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { readKeySet } from "../../kv/services/proofs/proof_keys.ts";
import type { FoundProof, NoProof } from "../../kv/services/proofs/read_proofs.ts";
import type { SignedDayRow } from "../../kv/services/proofs/signed_days.ts";
import { type RowBounds, rowLimit, wrongParameter } from "../http/query.ts";
import { type Answer, type Env, ownReceipt, requireBalanceRight } from "./calls.ts";
import { parseDay, shiftDay } from "./range.ts";
import { requireMonth } from "./statements.ts";

/** Signed days on one page of the list: a year and its day more fit. */
export const signedDayRows: RowBounds = { most: 400, otherwise: 31 };

/** Loads what hashes a tree with the first proof: no start needs it. */
const loadProofs = () => import("../../kv/services/proofs/read_proofs.ts");

const noProofs: Readonly<Record<NoProof, string>> = {
  not_signed: "There is no proof yet: a day is signed in the night after it",
  not_in_tree:
    "The signed day does not contain it: it was added after the day was signed, or is empty",
  changed: "The rows of this day are no longer those that were signed",
};

function proofOf(found: FoundProof): Inclusion {
  if (!found.ok) throw new GatewayError("not_found", noProofs[found.why]);
  return found.proof;
}

const hex: JsonObject = { type: "string", pattern: "^[0-9a-f]{64}$" };

/** The fields of a signed day. */
const signedDayFields: readonly DescribedField<SignedDay>[] = [
  // The text that is signed; docs/proofs.md describes its lines.
  always("statement", text, ({ statement }) => statement),
  always("key", text, ({ key }) => key),
  always("signature", text, ({ signature }) => signature),
];

const inclusionFields: readonly DescribedField<Inclusion>[] = [
  always("tree", { type: "string", enum: ["receipts", "balances"] }, ({ tree }) => tree),
  always("leaf", text, ({ leaf }) => leaf),
  always("index", count, ({ index }) => index),
  always("path", { type: "array", items: hex }, ({ path }) => [...path]),
  objectField("day", "The signed day.", signedDayFields, ({ day }) => day),
];

/** The fields of the proof of a receipt. */
export const receiptProofFields: readonly DescribedField<Inclusion>[] = [
  constant("object", "receipt.proof"),
  ...inclusionFields,
];

interface MonthProof {
  readonly month: string;
  readonly opening: Inclusion | undefined;
  readonly closing: Inclusion | undefined;
}

/** The fields of the proof of a month. */
export const statementProofFields: readonly DescribedField<MonthProof>[] = [
  constant("object", "statement.proof"),
  always("month", text, ({ month }) => month),
  nullableField(
    "opening",
    "What the account had at the end of the day before the month; null: nothing, or no proof is left.",
    inclusionFields,
    ({ opening }) => opening,
  ),
  nullableField(
    "closing",
    "What the account had at the end of the month, or of its last signed day; null: nothing, or no proof.",
    inclusionFields,
    ({ closing }) => closing,
  ),
];

/** The fields of the list of signed days. */
export const signedDayListFields: readonly DescribedField<readonly SignedDayRow[]>[] = [
  constant("object", "list"),
  listField("data", "A signed day, the newest first.", [
    constant("object", "signed_day"),
    always("day", text, ({ day }: SignedDayRow) => day),
    // SHA-256 of the statement, which the next one names.
    always("digest", hex, ({ digest }: SignedDayRow) => digest),
    ...signedDayFields,
  ], (days) => days),
];

/** The fields of the set of keys: a JSON Web Key Set. */
export const keySetFields: readonly DescribedField<KeySet>[] = [
  listField("keys", "A key, the oldest first.", [
    constant("kty", "OKP"),
    constant("crv", "Ed25519"),
    always("kid", text, ({ kid }: KeySet["keys"][number]) => kid),
    always("x", text, ({ x }: KeySet["keys"][number]) => x),
  ], ({ keys }) => keys),
];

/** Answers with the proof of a receipt. */
export function receiptProofAnswer(kv: KeyValueStore): Answer {
  return async (c, reader) => {
    const { requestId } = await ownReceipt(c, reader, kv);
    const { proveReceipt } = await loadProofs();
    return fieldsJson(receiptProofFields, proofOf(await proveReceipt(kv, requestId)));
  };
}

/** Finds the newest signed day of a month; without one there is no proof of it. */
async function newestSignedDay(kv: KeyValueStore, month: string) {
  const { fromDay, toDay } = daysOfMonth(month);
  const { listSignedDays } = await loadProofs();
  const [newest] = await listSignedDays(kv, { limit: 1, before: shiftDay(toDay, 1) });
  return newest === undefined || newest.day < fromDay ? undefined : newest;
}

/** Finds the months of which there is a proof. */
export async function provenMonths(
  kv: KeyValueStore,
  months: readonly string[],
): Promise<ReadonlySet<string>> {
  const days = await Promise.all(months.map((month) => newestSignedDay(kv, month)));
  return new Set(months.filter((_, at) => days[at] !== undefined));
}

/**
 * Makes the proofs of what an account had before a month and at its end.
 *
 * @throws {GatewayError} `not_found` before the first day of the month is signed
 */
export async function statementProof(
  kv: KeyValueStore,
  accountId: AccountId,
  month: string,
): Promise<JsonObject> {
  const { fromDay } = daysOfMonth(month);
  const { proveBalance } = await loadProofs();
  const newest = await newestSignedDay(kv, month);
  if (newest === undefined) throw new GatewayError("not_found", noProofs.not_signed);
  const [opening, closing] = await Promise.all([
    proveBalance(kv, accountId, shiftDay(fromDay, -1)),
    proveBalance(kv, accountId, newest.day),
  ]);
  return fieldsJson(statementProofFields, {
    month,
    opening: opening.ok ? opening.proof : undefined,
    closing: closing.ok ? closing.proof : undefined,
  });
}

/** Answers with the proofs of a month. */
export function statementProofAnswer(kv: KeyValueStore): Answer {
  return async (c, reader) => {
    requireBalanceRight(reader);
    return await statementProof(kv, reader.accountId, requireMonth(c.req.param("month")));
  };
}

/** Answers everybody with the signed days. */
export async function signedDaysAnswer(kv: KeyValueStore, c: Context<Env>): Promise<JsonObject> {
  const { searchParams } = new URL(c.req.url);
  const before = searchParams.get("before");
  if (before !== null && parseDay(before) === undefined) {
    throw wrongParameter("before", "must be a day such as 2026-11-26");
  }
  const limit = rowLimit(searchParams, signedDayRows);
  const { listSignedDays } = await loadProofs();
  return fieldsJson(
    signedDayListFields,
    await listSignedDays(kv, { limit, before: before ?? undefined }),
  );
}

/** Answers everybody with the keys. */
export async function proofKeysAnswer(kv: KeyValueStore): Promise<JsonObject> {
  return fieldsJson(keySetFields, await readKeySet(kv));
}
