/** Answers `POST /embeddings` in the sandbox: texts with the same words get vectors that are close to each other. */
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";
import { encodeBase64 } from "../../../core/lib/runtime/mod.ts";
import { hashHex } from "../../../core/lib/hash/short_hash.ts";
import { knownTriggers, tokenBound } from "../base/read_fields.ts";
import { reported } from "../base/reported_usage.ts";
import { jsonReply, type Reply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { countTokens } from "../base/tokens.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";

const defaultDimensions = 256;
/** As many as the largest model of a vendor has. */
const maxDimensions = 3_072;

const isTokens = (value: Json | undefined): value is number[] =>
  Array.isArray(value) && value.every((token) => typeof token === "number");

function inputsOf(input: Json | undefined): readonly Json[] {
  if (typeof input === "string" || (isTokens(input) && input.length > 0)) return [input];
  if (Array.isArray(input) && input.length > 0) return input;
  throw new SandboxRefusal("input: is required");
}

function wordsOf(input: Json): string[] {
  if (typeof input === "string") {
    return input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [input];
  }
  if (isTokens(input)) return input.map(String);
  throw new SandboxRefusal("input: must be texts or lists of tokens");
}

/** Makes a vector of length 1: each word adds to one dimension. */
function vectorOf(words: readonly string[], dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of words) {
    const place = Number.parseInt(hashHex(word).slice(0, 8), 16) % dimensions;
    vector[place] = vector[place]! + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

function encoded(vector: Float32Array, format: Json | undefined): Json {
  if (format === "base64") return encodeBase64(new Uint8Array(vector.buffer));
  return [...vector].map((value) => Number(value.toFixed(7)));
}

/** Answers an embedding request. @throws {SandboxRefusal} */
export function answerEmbeddings(body: JsonObject): Reply {
  if (typeof body["model"] !== "string") throw new SandboxRefusal("model: is required");
  const inputs = inputsOf(body["input"]);
  const dimensions = tokenBound(body, "dimensions", 1) ?? defaultDimensions;
  if (dimensions > maxDimensions) {
    throw new SandboxRefusal(`dimensions: must be at most ${maxDimensions}`);
  }
  const texts = inputs.filter((input) => typeof input === "string");
  const { triggers } = knownTriggers(texts.join("\n"));
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  if (triggers.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), triggers);
  const data = inputs.map((input, index): JsonObject => ({
    object: "embedding",
    index,
    embedding: encoded(vectorOf(wordsOf(input), dimensions), body["encoding_format"]),
  }));
  const tokens = reported(
    inputs.reduce<number>(
      (sum, input) =>
        sum + (typeof input === "string" ? countTokens(input) : wordsOf(input).length),
      0,
    ),
    triggers,
  );
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return jsonReply(200, {
    object: "list",
    data: triggers.empty ? [] : data,
    model: body["model"],
    ...(triggers.usage !== "none" && { usage }),
  }, triggers);
}
