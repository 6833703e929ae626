/** `GET /v1/calls`, `/v1/calls/{request_id}` and `/v1/generation`: answered and refused calls together. */
import { type CallTag, parseTag } from "../../core/billing/usage/call_tags.ts";
import { type ErrorCode, errorTable, GatewayError } from "../../core/lib/errors/errors.ts";
import { type AccountId, type ApiKeyId, parseId, type RequestId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  maybeText,
  objectField,
  pageFields,
  text,
} from "../../core/lib/json/schemas.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import { type Act, may, type Role } from "../../core/people/organisations/acts.ts";
import type { RefusedCall } from "../../kv/services/calls/refused_calls.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import { readReceipt } from "../../kv/money/receipts/receipts.ts";
import { readRefundsOf } from "../../kv/money/ledger/refunds.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { type RowBounds, rowLimit, wrongParameter } from "../http/query.ts";
import { type Call, callerOf, findCall, takeCalls } from "./search/call_scan.ts";
import { rangeMs, requireRange } from "./range.ts";
import { failureFields, generationFields, receiptJson, requestIdIn } from "./receipt_json.ts";
import type { Context } from "hono";
import { readMembership } from "../../kv/people/organisations/organisations.ts";
import type { Doer } from "../../kv/people/audit/account_activity.ts";

// What the answers of the usage API share: how they are called, and the parts of queries that several read.

/** Facts of the connection that the server knows. */
export interface Env {
  Bindings: { readonly clientAddress?: string };
}

/** Reader: a caller with an API key, or a program with a management key. */
export interface Reader {
  readonly accountId: AccountId;
  /** The key that reads its own calls and no more; absent: everything of the account. */
  readonly onlyKeyId?: ApiKeyId;
  /** The program with a management key, for the activity log; absent: a caller with an API key. */
  readonly program?: Doer;
  /** The roles that have to allow what the program reads. */
  readonly roles?: readonly Role[];
  /** The member whose API key it is; absent: it is the organisation's own, and reads what needs no role. */
  readonly memberId?: AccountId;
}

/**
 * Whether a reader may see what needs an act of its own beside the path: with a management key as its roles say, with an
 * API key as the member who made it may now.
 */
export async function mayRead(
  kv: KeyValueStore,
  { accountId, roles, memberId }: Reader,
  act: Act,
): Promise<boolean> {
  if (roles !== undefined) return roles.every((role) => may(role, act));
  if (memberId === undefined) return false;
  const maker = await readMembership(kv, accountId, memberId);
  return maker !== undefined && may(maker.role, act);
}

/** Whether a reader may see the names of keys. A key knows its own; the organisation's own keys name all that they read. */
export async function seesKeyNames(kv: KeyValueStore, reader: Reader): Promise<boolean> {
  const isOfMember = reader.roles !== undefined || reader.memberId !== undefined;
  return !isOfMember || reader.onlyKeyId !== undefined || await mayRead(kv, reader, "view_keys");
}

/** Makes the body of an answer for a known reader, or the answer if that is a file. */
export type Answer = (c: Context<Env>, reader: Reader) => Promise<JsonObject | Response>;

/** Calls on one page of a list: at most about 200 KB of JSON. */
export const callListRows: RowBounds = { most: 200, otherwise: 50 };

/** Before the first call of any installation. */
export const firstDay = "2000-01-01";

/**
 * The key whose calls the query asks for. A key that reads only its own calls gets itself.
 *
 * @throws {GatewayError} if such a key asks for another one
 */
export function keyAskedFor(c: Context<Env>, { onlyKeyId }: Reader): string | undefined {
  const asked = c.req.query("key");
  if (onlyKeyId === undefined) return asked;
  if (asked === undefined || asked === onlyKeyId) return onlyKeyId;
  throw new GatewayError("permission_denied", "This key may read only its own calls");
}

/**
 * The tag whose calls the query asks for.
 *
 * @throws {GatewayError} if it is no tag
 */
export function tagAskedFor(c: Context<Env>): CallTag | undefined {
  const asked = c.req.query("tag");
  const tag = asked === undefined ? undefined : parseTag(asked);
  if (asked !== undefined && tag === undefined) {
    throw wrongParameter("tag", "must be a key and a value like team:search");
  }
  return tag;
}

/**
 * Reads the receipt that the path names, if the key may read it: that of another account does not exist for it.
 *
 * @throws {GatewayError} `not_found`
 */
export async function ownReceipt(
  c: Context<Env>,
  reader: Reader,
  kv: KeyValueStore,
): Promise<Receipt> {
  return await receiptOf(kv, reader, parseId("request", c.req.param("id") ?? ""));
}

/**
 * Reads a receipt, if the key may read it.
 *
 * @throws {GatewayError} `not_found`
 */
async function receiptOf(
  kv: KeyValueStore,
  { accountId, onlyKeyId }: Reader,
  requestId: RequestId | undefined,
): Promise<Receipt> {
  const receipt = requestId === undefined ? undefined : await readReceipt(kv, requestId);
  const isHidden = onlyKeyId !== undefined && receipt?.keyId !== onlyKeyId;
  if (receipt?.accountId !== accountId || isHidden) {
    throw new GatewayError("not_found", "There is no such receipt");
  }
  return receipt;
}

/**
 * Refuses a key that reads only its own calls what the account has.
 *
 * @throws {GatewayError} `permission_denied`
 */
export function requireBalanceRight({ onlyKeyId }: Reader): void {
  if (onlyKeyId !== undefined) {
    throw new GatewayError("permission_denied", "This key may not read the balance");
  }
}

/**
 * The call before which a page begins.
 *
 * @throws {GatewayError} if it is no request id
 */
export function cursorOf(c: Context<Env>): RequestId | undefined {
  const cursor = c.req.query("before");
  const before = cursor === undefined ? undefined : parseId("request", cursor);
  if (cursor !== undefined && before === undefined) {
    throw wrongParameter("before", "must be a request id");
  }
  return before;
}

interface CallsDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
}

/** Form of `status`: a group of statuses, or one of HTTP. */
export const askedStatus = /^(?:ok|error|refused|5xx|[1-5][0-9]{2})$/;

/** Form of `status`, for messages. */
export const callStatusForm = "must be ok, error, refused, 5xx or an HTTP status";

/** A row may have been written by a version whose table had other codes. */
function typeOf(code: ErrorCode): string {
  return Object.hasOwn(errorTable, code) ? errorTable[code].type : "api_error";
}

/** The fields of a call that was refused. */
export const refusedFields: readonly DescribedField<RefusedCall>[] = [
  constant("object", "refused_call"),
  always("request_id", text, ({ requestId }) => requestId),
  always("key_id", text, ({ keyId }) => keyId),
  always("started_at", dateTime, ({ atMs }) => new Date(atMs).toISOString()),
  always("endpoint", maybeText, ({ endpoint }) => endpoint ?? null),
  always("model", maybeText, ({ model }) => model ?? null),
  always("status", { type: "integer" }, ({ status }) => status),
  objectField(
    "error",
    "Why it was refused.",
    failureFields,
    ({ code, message }) => ({ type: typeOf(code), code, message }),
  ),
  always("latency_ms", { type: "number" }, ({ latencyMs }) => latencyMs),
  always("left_out", {
    ...count,
    description: "Refused calls before this one that are not listed.",
  }, ({ leftOut }) => leftOut ?? 0),
];

/** Converts calls to JSON, with their refunds. */
export async function callsJson(kv: KeyValueStore, calls: readonly Call[]): Promise<JsonObject[]> {
  const receipts = calls.flatMap((call) => call.kind === "receipt" ? [call.receipt] : []);
  const refunds = await readRefundsOf(kv, receipts);
  return calls.map((call) =>
    call.kind === "refused"
      ? fieldsJson(refusedFields, call.refused)
      : receiptJson({ receipt: call.receipt, refund: refunds.get(call.requestId) })
  );
}

function statusAskedFor(text: string | undefined): string | undefined {
  if (text === undefined || askedStatus.test(text)) return text;
  throw wrongParameter("status", callStatusForm);
}

/** The fields of a page of calls. */
export const callListFields = pageFields("Call");

/** Lists calls, the latest first. */
export function callListAnswer({ kv, clock }: CallsDeps): Answer {
  return async (c, reader) => {
    const { searchParams } = new URL(c.req.url);
    const limit = rowLimit(searchParams, callListRows);
    const range = requireRange(searchParams, vietnamDay(clock.nowMs()), firstDay);
    const { calls, next } = await takeCalls(kv, {
      accountId: reader.accountId,
      ...rangeMs(range),
      keyId: keyAskedFor(c, reader),
      model: c.req.query("model"),
      tag: tagAskedFor(c),
      status: statusAskedFor(c.req.query("status")),
      error: c.req.query("error"),
      before: cursorOf(c),
    }, limit);
    return fieldsJson(callListFields, {
      data: await callsJson(kv, calls),
      firstId: calls[0]?.requestId,
      lastId: next ?? calls.at(-1)?.requestId,
      hasMore: next !== undefined,
    });
  };
}

/** Finds a call by its request id. */
export function callAnswer({ kv }: CallsDeps): Answer {
  return async (c, { accountId, onlyKeyId }) => {
    const requestId = parseId("request", c.req.param("id") ?? "");
    const call = requestId && await findCall(kv, requestId);
    const found = call && callerOf(call);
    const isHidden = onlyKeyId !== undefined && found?.keyId !== onlyKeyId;
    // The call of another account does not exist for this key.
    if (call === undefined || found?.accountId !== accountId || isHidden) {
      throw new GatewayError("not_found", "There is no such call");
    }
    return (await callsJson(kv, [call]))[0] ?? {};
  };
}

/** Finds the receipt of a call by the id of the request, or of an answer that the gateway wrote, as OpenRouter does. */
export function generationAnswer(kv: KeyValueStore): Answer {
  return async (c, reader) => {
    const id = c.req.query("id") ?? "";
    if (id === "") throw wrongParameter("id", "must be the x-request-id of a call");
    const requestId = requestIdIn(id);
    if (requestId === undefined) {
      throw new GatewayError(
        "not_found",
        "No receipt has this id. Answers that pass unchanged have the provider's id: use that of the header x-request-id",
      );
    }
    const receipt = await receiptOf(kv, reader, requestId);
    const refund = (await readRefundsOf(kv, [receipt])).get(receipt.requestId);
    return fieldsJson(generationFields, { receipt, refund });
  };
}
