/** Selects the members of a request that a Responses answer repeats, as at the vendor. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";

/** Members with a single short value. */
const repeated = [
  "max_output_tokens",
  "parallel_tool_calls",
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "temperature",
  "top_logprobs",
  "top_p",
  "user",
] as const;

/** Most characters of a repeated text, as for values of `metadata`. It is kept as long as the call lasts. */
const textChars = 512;
/** Most pairs of `metadata`, as at the vendor. */
const metadataPairs = 16;

/**
 * Returns the members of a request that its answer repeats. They are few and short, and none of them is a prompt.
 *
 * @example
 * ```ts
 * import { echoOf } from "./request_echo.ts";
 * const echo = echoOf({ model: "m", input: "Hi", user: "u", metadata: { a: "b" } });
 * if (JSON.stringify(echo) !== '{"user":"u","metadata":{"a":"b"}}') throw new Error(JSON.stringify(echo));
 * ```
 */
export function echoOf(body: JsonObject): JsonObject {
  const echo: JsonObject = {};
  for (const name of repeated) {
    const value = body[name];
    if (isShort(value)) echo[name] = value;
  }
  const { metadata } = body;
  if (isJsonObject(metadata)) {
    const pairs = Object.entries(metadata);
    const fits = pairs.length <= metadataPairs &&
      pairs.every(([key, value]) => isShort(key) && typeof value === "string" && isShort(value));
    if (fits) echo["metadata"] = metadata;
  }
  return echo;
}

function isShort(value: Json | undefined): value is string | number | boolean {
  return typeof value === "string"
    ? value.length <= textChars
    : typeof value === "number" || typeof value === "boolean";
}
