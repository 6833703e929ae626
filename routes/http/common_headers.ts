/** The headers that every answer has: of the API, of pages, redirects, webhooks and health checks, and every error. */
import type { RequestId } from "../../core/lib/ids/ids.ts";
import { answerHeaders } from "./own_headers.ts";

/** An answer whose headers can be read and changed: a `Response`, or a `Reply`. */
export interface WithHeaders {
  readonly headers: Pick<Headers, "get" | "has" | "set" | "append">;
}

/**
 * Writes the common headers; each is added to every kind of answer.
 *
 * `nosniff`: an answer repeats texts of callers, such as the name of an unknown model, and a browser that guesses its
 * type could run them as a page.
 */
function commonHeaders(requestId: RequestId): readonly [string, string][] {
  return [
    [answerHeaders.requestId, requestId],
    [answerHeaders.messagesRequestId, requestId],
    ["x-content-type-options", "nosniff"],
  ];
}

/**
 * Adds the common headers to an answer. A header that the answer already has keeps its value: a replayed answer has the
 * id of the first call.
 *
 * Endpoints whose bodies, receipts or log lines name the request call this with the id that they use; the server calls it
 * for every other answer (`completerOf` in `routes/server/listen/listen.ts`).
 */
export function withCommonHeaders<Answer extends WithHeaders>(
  response: Answer,
  requestId: RequestId,
): Answer {
  const { headers } = response;
  for (const [name, value] of commonHeaders(requestId)) {
    if (!headers.has(name)) headers.append(name, value);
  }
  return response;
}
