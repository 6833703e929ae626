/** How many tokens a prompt can be, from its bytes alone: for the reservation, not for the bill. */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { limits } from "../limits.ts";

/**
 * A picture is billed by what it shows, not by its base64; vendors stay below this. Only parts that say they are
 * pictures get this rule: documents may hold a book, and a string that merely looks like base64 may be text.
 */
const tokensPerImage = 6_000;
const imagePartTypes: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"]);

function countBound(value: Json | undefined): number {
  if (typeof value === "string") return value.length * 3; // a UTF-16 unit has at most 3 bytes of UTF-8
  if (Array.isArray(value)) {
    let bound = 0;
    for (const item of value) bound += countBound(item);
    return bound;
  }
  if (!isJsonObject(value)) return 4;
  if (imagePartTypes.has(value["type"])) return tokensPerImage;
  let bound = 0;
  for (const [name, item] of Object.entries(value)) bound += name.length + countBound(item);
  return bound;
}

/**
 * An upper bound of the input tokens of a request: a token has at least one byte, a picture counts as
 * `tokensPerImage`, and nothing is larger than the model's context.
 *
 * Short bodies are bounded by their length alone; long ones are looked at, since pictures would reserve a fortune.
 *
 * @example
 * ```ts
 * import { inputTokensBound } from "./input_bound.ts";
 * if (inputTokensBound({ model: "m" }, 13, 1_000_000) !== 13) throw new Error("short bodies count by length");
 * ```
 */
export function inputTokensBound(
  body: JsonObject,
  bodyBytes: number,
  contextWindow: number,
): number {
  const bound = bodyBytes > limits.exactBoundBodyBytes
    ? Math.min(bodyBytes, countBound(body))
    : bodyBytes;
  return Math.min(bound, contextWindow);
}
