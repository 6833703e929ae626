/**
 * Says why a call with a receipt failed. Receipts keep codes and no messages, since a provider's message may repeat the
 * prompt; so the words are ours and follow from the code.
 */
import { type ErrorCode, errorTable } from "../../lib/errors/errors.ts";
import type { Receipt } from "./receipt.ts";

/** Our words for codes of the last attempt. `connection_lost`, `stopped` and `no_route` are no errors of the table. */
const messages = {
  upstream_timeout: "The provider did not answer in time",
  upstream_unreachable: "The provider could not be reached, or its answer could not be read",
  rate_limit_exceeded: "The provider was at its limit",
  overloaded: "The provider was overloaded",
  service_unavailable: "The provider was out of service",
  context_length_exceeded: "The request was too long for the model",
  content_policy_violation: "The provider refused the content",
  invalid_request: "The provider refused the request",
  model_not_found: "The provider does not serve this model",
  conversion_refused: "The request could not be put into the provider's style",
  mcp_server_failed:
    "An MCP server of the request failed, or the model failed after its tools had run",
  feature_unavailable: "No route with the requested feature was free",
  busy: "Too many connections were open",
  connection_lost: "The connection to the provider broke",
  stopped: "The call was stopped before there was an answer",
  no_route: "No route to a provider was free to take the call",
  maintenance: "The receipt was not confirmed in time, so the answer was withheld; it was free",
} as const satisfies Readonly<Record<string, string>>;

/** Our words for what ends a stream after output began. Other codes are errors that the provider sent in its stream. */
const endMessages = {
  call_timeout: "The call reached its bound of 15 minutes",
  upstream_timeout: "The provider stopped sending",
  upstream_unreachable: "The provider's answer broke off, or could not be read",
  insufficient_balance: "The balance was used up",
  spending_limit_reached: "The limit of the API key was reached",
  budget_exceeded: "A budget was used up",
  output_limit: "The provider sent more output than was asked for",
  access_ended: "The API key was revoked or had expired, or the account was blocked",
  shutdown: "The gateway was restarting",
  internal_error: "Something went wrong inside the gateway",
} as const satisfies Readonly<Record<string, string>>;

/** Codes of ends with words of ours. */
export type KnownStreamEnd = keyof typeof endMessages;

/** Reason that a receipt gives for a stream that is not whole: a bound or act of the gateway, or an error code. */
export type StreamEndCode = ErrorCode | KnownStreamEnd;

/** All codes of ends with words of ours. */
export const knownStreamEnds = Object.keys(endMessages) as readonly KnownStreamEnd[];

/** Codes with words of ours. */
export type FailureCode = keyof typeof messages;

/** All codes with words of ours. */
export const failureCodes = Object.keys(messages) as readonly FailureCode[];

/** Why a call failed. */
export interface CallFailure {
  /** As `error.type` of the wire. */
  readonly type: string;
  /** End of the last attempt. */
  readonly code: string;
  readonly message: string;
}

const typesByStatus: Readonly<Record<number, string>> = {
  408: "invalid_request_error",
  429: "rate_limit_error",
  503: "service_unavailable",
  504: "timeout_error",
  529: "overloaded_error",
};

function typeOf(code: string, status: number): string {
  if (Object.hasOwn(errorTable, code)) return errorTable[code as ErrorCode].type;
  // The status of a stream is that of its head, which was a success.
  const isCallers = status >= 400 && status < 500;
  return typesByStatus[status] ?? (isCallers ? "invalid_request_error" : "api_error");
}

/**
 * Returns the code of a failed call: of its last attempt, or `no_route` if there was none. `undefined` for a call that
 * was answered, if only in part.
 */
export function failureCodeOf(
  { outcome, attempts }: { readonly outcome: string } & Pick<Receipt, "attempts">,
): string | undefined {
  if (outcome === "failed") return attempts.at(-1)?.outcome ?? "no_route";
  return outcome === "withheld" ? "maintenance" : undefined;
}

/**
 * Explains a failed call; `undefined` for a call that was answered.
 *
 * @example
 * ```ts
 * import { failureOf } from "./call_failure.ts";
 * const attempts = [{ route: "a/m", outcome: "upstream_timeout", ms: 30_000 }];
 * const failure = failureOf({ outcome: "failed", status: 504, attempts });
 * if (failure?.type !== "timeout_error") throw new Error(failure?.type);
 * ```
 */
export function failureOf(
  receipt: Pick<Receipt, "outcome" | "attempts" | "status">,
): CallFailure | undefined {
  const code = failureCodeOf(receipt);
  if (code === undefined) return undefined;
  const known: Readonly<Record<string, string>> = messages;
  const message = Object.hasOwn(known, code) ? known[code] : undefined;
  return {
    type: typeOf(code, receipt.status),
    code,
    message: message ?? "The provider refused the call",
  };
}

/**
 * Explains what ended a stream that was not whole; `undefined` for any other call.
 *
 * @example
 * ```ts
 * import { streamEndOf } from "./call_failure.ts";
 * const end = streamEndOf({ endCode: "call_timeout" });
 * if (end?.message !== "The call reached its bound of 15 minutes") throw new Error(end?.message);
 * ```
 */
export function streamEndOf(
  { endCode: code }: Pick<Receipt, "endCode">,
): Pick<CallFailure, "code" | "message"> | undefined {
  if (code === undefined) return undefined;
  const known: Readonly<Record<string, string>> = endMessages;
  const message = Object.hasOwn(known, code) ? known[code] : undefined;
  return { code, message: message ?? "The provider ended its answer with an error" };
}
