/** Converts tool arguments between text (Chat, Responses) and object (Messages). */
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import type { JsonCount } from "../../lib/errors/json_bounds.ts";
import type { ToolCallBlock, ToolInput } from "../conversation/mod.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";

/**
 * Reads a call's arguments as an object. No arguments are an empty object. Anything that is not an object is wrapped, so
 * that an old turn never makes the whole conversation fail; `exact` is then `false`.
 *
 * @param count counts the parsed JSON, if it comes from a client
 *
 * @throws {GatewayError} `invalid_json` if there is too much of it, see {@linkcode JsonCount}
 *
 * @example
 * ```ts
 * import { argumentsObject } from "./tool_arguments.ts";
 * const { input, exact } = argumentsObject({ kind: "json_text", text: "" });
 * if (!exact || Object.keys(input).length > 0) throw new Error("no arguments are an empty object");
 * if (argumentsObject({ kind: "json_text", text: "{" }).exact) throw new Error("cut JSON is not exact");
 * ```
 */
export function argumentsObject(
  input: ToolInput,
  count?: JsonCount,
): { readonly input: JsonObject; readonly exact: boolean } {
  if (input.kind === "object") return { input: input.value, exact: true };
  if (input.kind === "text") return { input: { input: input.text }, exact: true };
  if (input.text.trim() === "") return { input: {}, exact: true };
  count?.addText(input.text);
  const value = tryParseExactly(input.text);
  if (isJsonObject(value)) return { input: value, exact: true };
  if (typeof value === "string") count?.addText(value);
  // Some servers encode the arguments twice.
  const twice = typeof value === "string" ? tryParseExactly(value) : undefined;
  if (isJsonObject(twice)) return { input: twice, exact: true };
  return { input: { _raw: input.text }, exact: false };
}

/**
 * Returns the arguments of a new answer as an object. What was cut off (output limit in the middle
 * of the JSON) is dropped member by member back to the last one that is whole.
 *
 * @example
 * ```ts
 * import { answerArguments } from "./tool_arguments.ts";
 * const input = answerArguments({ kind: "json_text", text: '{"a":1,"b":"cu' });
 * if (JSON.stringify(input) !== '{"a":1}') throw new Error(JSON.stringify(input));
 * ```
 */
export function answerArguments(input: ToolInput): JsonObject {
  const read = argumentsObject(input);
  if (read.exact || input.kind !== "json_text") return read.input;
  const value = tryParseExactly(input.text);
  if (value !== undefined) return read.input;
  return wholeMembers(input.text) ?? {};
}

/** Returns the object up to the last comma at its top level, if that part is JSON. */
function wholeMembers(text: string): JsonObject | undefined {
  let depth = 0;
  let inString = false;
  let lastComma = -1;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (char === "," && depth === 1) lastComma = i;
  }
  if (lastComma < 0) return undefined;
  const value = tryParseExactly(`${text.slice(0, lastComma)}}`);
  return isJsonObject(value) ? value : undefined;
}

/** Writes the arguments as a string; no arguments become an empty object. */
export function argumentsText(call: ToolCallBlock): string {
  if (call.input.kind === "object") return stringifyExactly(call.input.value);
  return call.input.text.trim() === "" ? "{}" : call.input.text;
}
