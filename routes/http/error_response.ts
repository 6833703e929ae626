/** The one place that turns errors into HTTP answers. */
import { errorBody, type ErrorStyle, GatewayError, wireStatus } from "../../core/errors.ts";
import type { RequestId } from "../../core/lib/ids.ts";
import { withCommonHeaders } from "./common_headers.ts";
import { answerHeaders } from "./own_headers.ts";

/**
 * Makes the answer for an error. Anything that is no {@linkcode GatewayError} is a bug: the client learns nothing of it.
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
