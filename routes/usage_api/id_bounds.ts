/** Bounds of request ids by time: ids begin with their time. */
import { invariant } from "../../core/lib/base/assert.ts";
import { parseId, type RequestId } from "../../core/lib/ids/ids.ts";

/** Returns the smallest id that a request of this moment can have. */
export function firstIdAt(atMs: number): RequestId {
  const id = parseId("request", `req_${Math.max(0, atMs).toString(36).padStart(9, "0")}`);
  invariant(id !== undefined, "an id is made of a time");
  return id;
}
