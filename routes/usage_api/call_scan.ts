/** Reads the calls of an account, newest first: those with a receipt, and those that were refused before. */
import type { RequestId } from "../../core/lib/ids.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import {
  listAllRefusedCalls,
  listRefusedCalls,
  type RefusedCall,
} from "../../kv/calls/refused_calls.ts";
import { listAllReceipts } from "../../kv/receipts/all_receipts.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";
import { matchesReceipt, maxScanRows, type ReceiptFilter, walkReceipts } from "./receipt_scan.ts";

/** A call: answered or failed, with its receipt, or refused before a provider was asked. */
export type Call =
  | { readonly kind: "receipt"; readonly requestId: RequestId; readonly receipt: Receipt }
  | { readonly kind: "refused"; readonly requestId: RequestId; readonly refused: RefusedCall };

/** The calls to read. */
export interface CallFilter extends ReceiptFilter, ErrorFilter {}

/** How the calls ended. */
export interface ErrorFilter {
  /** `ok`, `error`, `refused` or `5xx`, or a status such as `402`. */
  readonly status?: string | undefined;
  /** An error code. */
  readonly error?: string | undefined;
}

/** Makes a call of its receipt. */
export function answeredCall(receipt: Receipt): Call {
  return { kind: "receipt", requestId: receipt.requestId, receipt };
}

/**
 * Returns the error code of a call: of its refusal, or of its last attempt if all of them failed. `undefined` if there
 * was an answer.
 *
 * @example
 * ```ts
 * import { newId } from "../../core/lib/ids.ts";
 * import { errorOf } from "./call_scan.ts";
 * const requestId = newId("request", 0);
 * const refused = {
 *   requestId,
 *   accountId: newId("account", 0),
 *   keyId: newId("apiKey", 0),
 *   atMs: 0,
 *   latencyMs: 1,
 *   status: 402,
 *   code: "insufficient_balance" as const,
 *   message: "Insufficient balance",
 * };
 * if (errorOf({ kind: "refused", requestId, refused }) !== "insufficient_balance") throw new Error();
 * ```
 */
export function errorOf(call: Call): string | undefined {
  if (call.kind === "refused") return call.refused.code;
  const { outcome, attempts } = call.receipt;
  return outcome === "failed" ? attempts.at(-1)?.outcome ?? "no_route" : undefined;
}

/** The HTTP status that the client saw. */
function statusOf(call: Call): number {
  return call.kind === "refused" ? call.refused.status : call.receipt.status;
}

function fitsStatus(call: Call, status: string): boolean {
  const seen = statusOf(call);
  switch (status) {
    case "ok":
      return seen < 400 && errorOf(call) === undefined;
    case "error":
      return seen >= 400 || errorOf(call) !== undefined;
    case "refused":
      return call.kind === "refused";
    case "5xx":
      return seen >= 500;
    default:
      return String(seen) === status;
  }
}

function matchesCall(call: Call, filter: CallFilter): boolean {
  const fits = call.kind === "receipt"
    ? matchesReceipt(call.receipt, filter)
    : matchesRefused(call.refused, filter);
  return fits && endedAs(call, filter);
}

/** Whether a call ended as a filter asks. */
function endedAs(call: Call, { status, error }: ErrorFilter): boolean {
  return (status === undefined || fitsStatus(call, status)) &&
    (error === undefined || errorOf(call) === error);
}

function matchesRefused(call: RefusedCall, { fromMs, untilMs, keyId, model }: CallFilter): boolean {
  return call.atMs >= fromMs && call.atMs < untilMs &&
    (keyId === undefined || call.keyId === keyId) &&
    (model === undefined || call.model === model);
}

async function* receiptCalls(kv: KeyValueStore, filter: CallFilter): AsyncGenerator<Call> {
  for await (const receipt of walkReceipts(kv, filter)) yield answeredCall(receipt);
}

async function* refusedCalls(kv: KeyValueStore, filter: CallFilter): AsyncGenerator<Call> {
  for await (const refused of listRefusedCalls(kv, filter.accountId, filter.before)) {
    if (refused.atMs < filter.fromMs) return;
    yield { kind: "refused", requestId: refused.requestId, refused };
  }
}

/** Merges two lists that are newest first. */
async function* newestFirst(
  one: AsyncGenerator<Call>,
  other: AsyncGenerator<Call>,
): AsyncGenerator<Call, void, void> {
  try {
    let [a, b] = await Promise.all([one.next(), other.next()]);
    while (a.done !== true || b.done !== true) {
      if (b.done === true || (a.done !== true && a.value.requestId > b.value.requestId)) {
        if (a.done !== true) yield a.value;
        a = await one.next();
      } else {
        yield b.value;
        b = await other.next();
      }
    }
  } finally {
    await Promise.all([one.return(undefined), other.return(undefined)]);
  }
}

/** Some calls of a list, and where it continues. */
export interface CallPage {
  readonly calls: readonly Call[];
  /** The `before` of the following page; absent at the end. */
  readonly next: RequestId | undefined;
}

/**
 * Takes up to `count` calls that fit. Looks at {@linkcode maxScanRows} calls at most: with a narrow filter a page may be
 * short and still have a next one.
 */
async function takeMatching(
  calls: AsyncGenerator<Call>,
  fits: (call: Call) => boolean,
  count: number,
): Promise<CallPage> {
  const taken: Call[] = [];
  let looked = 0;
  let last: RequestId | undefined;
  for await (const call of calls) {
    if (taken.length === count || looked === maxScanRows) return { calls: taken, next: last };
    looked++;
    last = call.requestId;
    if (fits(call)) taken.push(call);
  }
  return { calls: taken, next: undefined };
}

/** Reads up to `count` calls of an account that match the filter. */
export async function takeCalls(
  kv: KeyValueStore,
  filter: CallFilter,
  count: number,
): Promise<CallPage> {
  const refused = refusedCalls(kv, filter);
  const calls = filter.status === "refused"
    ? refused
    : newestFirst(receiptCalls(kv, filter), refused);
  return await takeMatching(calls, (call) => matchesCall(call, filter), count);
}

async function* allReceiptCalls(kv: KeyValueStore, before?: RequestId): AsyncGenerator<Call> {
  for await (const receipt of listAllReceipts(kv, before)) yield answeredCall(receipt);
}

async function* allRefusedCalls(kv: KeyValueStore, before?: RequestId): AsyncGenerator<Call> {
  for await (const refused of listAllRefusedCalls(kv, before)) {
    yield { kind: "refused", requestId: refused.requestId, refused };
  }
}

/** Reads up to `count` calls of all accounts that ended as the filter asks, starting before `before` if given. */
export async function takeCallsOfAll(
  kv: KeyValueStore,
  filter: ErrorFilter & { readonly before?: RequestId | undefined },
  count: number,
): Promise<CallPage> {
  const refused = allRefusedCalls(kv, filter.before);
  const calls = filter.status === "refused"
    ? refused
    : newestFirst(allReceiptCalls(kv, filter.before), refused);
  return await takeMatching(calls, (call) => endedAs(call, filter), count);
}
