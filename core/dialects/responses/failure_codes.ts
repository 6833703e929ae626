import type { ErrorCode, GatewayError } from "../../errors.ts";

/** The vendor's words in `response.error.code`; agents compact, wait or give up by them. */
const codes: Partial<Record<ErrorCode, string>> = {
  context_length_exceeded: "context_length_exceeded",
  rate_limit_exceeded: "rate_limit_exceeded",
  overloaded: "server_is_overloaded",
  invalid_request: "invalid_prompt",
  content_policy_violation: "invalid_prompt",
  insufficient_balance: "insufficient_quota",
};

/**
 * The code of a failed response.
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../errors.ts";
 * import { failureCode } from "./failure_codes.ts";
 * if (failureCode(new GatewayError("upstream_timeout", "Slow")) !== "server_error") throw new Error("wrong code");
 * ```
 */
export function failureCode(error: GatewayError): string {
  return codes[error.code] ?? "server_error";
}
