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
import { answerHeaders, withCommonHeaders } from "./own_headers.ts";

// Answers HEAD requests as GET, without the body.

/**
 * Makes the GET request that answers a HEAD request. The runtime then sends only the head, as RFC 9110 section 9.3.2
 * requires: the length is that of the omitted body, and a stream has none and is cancelled. Hono would drop the body
 * first, and the answer would declare it empty.
 *
 * @example
 * ```ts
 * import { headAsGet } from "./error_response.ts";
 * const head = new Request("https://gateway.example/v1/models", { method: "HEAD", headers: { a: "b" } });
 * const asked = headAsGet(head);
 * if (asked.method !== "GET" || asked.headers.get("a") !== "b") throw new Error("another request");
 * if (headAsGet(asked) !== asked) throw new Error("changed");
 * ```
 */
export function headAsGet(request: Request): Request {
  if (request.method !== "HEAD") return request;
  const { url, headers, signal } = request;
  return new Request(url, { headers, signal });
}

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
