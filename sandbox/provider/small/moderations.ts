/** Answers `POST /moderations` in the sandbox: it flags what names a category, such as violence. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { hashHex } from "../../../core/lib/hash/short_hash.ts";
import { knownTriggers } from "../base/read_fields.ts";
import { jsonReply, type Reply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";

const categories = ["harassment", "hate", "illicit", "self-harm", "sexual", "violence"] as const;

function textOf(input: Json): string {
  if (typeof input === "string") return input;
  const text = isJsonObject(input) ? input["text"] : undefined;
  return typeof text === "string" ? text : "";
}

function resultOf(text: string): JsonObject {
  const isFlagged = (category: string) => text.toLowerCase().includes(category);
  const each = (value: (category: string) => Json): JsonObject =>
    Object.fromEntries(categories.map((category) => [category, value(category)]));
  return {
    flagged: categories.some(isFlagged),
    categories: each(isFlagged),
    category_scores: each((category) => isFlagged(category) ? 0.98 : 0.001),
    category_applied_input_types: each(() => ["text"]),
  };
}

/** Answers a request for moderation. @throws {SandboxRefusal} */
export function answerModerations(body: JsonObject): Reply {
  const { model, input } = body;
  if (typeof model !== "string") throw new SandboxRefusal("model: is required");
  if (typeof input !== "string" && !Array.isArray(input)) {
    throw new SandboxRefusal("input: is required");
  }
  const inputs = Array.isArray(input) ? input : [input];
  const { triggers } = knownTriggers(inputs.map(textOf).join("\n"));
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  if (triggers.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), triggers);
  // Parts are one input together, texts one each.
  const isParts = inputs.some(isJsonObject);
  const texts = isParts ? [inputs.map(textOf).join("\n")] : inputs.map(textOf);
  const results = triggers.empty ? [] : texts.map(resultOf);
  return jsonReply(200, { id: `modr-${hashHex(JSON.stringify(body))}`, model, results }, triggers);
}
