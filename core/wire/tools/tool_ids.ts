/**
 * Maps tool call ids from one style to another.
 *
 * An id that is legal at the target stays, so that a client that changes style within a conversation still finds its
 * calls. Otherwise the new id is a pure function of the old one: calls and results are mapped alike in every request,
 * without state.
 */
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { hashBase62, hashHex } from "../../lib/hash/short_hash.ts";

/**
 * Maps an id to the form a route takes.
 *
 * @example
 * ```ts
 * import { toolIdFor } from "./tool_ids.ts";
 * if (toolIdFor("word", "call_1") !== "call_1") throw new Error("legal ids must pass");
 * if (toolIdFor("word", "get_x:0") === toolIdFor("word", "get_x_0")) throw new Error("two calls became one");
 * ```
 */
export function toolIdFor(rule: ResolvedCapabilities["tool_id"], id: string): string {
  switch (rule) {
    case "any":
      return id;
    case "max40":
      return id.length <= 40 ? id : `call_${hashHex(id)}`;
    case "alnum9":
      return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashBase62(id, 9);
    case "word":
      return wordId(id);
    case "word64":
      return wordId(id.length <= 64 ? id : `${id.slice(0, 31)}_${hashHex(id)}`);
  }
}

/** Maps an id to `^[a-zA-Z0-9_-]+$`, as Messages takes it. A changed id ends in a hash of the original, to stay unique. */
export function wordId(id: string): string {
  if (/^[a-zA-Z0-9_-]+$/.test(id)) return id;
  if (id === "") return `toolu_${hashHex("")}`;
  return `${id.slice(0, 40).replace(/[^a-zA-Z0-9_-]/g, "_")}_${hashHex(id).slice(0, 8)}`;
}
