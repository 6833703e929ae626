/** What a search for calls asks for: by whom, when, with which key and model, and how they ended. */
import { type AccountId, parseId, type RequestId } from "../../../core/lib/ids/ids.ts";
import type { CallTag } from "../../../core/billing/usage/call_tags.ts";
import type { HourSum } from "../../../kv/money/receipts/hour_sums.ts";
import { invariant } from "../../../core/lib/base/assert.ts";

// Bounds of request ids by time: ids begin with their time.

/** Returns the smallest id that a request of this moment can have. */
export function firstIdAt(atMs: number): RequestId {
  const id = parseId("request", `req_${Math.max(0, atMs).toString(36).padStart(9, "0")}`);
  invariant(id !== undefined, "an id is made of a time");
  return id;
}

/** The receipts to read. */
export interface ReceiptFilter {
  readonly accountId: AccountId;
  /** First moment. */
  readonly fromMs: number;
  /** First moment after the range. */
  readonly untilMs: number;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Only calls with this tag; a refused call has none. */
  readonly tag?: CallTag | undefined;
  /** Continues with the receipts older than this one. */
  readonly before?: RequestId | undefined;
}

/** How the calls ended. */
export interface ErrorFilter {
  /** `ok`, `error`, `refused` or `5xx`, or a status such as `402`. */
  readonly status?: string | undefined;
  /** An error code. */
  readonly error?: string | undefined;
}

/** The calls to read. */
export interface CallFilter extends ReceiptFilter, ErrorFilter {}

/** Whether a key and a model are those that are asked for. */
export function fitsCell(
  cell: { readonly keyId: string; readonly model: string | undefined },
  { keyId, model }: Pick<ReceiptFilter, "keyId" | "model">,
): boolean {
  return (keyId === undefined || cell.keyId === keyId) &&
    (model === undefined || cell.model === model);
}

/** Whether only failed and refused calls can fit. */
export function asksForFailures({ status, error }: ErrorFilter): boolean {
  return error !== undefined || status === "error" || status === "refused" ||
    status === "5xx" || (status !== undefined && Number(status) >= 400);
}

/** Whether most calls of an account do not fit, so that hours without any are worth passing over. */
export function isSelective(filter: CallFilter): boolean {
  return filter.keyId !== undefined || filter.model !== undefined || asksForFailures(filter);
}

/** Whether errors of a kind, as sums by hour name it, may fit. */
export function fitsErrorKind(kind: string, { status, error }: ErrorFilter): boolean {
  const space = kind.indexOf(" ");
  const [seen, code] = [kind.slice(0, space), kind.slice(space + 1)];
  if (code === "other" && seen === "0") return true;
  const fitsStatus = status === undefined || status === "error" || status === "refused" ||
    (status === "5xx" ? Number(seen) >= 500 : seen === status);
  return fitsStatus && (error === undefined || error === code);
}

/** Whether a call of an hour of receipts may fit, where key and model do. */
export function mayFitHour({ calls, failed, errors }: HourSum, filter: ErrorFilter): boolean {
  if (filter.status === "refused") return false;
  if (!asksForFailures(filter)) return filter.status === undefined ? calls > 0 : calls > failed;
  for (const kind of errors.keys()) if (fitsErrorKind(kind, filter)) return true;
  return false;
}
