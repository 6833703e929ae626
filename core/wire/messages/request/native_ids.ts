/** Brings the ids of calls in a native Messages request into the form that its route takes. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { RouteCapabilities } from "../../contract/contract.ts";
import { resolveCapabilities } from "../../contract/capabilities.ts";
import { Warnings } from "../../contract/warnings.ts";
import { toolIdFor } from "../../tools/tool_preparation.ts";

/**
 * The beginning of ids that the style's own vendor refuses although servers of the style write them (Kimi:
 * `functions.Bash:0`), within the JSON of a request. Callers search the bytes for it first.
 */
export const dottedIdStart = '"functions.';

/**
 * Returns the messages with ids as the route takes them, and the paths of those that changed. They are legal ones at
 * the vendor, and the model's own at a server that takes any.
 *
 * @example
 * ```ts
 * import { withNativeIds } from "./native_ids.ts";
 * const messages = [{ role: "assistant", content: [{ type: "tool_use", id: "functions.f:0", name: "f", input: {} }] }];
 * const { changed } = withNativeIds(messages, {});
 * if (changed.join() !== "messages.0.content.0.id") throw new Error(changed.join());
 * if (withNativeIds(messages, { tool_id: "any" }).changed.length > 0) throw new Error("changed for a server that wrote it");
 * ```
 */
export function withNativeIds(
  messages: readonly Json[],
  route: RouteCapabilities,
): { readonly messages: readonly Json[]; readonly changed: readonly string[] } {
  const rule = resolveCapabilities("messages", route).tool_id;
  const warnings = new Warnings();
  const mapped = (block: JsonObject, name: string, path: string): JsonObject => {
    const id = block[name];
    if (typeof id !== "string") return block;
    // What is legal stays, but for a spelling of the gateway's at a server that takes the model's own.
    const legal = rule === "any" || !/^[a-zA-Z0-9_-]+$/.test(id) ? toolIdFor(rule, id) : id;
    if (legal === id) return block;
    warnings.add(`${path}.${name}`);
    return { ...block, [name]: legal };
  };
  const written = messages.map((message, i) => {
    const content = isJsonObject(message) ? message["content"] : undefined;
    if (!isJsonObject(message) || !Array.isArray(content)) return message;
    const blocks = content.map((block, j) => {
      if (!isJsonObject(block)) return block;
      const path = `messages.${i}.content.${j}`;
      if (block["type"] === "tool_use") return mapped(block, "id", path);
      return block["type"] === "tool_result" ? mapped(block, "tool_use_id", path) : block;
    });
    return { ...message, content: blocks };
  });
  return { messages: written, changed: warnings.list() };
}
