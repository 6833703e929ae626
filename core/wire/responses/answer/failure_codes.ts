import type { GatewayError } from "../../../lib/errors/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";

/** Further codes of the vendor, which a provider of this style or of Chat may send. */
const vendorCodes: ReadonlySet<string> = new Set([
  "data_residency_mismatch",
  "bio_policy",
  "misalignment_policy_violation",
  "vector_store_timeout",
  "invalid_image",
  "invalid_image_format",
  "invalid_base64_image",
  "invalid_image_url",
  "image_too_large",
  "image_too_small",
  "image_parse_error",
  "image_content_policy_violation",
  "invalid_image_mode",
  "image_file_too_large",
  "unsupported_image_media_type",
  "empty_image_file",
  "failed_to_download_image",
  "image_file_not_found",
]);

/**
 * Returns the code of a failed response, by which agents compact, wait or give up. Codex ends its run at
 * `context_length_exceeded`, `invalid_prompt`, `insufficient_quota`, `server_is_overloaded` and `slow_down`, and repeats
 * the request at any other code. Temporary failures, including overload, are therefore `server_error`.
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../../lib/errors/errors.ts";
 * import { failureCode } from "./failure_codes.ts";
 * if (failureCode(new GatewayError("upstream_timeout", "Slow")) !== "server_error") throw new Error("wrong code");
 * ```
 */
export function failureCode(error: GatewayError): string {
  const { providerCode } = error;
  if (providerCode !== undefined && vendorCodes.has(providerCode)) return providerCode;
  return error.responsesCode;
}

/**
 * Writes the `error` member of a failed response. Codex reads the time to wait from the text of a rate limit.
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../../lib/errors/errors.ts";
 * import { failureOf } from "./failure_codes.ts";
 * const failure = failureOf(new GatewayError("rate_limit_exceeded", "Slow down", { retryAfterSeconds: 7 }));
 * if (failure["message"] !== "Slow down. Please try again in 7s.") throw new Error(String(failure["message"]));
 * ```
 */
export function failureOf(error: GatewayError): JsonObject {
  const { retryAfterSeconds, message } = error;
  const code = failureCode(error);
  const tellsWait = code !== "rate_limit_exceeded" || retryAfterSeconds === undefined ||
    /try again in/i.test(message);
  const wait = tellsWait ? "" : ` Please try again in ${retryAfterSeconds}s.`;
  const text = wait === "" || /[.!?]$/.test(message) ? message : `${message}.`;
  return { code, message: text + wait };
}
