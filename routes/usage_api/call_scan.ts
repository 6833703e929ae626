/** Reads the calls of an account, newest first: those with a receipt, and those that were refused before. */
import { failureCodeOf } from "../../core/billing/usage/call_failure.ts";
import type { RequestId } from "../../core/lib/ids/ids.ts";
import { maxCallMs } from "../../core/lib/base/limits.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import {
  listAllRefusedCalls,
  listRefusedCalls,
  type RefusedCall,
} from "../../kv/services/calls/refused_calls.ts";
import { listAllReceipts } from "../../kv/money/receipts/all_receipts.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { CallDays } from "./call_days.ts";
import { type CallFilter, type ErrorFilter, fitsCell } from "./call_filter.ts";
import { firstIdAt } from "./id_bounds.ts";
import { matchesReceipt, type Step, takeMatching, walkReceipts } from "./receipt_scan.ts";

/** A call: answered or failed, with its receipt, or refused before a provider was asked. */
export type Call =
  | { readonly kind: "receipt"; readonly requestId: RequestId; readonly receipt: Receipt }
  | { readonly kind: "refused"; readonly requestId: RequestId; readonly refused: RefusedCall };

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
 * import { newId } from "../../core/lib/ids/ids.ts";
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
  return call.kind === "refused" ? call.refused.code : failureCodeOf(call.receipt);
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

function matchesCall(call: Call, filter: CallsOfAllFilter): boolean {
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

function matchesRefused(call: RefusedCall, filter: CallsOfAllFilter): boolean {
  return call.atMs >= filter.fromMs && call.atMs < filter.untilMs &&
    fitsCell({ keyId: call.keyId, model: call.model }, filter);
}

type CallSteps = AsyncGenerator<Step<Call>, void, void>;

async function* receiptCalls(kv: KeyValueStore, filter: CallFilter): CallSteps {
  for await (const { requestId, item, cost } of walkReceipts(kv, filter)) {
    yield item === undefined ? { requestId, cost } : { requestId, item: answeredCall(item), cost };
  }
}

/** Refused calls that are read at once after others were passed over: the next may be passed over, too. */
const rowsAfterJump = 25;

/** What passing over refused calls costs in calls. */
const passingCost = 5;

async function* refusedCalls(kv: KeyValueStore, filter: CallFilter): CallSteps {
  const days = new CallDays(kv, filter);
  const top = firstIdAt(filter.untilMs);
  let before: RequestId | undefined = filter.before !== undefined && filter.before < top
    ? filter.before
    : top;
  while (before !== undefined) {
    const from: RequestId = before;
    before = undefined;
    // After a jump the first row says where the next one goes.
    const options = from === top ? undefined : { batchSize: rowsAfterJump };
    for await (const refused of listRefusedCalls(kv, filter.accountId, from, options)) {
      const { requestId } = refused;
      if (refused.atMs < filter.fromMs) return;
      if (await days.mayHaveRefused(requestId)) {
        yield { requestId, item: { kind: "refused", requestId, refused }, cost: 1 };
        continue;
      }
      before = await days.refusedBelow(requestId);
      yield { requestId: before, cost: passingCost };
      break;
    }
  }
}

/** Merges two walks that are newest first. */
async function* newestFirst(one: CallSteps, other: CallSteps): CallSteps {
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

async function takeCallPage(
  steps: CallSteps,
  fits: (call: Call) => boolean,
  count: number,
): Promise<CallPage> {
  const { found, next } = await takeMatching(steps, fits, count);
  return { calls: found, next };
}

/** Reads up to `count` calls of an account that match the filter. */
export async function takeCalls(
  kv: KeyValueStore,
  filter: CallFilter,
  count: number,
): Promise<CallPage> {
  const refused = refusedCalls(kv, filter);
  const steps = filter.status === "refused"
    ? refused
    : newestFirst(receiptCalls(kv, filter), refused);
  return await takeCallPage(steps, (call) => matchesCall(call, filter), count);
}

/** The calls of all accounts to read. */
export type CallsOfAllFilter = Omit<CallFilter, "accountId">;

/** Where a list of all calls begins. */
function topOf({ before, untilMs }: CallsOfAllFilter): RequestId {
  const top = firstIdAt(untilMs + maxCallMs);
  return before !== undefined && before < top ? before : top;
}

async function* allReceiptCalls(kv: KeyValueStore, filter: CallsOfAllFilter): CallSteps {
  const bottom = firstIdAt(filter.fromMs - maxCallMs);
  for await (const receipt of listAllReceipts(kv, topOf(filter))) {
    if (receipt.requestId < bottom) return;
    yield { requestId: receipt.requestId, item: answeredCall(receipt), cost: 1 };
  }
}

async function* allRefusedCalls(kv: KeyValueStore, filter: CallsOfAllFilter): CallSteps {
  for await (const refused of listAllRefusedCalls(kv, topOf(filter))) {
    const { requestId } = refused;
    if (refused.atMs < filter.fromMs) return;
    yield { requestId, item: { kind: "refused", requestId, refused }, cost: 1 };
  }
}

/** Reads up to `count` calls of all accounts that match the filter. */
export async function takeCallsOfAll(
  kv: KeyValueStore,
  filter: CallsOfAllFilter,
  count: number,
): Promise<CallPage> {
  const refused = allRefusedCalls(kv, filter);
  const steps = filter.status === "refused"
    ? refused
    : newestFirst(allReceiptCalls(kv, filter), refused);
  return await takeCallPage(steps, (call) => matchesCall(call, filter), count);
}
