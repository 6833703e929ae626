/** Answers to HEAD: headers only. */
import type { MiddlewareHandler } from "hono";

/**
 * Lets go of the body of an answer to HEAD. Hono serves HEAD with the handler of GET and drops the body, which would
 * leave whatever feeds a stream (a download, a call in flight) waiting for a reader that never comes.
 *
 * Belongs in front of everything else of an app.
 *
 * @example
 * ```ts
 * import { Hono } from "hono";
 * import { cancelBodyOfHead } from "./head_answers.ts";
 * let cancelled = false;
 * const app = new Hono().use(cancelBodyOfHead);
 * app.get("/", (c) => c.body(new ReadableStream({ cancel: () => void (cancelled = true) })));
 * await app.request("/", { method: "HEAD" });
 * if (!cancelled) throw new Error("nobody told the stream");
 * ```
 */
export const cancelBodyOfHead: MiddlewareHandler = async (c, next) => {
  await next();
  // A body that fails while it is given up is nobody's any more.
  if (c.req.method === "HEAD") await c.res.body?.cancel().catch(() => {});
};
