import type { Style } from "../../wire/contract/contract.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";

/**
 * Whether a request ends with tool results, so that its answer continues a turn that has begun.
 *
 * @example
 * ```ts
 * import { continuesTurn } from "./turn_continuation.ts";
 * const result = { role: "tool", tool_call_id: "call_1", content: "5" };
 * if (!continuesTurn("chat", { messages: [result] })) throw new Error("not seen");
 * if (continuesTurn("chat", { messages: [{ role: "user", content: "5" }] })) throw new Error("a new turn");
 * ```
 */
export function continuesTurn(style: Style, body: OutlineObject): boolean {
  const list = body[style === "responses" ? "input" : style === "gemini" ? "contents" : "messages"];
  const last = Array.isArray(list) ? list.at(-1) : undefined;
  if (!isJsonObject(last)) return false;
  switch (style) {
    case "messages":
      return Array.isArray(last["content"]) && last["content"].some(isToolResult);
    case "chat":
      return last["role"] === "tool" || last["role"] === "function";
    case "responses":
      return typeof last["type"] === "string" && last["type"].endsWith("_output");
    case "gemini":
      return Array.isArray(last["parts"]) &&
        last["parts"].some((part) => isJsonObject(part) && isJsonObject(part["functionResponse"]));
  }
}

function isToolResult(block: Outline): boolean {
  return isJsonObject(block) && block["type"] === "tool_result";
}
