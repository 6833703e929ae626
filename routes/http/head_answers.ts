/** Answers HEAD requests as GET, without the body. */

/**
 * Makes the GET request that answers a HEAD request. The runtime then sends only the head, as RFC 9110 section 9.3.2
 * requires: the length is that of the omitted body, and a stream has none and is cancelled. Hono would drop the body
 * first, and the answer would declare it empty.
 *
 * @example
 * ```ts
 * import { headAsGet } from "./head_answers.ts";
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
