/** Makes the HTTP answers for errors. No other file does. */
import { errorBody, type ErrorStyle, GatewayError, wireStatus } from "../../core/errors.ts";
import type { RequestId } from "../../core/lib/ids.ts";
import { withCommonHeaders } from "./common_headers.ts";
import { answerHeaders } from "./own_headers.ts";

/**
 * Makes the answer for an error. Any other exception than a {@linkcode GatewayError} is a defect, and its message is
 * not shown.
 */
export function errorResponse(
  error: unknown,
  style: ErrorStyle,
  requestId: RequestId,
): Response {
  const known = error instanceof GatewayError
    ? error
    : new GatewayError("internal_error", "Something went wrong inside the gateway");
  const headers: [string, string][] = [
    ["content-type", "application/json"],
    [answerHeaders.shouldRetry, String(known.retry)],
  ];
  if (known.retryAfterSeconds !== undefined) {
    headers.push(["retry-after", String(known.retryAfterSeconds)]);
  }
  const response = new Response(JSON.stringify(errorBody(known, style, requestId)), {
    status: wireStatus(known, style),
    headers,
  });
  return withCommonHeaders(response, requestId);
}
