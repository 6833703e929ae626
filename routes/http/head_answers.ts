/** Answers to HEAD: what GET would say, without the body. */

/**
 * The request of which the server sends only the head of the answer. The runtime does the rest, and does it as
 * RFC 9110 section 9.3.2 wants: the length is that of the body that is left out, a stream has none and is cancelled.
 * Hono would drop the body first, and the answer would say that it is empty.
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
