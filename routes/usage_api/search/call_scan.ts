/**
 * Reads the calls of an account, newest first: those with a receipt, and those that were refused before.
 *
 * - Folder `routes/usage_api/search/`: finding calls, whatever the filter, with a bound on what is read.
 * - In: a filter by account, time, key, model and end.
 * - Out: receipts and refused calls, and where a search goes on.
 * - Never: reads the calls of hours in which, by their sums, none fits, or asks an archive once for each call.
 */
import { defined } from "../../../core/lib/base/defined.ts";
import { hasTag, tagText } from "../../../core/billing/usage/call_tags.ts";
import { failureCodeOf } from "../../../core/billing/usage/call_failure.ts";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import {
  listAllRefusedCalls,
  listRefusedCalls,
  readRefusedCall,
  type RefusedCall,
} from "../../../kv/services/calls/refused_calls.ts";
import { readReceipt, readTail } from "../../../kv/money/receipts/receipts.ts";
import { newestReceipts, type ReceiptsRead } from "../../../kv/money/receipts/newest_receipts.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { CallDays } from "./call_days.ts";
import {
  asksForFailures,
  type CallFilter,
  type ErrorFilter,
  firstIdAt,
  fitsCell,
  fitsErrorCode,
  type ReceiptFilter,
} from "./call_filter.ts";
// Reads an account's receipts in a time range, newest first, filtered and paged.

/** Calls searched for one page when few of them match a filter: well under a tenth of a second of reading. */
export const maxScanRows = 600;

/** Cost of a part of a search without a call, in calls: a few small reads. */
const emptyPartCost = 8;

/** Calls that an archive looks at for what one receipt costs here. */
const scannedPerCall = 40;

/** One step of a search: a call, or only the point that it has reached. */
export interface Step<Item> {
  readonly requestId: RequestId;
  readonly item?: Item;
  /** In calls, for the bound of a search. */
  readonly cost: number;
}

interface Bounds {
  /** Ids are smaller than this. */
  readonly top: RequestId;
  readonly bottom: RequestId;
}

/**
 * The ids around a range. Ids contain the time of arrival, while a receipt has the start of its call, which can be a
 * little later: so the range is widened, and {@linkcode matchesReceipt} decides.
 */
function boundsOf({ fromMs, untilMs, before }: Omit<ReceiptFilter, "accountId">): Bounds {
  const top = firstIdAt(untilMs + maxCallMs);
  return {
    top: before !== undefined && before < top ? before : top,
    bottom: firstIdAt(fromMs - maxCallMs),
  };
}

/** Filter for the columns of an archive; receipts have to fit the rest. */
function archiveFilter(filter: Partial<CallFilter>) {
  const { keyId, model, tag, status, error } = filter;
  const statuses = /^\d+$/.test(status ?? "")
    ? { statusFrom: Number(status), statusBefore: Number(status) + 1 }
    : status === "5xx"
    ? { statusFrom: 500 }
    : status === "ok"
    ? { statusBefore: 400 }
    : {};
  const onlyFailed = error !== undefined || asksForFailures(filter);
  return { keyId, model, onlyFailed, ...statuses, ...defined({ tag: tag && tagText(tag) }) };
}

/** Walks receipts, newest first. Those that cannot fit the filter may be passed over. */
async function* stepsOf(
  parts: AsyncGenerator<ReceiptsRead, void, void>,
  end: RequestId,
): AsyncGenerator<Step<Receipt>, void, void> {
  for await (const { receipts, reached, scanned } of parts) {
    for (const receipt of receipts) {
      yield { requestId: receipt.requestId, item: receipt, cost: 1 };
    }
    if (reached <= end) return;
    const cost = Math.round(scanned / scannedPerCall) + (receipts.length === 0 ? emptyPartCost : 0);
    yield { requestId: reached, cost };
  }
}

/** Walks the receipts around a range. */
async function* walkReceipts(
  kv: KeyValueStore,
  filter: CallFilter,
): AsyncGenerator<Step<Receipt>, void, void> {
  const { accountId } = filter;
  if (filter.status === "refused") return;
  const { top: before, bottom: from } = boundsOf(filter);
  // The tail is read first: what leaves it afterwards is in the index by the time that is read.
  const tail = await readTail(kv, accountId);
  const spans = new CallDays(kv, filter).spans({ from, before });
  const asked = { accountId, from, before, tail, spans, filter: archiveFilter(filter) };
  yield* stepsOf(newestReceipts(kv, asked), from);
}

/**
 * Yields every receipt of a range that matches the filter, newest first. For exports, which stream.
 */
export async function* scanReceipts(
  kv: KeyValueStore,
  filter: ReceiptFilter,
): AsyncGenerator<Receipt, void, void> {
  for await (const { item } of walkReceipts(kv, filter)) {
    if (item !== undefined && matchesReceipt(item, filter)) yield item;
  }
}

/** Whether a receipt fits a filter. */
function matchesReceipt(
  receipt: Receipt,
  filter: Omit<ReceiptFilter, "accountId">,
): boolean {
  return receipt.startedAtMs >= filter.fromMs && receipt.startedAtMs < filter.untilMs &&
    fitsCell(receipt, filter) && (filter.tag === undefined || hasTag(receipt.tags, filter.tag));
}

/** Items that one search found, and where it continues. */
export interface Found<Item> {
  readonly found: readonly Item[];
  /** The `before` that continues it; absent at the end. */
  readonly next: RequestId | undefined;
}

/**
 * Takes up to `count` items that fit. Looks at {@linkcode maxScanRows} calls at most: with a narrow filter a page may be
 * short and still have a next one.
 */
async function takeMatching<Item>(
  steps: AsyncGenerator<Step<Item>, void, void>,
  fits: (item: Item) => boolean,
  count: number,
): Promise<Found<Item>> {
  const found: Item[] = [];
  let looked = 0;
  let last: RequestId | undefined;
  for await (const { requestId, item, cost } of steps) {
    if (found.length === count || looked >= maxScanRows) return { found, next: last };
    looked += cost;
    last = requestId;
    if (item !== undefined && fits(item)) found.push(item);
  }
  return { found, next: undefined };
}

/** Reads up to `count` receipts that match, and the id to continue from. */
export async function takeReceipts(
  kv: KeyValueStore,
  filter: ReceiptFilter,
  count: number,
): Promise<{ receipts: readonly Receipt[]; next: RequestId | undefined }> {
  const { found, next } = await takeMatching(
    walkReceipts(kv, filter),
    (receipt) => matchesReceipt(receipt, filter),
    count,
  );
  return { receipts: found, next };
}

/** A call: answered or failed, with its receipt, or refused before a provider was asked. */
export type Call =
  | { readonly kind: "receipt"; readonly requestId: RequestId; readonly receipt: Receipt }
  | { readonly kind: "refused"; readonly requestId: RequestId; readonly refused: RefusedCall };

/** Makes a call of its receipt. */
function answeredCall(receipt: Receipt): Call {
  return { kind: "receipt", requestId: receipt.requestId, receipt };
}

/** Finds a call of any account by its id. */
export async function findCall(kv: KeyValueStore, requestId: RequestId): Promise<Call | undefined> {
  const receipt = await readReceipt(kv, requestId);
  if (receipt !== undefined) return answeredCall(receipt);
  const refused = await readRefusedCall(kv, requestId);
  return refused === undefined ? undefined : { kind: "refused", requestId, refused };
}

/** Caller of a call. */
export function callerOf(call: Call): Pick<RefusedCall, "accountId" | "keyId"> {
  const { accountId, keyId } = call.kind === "receipt" ? call.receipt : call.refused;
  return { accountId, keyId };
}

/**
 * Returns the error code of a call: of its refusal, or of its last attempt if all of them failed. `undefined` if there
 * was an answer.
 *
 * @example
 * ```ts
 * import { newId } from "../../../core/lib/ids/ids.ts";
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
    (error === undefined || fitsErrorCode(errorOf(call), error));
}

function matchesRefused(call: RefusedCall, filter: CallsOfAllFilter): boolean {
  return call.atMs >= filter.fromMs && call.atMs < filter.untilMs &&
    filter.tag === undefined && fitsCell({ keyId: call.keyId, model: call.model }, filter);
}

type CallSteps = AsyncGenerator<Step<Call>, void, void>;

async function* asCalls(steps: AsyncGenerator<Step<Receipt>, void, void>): CallSteps {
  for await (const { requestId, item, cost } of steps) {
    yield item === undefined ? { requestId, cost } : { requestId, item: answeredCall(item), cost };
  }
}

/** Refused calls that are read at once after others were passed over: the next may be passed over, too. */
const rowsAfterJump = 25;

/** Cost of passing over refused calls, in calls. */
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
    : newestFirst(asCalls(walkReceipts(kv, filter)), refused);
  return await takeCallPage(steps, (call) => matchesCall(call, filter), count);
}

/** The calls of all accounts to read. */
export type CallsOfAllFilter = Omit<CallFilter, "accountId">;

async function* allReceiptCalls(kv: KeyValueStore, filter: CallsOfAllFilter): CallSteps {
  const { top: before, bottom: from } = boundsOf(filter);
  const asked = { from, before, filter: archiveFilter(filter) };
  yield* asCalls(stepsOf(newestReceipts(kv, asked), from));
}

async function* allRefusedCalls(kv: KeyValueStore, filter: CallsOfAllFilter): CallSteps {
  for await (const refused of listAllRefusedCalls(kv, boundsOf(filter).top)) {
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
