/**
 * Converts results of moderation between Chat, which writes a list of results, and Responses, which writes the result.
 * A failed moderation is an error in both.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { Moderation } from "../conversation/mod.ts";
import { defined } from "../../lib/base/defined.ts";

/** Reads the member `moderation` of an answer of either style, as an object to spread. */
export function readModeration(value: Json | undefined): { readonly moderation?: Moderation } {
  if (!isJsonObject(value)) return {};
  const [input, output] = [single(value["input"]), single(value["output"])];
  return input === undefined || output === undefined ? {} : { moderation: { input, output } };
}

/** Returns the first result: one answer has one result. */
function single(value: Json | undefined): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  const { results } = value;
  return Array.isArray(results) ? results.find(isJsonObject) : value;
}

/**
 * Writes the member in the form of Chat.
 *
 * @example
 * ```ts
 * import { chatModeration, readModeration } from "./moderation.ts";
 * const result = { type: "moderation_result", model: "m", flagged: false };
 * const error = { type: "error", code: "c", message: "m" };
 * const { moderation } = readModeration({ input: result, output: error });
 * if (moderation === undefined) throw new Error("not read");
 * const chat = chatModeration(moderation);
 * if (JSON.stringify(readModeration(chat).moderation) !== JSON.stringify(moderation)) throw new Error("changed");
 * ```
 */
export function chatModeration({ input, output }: Moderation): JsonObject {
  return { input: listed(input), output: listed(output) };
}

function listed(result: JsonObject): JsonObject {
  if (result["type"] !== "moderation_result") return result;
  const { model } = result;
  return {
    type: "moderation_results",
    ...defined({ model }),
    results: [result],
  };
}

/** Writes the member in the form of Responses. */
export function responsesModeration({ input, output }: Moderation): JsonObject {
  return { input, output };
}
