/**
 * Makes the HTTP answers for errors. No other file does.
 *
 * - Folder `routes/http/`: what all HTTP parts share: callers, headers, queries, errors.
 * - In: requests in any state, and errors.
 * - Out: callers, checked parameters, answers for errors.
 * - Never: imports another folder of `routes/` than `routes/http/body/`.
 */
import {
  errorBody,
  type ErrorStyle,
  GatewayError,
  wireStatus,
} from "../../core/lib/errors/errors.ts";
import { Reply } from "../../core/net/http1/server/reply.ts";
import type { RequestId } from "../../core/lib/ids/ids.ts";
import { withCommonHeaders } from "./common_headers.ts";
import { answerHeaders } from "./own_headers.ts";

const encoder = new TextEncoder();

/** Any other exception than a {@linkcode GatewayError} is a defect, and its message is not shown. */
export function knownError(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : new GatewayError("internal_error", "Something went wrong inside the gateway");
}

/** Makes the answer for an error, in the form that {@linkcode knownError} gives it. */
export function errorReply(
  error: unknown,
  style: ErrorStyle,
  requestId: RequestId,
): Reply {
  const known = knownError(error);
  const headers: [string, string][] = [
    ["content-type", "application/json"],
    [answerHeaders.shouldRetry, String(known.retry)],
  ];
  if (known.retryAfterSeconds !== undefined) {
    headers.push(["retry-after", String(known.retryAfterSeconds)]);
  }
  const body = encoder.encode(JSON.stringify(errorBody(known, style, requestId)));
  return withCommonHeaders(new Reply(wireStatus(known, style), headers, body), requestId);
}

/** Makes the same answer as {@linkcode errorReply} in standard form. */
export function errorResponse(
  error: unknown,
  style: ErrorStyle,
  requestId: RequestId,
): Response {
  return errorReply(error, style, requestId).toResponse();
}
