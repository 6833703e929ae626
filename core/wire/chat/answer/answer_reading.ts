import { count, orNull, type Written, writtenSchema } from "../../../lib/json/schemas.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import {
  partsWithin,
  type ReportedUsage,
  type TokenUsage,
} from "../../../billing/tokens/token_bounds.ts";
import type { AnswerReading } from "../../contract/contract.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { answerFailure } from "../../stream/answer_gate.ts";
import { pictureOutputBytes } from "../../fields/pictures.ts";
import {
  absurdReport,
  enterReport,
  isPlausible,
  noReport,
  readCount,
  readParts,
  textBytes,
  type UsageReport,
} from "../../stream/reading.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_fields.ts";

/**
 * Finds the error of MiniMax in an answer without choices; `undefined` if it has none.
 *
 * @example
 * ```ts
 * import { readBaseResp } from "./answer_reading.ts";
 * const base_resp = { status_code: 1002, status_msg: "rate limit" };
 * if (readBaseResp({ choices: null, base_resp })?.["base_resp"] !== base_resp) throw new Error("not found");
 * if (readBaseResp({ choices: null, base_resp: { status_code: 0 } }) !== undefined) throw new Error("no error");
 * ```
 */
export function readBaseResp(body: JsonObject): JsonObject | undefined {
  const { base_resp: said, choices } = body;
  if (!isJsonObject(said) || (Array.isArray(choices) && choices.length > 0)) return undefined;
  const { status_code: number } = said;
  return typeof number === "number" && number !== 0 ? { base_resp: said } : undefined;
}

// Tells from a Chat answer whether its provider searched: few servers of this style count their searches.

/** Whether `annotations` of a message or a delta cite a page of the web. */
export function hasSources(annotations: Json | undefined): boolean {
  return Array.isArray(annotations) &&
    annotations.some((one) => isJsonObject(one) && one["type"] === "url_citation");
}

/**
 * Reads a `usage` object of the Chat style into buckets.
 *
 * `prompt_tokens` includes cached and cache-written tokens, and some vendors count a token as both: each is clamped to
 * the rest of the prompt. `completion_tokens` includes reasoning, except at vendors whose total shows that they leave it
 * out; then the rest of the total is output, unless it is audio input. Such output is kept apart from explicit counts,
 * and an impossible total is ignored. If only one of prompt and completion is present, the other is 0.
 *
 * @example
 * ```ts
 * import { readChatUsage } from "./answer_reading.ts";
 * const report = readChatUsage({
 *   prompt_tokens: 213,
 *   completion_tokens: 2,
 *   total_tokens: 471,
 *   completion_tokens_details: { reasoning_tokens: 256 },
 * });
 * if (report.kind !== "counts" || report.usage.output !== 258) throw new Error("reasoning was lost");
 * ```
 */
export function readChatUsage(usage: Json | undefined): UsageReport {
  if (usage === undefined || usage === null) return noReport;
  if (!isJsonObject(usage)) return absurdReport;
  const prompt = readCount(usage["prompt_tokens"]);
  const said = readCount(usage["completion_tokens"]);
  const total = readCount(usage["total_tokens"]);
  // A total alone does not show how it divides.
  if (prompt === undefined && said === undefined) {
    return Number.isNaN(total) ? absurdReport : noReport;
  }
  const promptDetails = objectOf(usage["prompt_tokens_details"]);
  const completionDetails = objectOf(usage["completion_tokens_details"]);
  const reasoningSaid = readCount(completionDetails["reasoning_tokens"]) ??
    readCount(usage["reasoning_tokens"]) ?? 0;
  const cachedSaid = readCount(promptDetails["cached_tokens"]) ??
    readCount(usage["prompt_cache_hit_tokens"]) ?? readCount(usage["cached_tokens"]) ??
    readCount(usage["num_cached_tokens"]) ?? 0;
  const writtenSaid = readCount(promptDetails["cache_write_tokens"]) ??
    readCount(promptDetails["cache_creation_input_tokens"]) ?? 0;
  const whole = prompt ?? Math.max(0, (total ?? 0) - (said ?? 0));
  const cacheRead = Math.min(cachedSaid, whole);
  const cacheWrite = Math.min(writtenSaid, whole - cacheRead);
  const unsaid = unsaidOutput(usage, promptDetails, {
    prompt: whole,
    completion: said ?? 0,
    reasoning: reasoningSaid,
    total: total ?? 0,
  });
  const output = (said ?? 0) + unsaid;
  const parts = readParts(promptDetails, completionDetails);
  const input = whole - cacheRead - cacheWrite;
  const outright = {
    input,
    ...partsWithin(parts, { input, output: said ?? 0 }),
    cacheRead,
    cacheWrite,
    output: said ?? 0,
    reasoning: Math.min(reasoningSaid, said ?? 0),
  };
  const counts: ReportedUsage = {
    ...outright,
    ...partsWithin(parts, { input, output }),
    output,
    reasoning: Math.min(Math.max(reasoningSaid, unsaid), output),
    ...(unsaid > 0 && { said: outright }),
    ...(Number.isNaN(total) && { partlyAbsurd: true }),
  };
  return isPlausible(counts) ? { kind: "counts", usage: counts } : absurdReport;
}

interface Said {
  readonly prompt: number;
  readonly completion: number;
  readonly reasoning: number;
  readonly total: number;
}

/** Returns the output tokens that only the total shows. */
function unsaidOutput(usage: JsonObject, promptDetails: JsonObject, said: Said): number {
  const rest = said.total - said.prompt - said.completion;
  if (!(rest > 0)) return 0;
  if (rest === said.reasoning) return rest;
  const audio = readCount(promptDetails["audio_tokens"]) ?? 0;
  const seconds = usage["prompt_audio_seconds"];
  const hasAudio = audio !== 0 || (typeof seconds === "number" && seconds > 0);
  return hasAudio ? 0 : rest;
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

// Writes token buckets as a Chat `usage` object.
//
// See docs/internals/WIRE_FORMATS.md#usage.

const promptMembers = { cached_tokens: count, cache_write_tokens: count, audio_tokens: count };
const completionMembers = {
  reasoning_tokens: count,
  audio_tokens: count,
  accepted_prediction_tokens: count,
  rejected_prediction_tokens: count,
};

/** The members of `usage`. */
export const chatUsageMembers = {
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: orNull(writtenSchema("Parts of the prompt.", promptMembers, [])),
  completion_tokens_details: orNull(
    writtenSchema("Parts of the completion.", completionMembers, []),
  ),
};

/** Writes usage in the counting of Chat: cached tokens are part of the prompt, reasoning of the completion. */
export function writeChatUsage(usage: TokenUsage): Written<typeof chatUsageMembers> {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  const promptDetails: Written<typeof promptMembers> = {
    cached_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    audio_tokens: usage.inputAudio ?? 0,
  };
  const completionDetails: Written<typeof completionMembers> = {
    reasoning_tokens: usage.reasoning,
    audio_tokens: usage.outputAudio ?? 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  };
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: promptDetails,
    completion_tokens_details: completionDetails,
  };
}

/** Reads a whole answer of the Chat Completions style: all its choices. */
export function readChatAnswer(body: JsonObject): AnswerReading {
  const counts: { usage: ReportedUsage | undefined; usageRejected: boolean } = {
    usage: undefined,
    usageRejected: false,
  };
  const groq = body["x_groq"];
  const report = readChatUsage(body["usage"]);
  const isElsewhere = report.kind === "none" && isJsonObject(groq);
  enterReport(counts, isElsewhere ? readChatUsage(groq["usage"]) : report);
  const toolUses = new ToolUseCount(false);
  countReportedUses(toolUses, body["usage"]);
  let empty = true;
  let outputBytes = 0;
  let stopReason: string | undefined;
  const choices = body["choices"];
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isJsonObject(choice)) continue;
    const reason = choice["finish_reason"];
    if (typeof reason === "string" && reason !== "") stopReason ??= reason;
    // Azure leaves the message out when its filter stopped the answer.
    const message = choice["message"];
    if (!isJsonObject(message)) continue;
    const { isOutput, bytes } = readChatMessage(message);
    if (hasSources(message["annotations"])) toolUses.reported("web_search", 1);
    if (isOutput) empty = false;
    outputBytes += bytes;
  }
  const failed = isError(body) ? body : readBaseResp(body) ?? failedChoice(choices);
  const reasons = Array.isArray(choices)
    ? choices.map((choice) => isJsonObject(choice) ? choice["finish_reason"] : undefined)
    : [];
  return {
    ...counts,
    toolUses: toolUses.uses,
    ...readTier(body["service_tier"]),
    empty,
    outputBytes,
    stopReason,
    error: failed === undefined
      ? answerFailure("chat", body, { reasons, hasOutput: !empty, usage: counts.usage })
      : readProviderError(failed),
  };
}

/** Reads the service tier of an answer, as an object to spread; some servers send an empty string for none. */
export function readTier(tier: Json | undefined): { readonly serviceTier?: string } {
  return typeof tier === "string" && tier !== "" ? { serviceTier: tier } : {};
}

/**
 * Measures a message or a delta: whether a client can use it, and its bytes of text, reasoning and tool arguments.
 */
function readChatMessage(message: JsonObject): { isOutput: boolean; bytes: number } {
  // Some send the same reasoning under both names.
  let bytes = Math.max(textBytes(message["reasoning_content"]), textBytes(message["reasoning"])) +
    contentBytes(message["content"]) + textBytes(message["refusal"]);
  const { images } = message;
  if (Array.isArray(images)) bytes += images.length * pictureOutputBytes;
  let isOutput = bytes > 0 || hasUnknownPart(message["content"]);
  // Calls that no tool can answer are none.
  for (const name of ["tool_calls", "function_call", "audio"]) {
    const calls = readChatCalls(message[name]);
    if (name === "audio" ? calls.count > 0 : calls.isNamed) isOutput = true;
    bytes += calls.bytes;
  }
  return { isOutput, bytes };
}

/** Measures `tool_calls`, a legacy `function_call` or `audio`: how many there are and the bytes of their arguments. */
export function readChatCalls(
  value: Json | undefined,
): { readonly count: number; readonly isNamed: boolean; readonly bytes: number } {
  let count = 0;
  let isNamed = false;
  let bytes = 0;
  for (const call of Array.isArray(value) ? value : [value]) {
    if (!isJsonObject(call) || isZeroCall(call)) continue;
    count++;
    const body = call["function"] ?? call["custom"] ?? call;
    if (!isJsonObject(body)) continue;
    isNamed ||= typeof body["name"] === "string" && body["name"] !== "";
    bytes += argumentBytes(body["arguments"]) + textBytes(body["input"]) +
      textBytes(body["transcript"]);
  }
  return { count, isNamed, bytes };
}

/**
 * Whether a call is the empty one that some servers send with an answer without calls: `{"name":"","arguments":""}`. It
 * counts neither as a call nor as output.
 */
export function isZeroCall(call: JsonObject): boolean {
  const body = call["function"] ?? call["custom"] ?? call;
  return isJsonObject(body) && body["name"] === "" && !call["id"] && !body["arguments"] &&
    !body["input"];
}

/** Types of parts that are read, or say nothing of their own. */
const knownParts: ReadonlySet<string> = new Set([
  "",
  "text",
  "output_text",
  "refusal",
  "thinking",
  "image_url",
  // Sources of the text, at Mistral.
  "reference",
]);

/** Whether content has a part of a type that only its client may know. */
export function hasUnknownPart(content: Json | undefined): boolean {
  return Array.isArray(content) &&
    content.some((part) =>
      isJsonObject(part) && typeof part["type"] === "string" && !knownParts.has(part["type"])
    );
}

/** The kind of a part that is not read; `undefined` for all others. */
export function unknownPart({ type }: JsonObject): string | undefined {
  if (type === undefined || type === null) return "part";
  return typeof type === "string" && knownParts.has(type) ? undefined : String(type);
}

/** Counts the text bytes of the content of a message: a lone part without a list is nothing that a client reads. */
export function contentBytes(content: Json | undefined): number {
  return isJsonObject(content) ? 0 : chatTextBytes(content);
}

/** Counts the text bytes of a string, or of parts, which may be nested. */
function chatTextBytes(content: Json | undefined): number {
  if (Array.isArray(content)) {
    // A bare text in place of a part is nothing that a client reads.
    return content.reduce<number>(
      (sum, part) => sum + (typeof part === "string" ? 0 : chatTextBytes(part)),
      0,
    );
  }
  if (!isJsonObject(content)) return textBytes(content);
  return textBytes(content["text"]) + textBytes(content["refusal"]) +
    (content["image_url"] === undefined ? 0 : pictureOutputBytes) +
    (Array.isArray(content["thinking"]) ? chatTextBytes(content["thinking"]) : 0);
}

/** Counts the bytes of arguments: a string, or the object itself, which some vendors send. */
function argumentBytes(value: Json | undefined): number {
  return isJsonObject(value) ? textBytes(stringifyExactly(value)) : textBytes(value);
}

/** Returns the choice with the error of an aggregator's provider, if no other choice is good. */
function failedChoice(choices: Json | undefined): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  const failed = choices.filter((choice): choice is JsonObject =>
    isJsonObject(choice) && isJsonObject(choice["error"])
  );
  return failed.length === choices.length ? failed[0] : undefined;
}

/** Whether a body with status 200 is an error, in the shapes of several vendors. */
function isError(body: JsonObject): boolean {
  const error = body["error"];
  if (isJsonObject(error) || (typeof error === "string" && error !== "")) return true;
  if (Array.isArray(body["choices"])) return false;
  return body["object"] === "error" || body["type"] === "error" ||
    typeof body["detail"] === "string";
}
