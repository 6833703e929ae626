/** Filter of a search for calls: by whom, when, with which key and model, and how they ended. */
import { type AccountId, parseId, type RequestId } from "../../../core/lib/ids/ids.ts";
import type { CallTag } from "../../../core/billing/usage/call_tags.ts";
import { type ErrorCode, errorTable } from "../../../core/lib/errors/errors.ts";
import type { FailureCode } from "../../../core/billing/usage/call_failure.ts";
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

/** Endings of calls. */
export interface ErrorFilter {
  /** `ok`, `error`, `refused` or `5xx`, or a status such as `402`. */
  readonly status?: string | undefined;
  /** An error code, or `family:` and one of {@linkcode errorFamilies}. */
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

/** Families of errors, for those who look for a cause and know no code. */
export const errorFamilies = [
  "request",
  "access",
  "money",
  "limits",
  "provider",
  "gateway",
] as const;

/** One of {@linkcode errorFamilies}. */
export type ErrorFamily = typeof errorFamilies[number];

/** Families by the type that clients get. */
const familiesOfTypes: Readonly<Record<string, ErrorFamily>> = {
  invalid_request_error: "request",
  not_found_error: "request",
  request_too_large: "request",
  authentication_error: "access",
  permission_error: "access",
  insufficient_balance: "money",
  rate_limit_error: "limits",
};

/** Codes of what the gateway itself did or could not do; what is left is of a provider. */
const gatewayCodes: ReadonlySet<string> = new Set<ErrorCode | FailureCode>([
  "internal_error",
  "maintenance",
  "busy",
  "stopped",
]);

/**
 * Names the family of an error code.
 *
 * @example
 * ```ts
 * import { errorFamilyOf } from "./call_filter.ts";
 * if (errorFamilyOf("budget_exceeded") !== "money") throw new Error("a budget is about money");
 * if (errorFamilyOf("upstream_timeout") !== "provider") throw new Error("a provider was late");
 * ```
 */
export function errorFamilyOf(code: string): ErrorFamily {
  if (gatewayCodes.has(code)) return "gateway";
  const type = Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode].type : "";
  return familiesOfTypes[type] ?? "provider";
}

/** Writes the filter for a family. */
export function familyFilter(family: ErrorFamily): string {
  return `family:${family}`;
}

/** Whether an error code is what is asked for, by itself or by its family. */
export function fitsErrorCode(code: string | undefined, asked: string): boolean {
  return code !== undefined && (code === asked || familyFilter(errorFamilyOf(code)) === asked);
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
  return fitsStatus && (error === undefined || fitsErrorCode(code, error));
}

/** Whether a call of an hour of receipts may fit, where key and model do. */
export function mayFitHour({ calls, failed, errors }: HourSum, filter: ErrorFilter): boolean {
  if (filter.status === "refused") return false;
  if (!asksForFailures(filter)) return filter.status === undefined ? calls > 0 : calls > failed;
  for (const kind of errors.keys()) if (fitsErrorKind(kind, filter)) return true;
  return false;
}
