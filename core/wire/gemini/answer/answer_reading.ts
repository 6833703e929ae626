import { count, text, type Written } from "../../../lib/json/schemas.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import {
  type MediaParts,
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
  textBytes,
  type UsageReport,
} from "../../stream/reading.ts";
import { isRefusal, readStop } from "../../fields/stop_words.ts";
import { ToolUseCount } from "../../tools/tool_fields.ts";
import { maxRefusalChars } from "../../contract/limits.ts";
import type { Stop, StopReason } from "../../conversation/mod.ts";

// Reads and writes finish reasons of Gemini.
//
// See docs/internals/WIRE_FORMATS.md#gemini-answer and docs/conversion.md#answers.

/**
 * Finish reasons by number, as the vendor's libraries write enums. Of those after 5 its two services have different ones
 * under a number: only which are filters is the same.
 *
 * https://github.com/googleapis/googleapis/blob/master/google/cloud/aiplatform/v1/content.proto
 */
const numbered: readonly string[] = [
  "FINISH_REASON_UNSPECIFIED",
  "STOP",
  "MAX_TOKENS",
  "SAFETY",
  "RECITATION",
  "OTHER",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
];

/** The finish reason of a candidate as a word; `undefined` if it has none. */
export function finishReasonOf({ finishReason: reason }: JsonObject): string | undefined {
  if (typeof reason === "number") return numbered[reason] ?? `finish_reason_${reason}`;
  return typeof reason === "string" && reason !== "" ? reason : undefined;
}

/** Reads a finish reason; a refusal has the vendor's message, or the name of the filter, as its explanation. */
export function readGeminiStop(
  reason: string | undefined,
  message: Json | undefined,
  hasCalls: boolean,
): Stop {
  const stop = readStop(reason, hasCalls);
  if (stop.reason !== "refusal" || reason === undefined) return stop;
  const explanation = typeof message === "string" && message !== "" ? message : reason;
  return { ...stop, explanation: explanation.slice(0, maxRefusalChars) };
}

/** Reads why a prompt was blocked; `undefined` if it was not. */
export function readBlockedPrompt(feedback: Json | undefined): string | undefined {
  if (!isJsonObject(feedback)) return undefined;
  const { blockReason } = feedback;
  return typeof blockReason === "string" && blockReason !== "" ? blockReason : undefined;
}

/** Returns the reason and the text with which an answer to a blocked prompt stops. */
export function blockedStop(feedback: Json | undefined): Stop | undefined {
  const reason = readBlockedPrompt(feedback);
  if (reason === undefined || !isJsonObject(feedback)) return undefined;
  const { blockReasonMessage: said } = feedback;
  const explanation = typeof said === "string" && said !== "" ? said : reason;
  return { reason: "refusal", explanation: explanation.slice(0, maxRefusalChars) };
}

const words: Readonly<Record<StopReason, string>> = {
  end: "STOP",
  length: "MAX_TOKENS",
  stop_sequence: "STOP",
  tool_calls: "STOP",
  pause: "OTHER",
  refusal: "SAFETY",
  // The vendor's libraries accept only listed reasons, so the name of any other goes into `finishMessage`.
  unknown: "OTHER",
};

/** The members of a candidate for the stop reason. */
export const geminiStopMembers = { finishReason: text, finishMessage: text };

/** Writes these members. */
export function writeGeminiStop(
  { reason, explanation, name }: Stop,
): Written<typeof geminiStopMembers> {
  const finishMessage = explanation ?? name;
  return {
    finishReason: words[reason],
    ...(finishMessage === undefined ? {} : { finishMessage }),
  };
}

// Counts hosted tools in a Gemini answer: searches by the queries of its grounding, pages, runs of code.

/** Enters a candidate of an answer or of a chunk. Grounding covers the answer so far; parts come once. */
export function countCandidateUses(count: ToolUseCount, candidate: JsonObject): void {
  const { groundingMetadata: grounding, urlContextMetadata: pages, content } = candidate;
  if (isJsonObject(grounding)) countGrounding(count, grounding);
  if (isJsonObject(pages)) {
    const fetched = listOf(pages["urlMetadata"]).filter(isFetched);
    if (fetched.length > 0) count.reported("web_fetch", fetched.length);
  }
  for (const part of listOf(isJsonObject(content) ? content["parts"] : undefined)) {
    if (!isJsonObject(part)) continue;
    const { executableCode: code, toolCall: call, toolResponse: response } = part;
    if (isJsonObject(code)) count.saw("code_execution");
    if (isJsonObject(call)) countSearches(count, call);
    if (isJsonObject(response)) countPages(count, response);
  }
}

function countGrounding(count: ToolUseCount, grounding: JsonObject): void {
  // The vendor bills no empty query.
  const queries = listOf(grounding["webSearchQueries"]).filter((query) => query !== "");
  const chunks = listOf(grounding["groundingChunks"]).filter(isJsonObject);
  const hasWeb = chunks.some(({ web }) => isJsonObject(web));
  const searches = Math.max(queries.length, hasWeb ? 1 : 0);
  if (searches > 0) count.reported("web_search", searches);
  if (chunks.some((chunk) => isJsonObject(chunk["retrievedContext"]))) {
    count.reported("file_search", 1);
  }
}

/** Counts the queries of a call that the answer shows. */
function countSearches(count: ToolUseCount, { toolType, args }: JsonObject): void {
  if (toolType !== "GOOGLE_SEARCH_WEB" || !isJsonObject(args)) return;
  const queries = listOf(args["queries"] ?? [args["query"] ?? ""]);
  for (const query of queries) if (query !== "") count.saw("web_search");
}

/** Counts the pages that a response shows as read. */
function countPages(count: ToolUseCount, { toolType, response }: JsonObject): void {
  if (toolType !== "URL_CONTEXT" || !isJsonObject(response)) return;
  for (const page of listOf(response["url_metadata"])) {
    const isRead = isJsonObject(page) &&
      page["url_retrieval_status"] === "URL_RETRIEVAL_STATUS_SUCCESS";
    if (isRead) count.saw("web_fetch");
  }
}

function isFetched(page: Json): boolean {
  if (!isJsonObject(page)) return false;
  const status = page["urlRetrievalStatus"];
  return status === undefined || status === "URL_RETRIEVAL_STATUS_SUCCESS";
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

// Reads and writes `usageMetadata`.
//
// See docs/internals/WIRE_FORMATS.md#usage.

/**
 * Reads a `usageMetadata` object into buckets.
 *
 * `promptTokenCount` includes cached tokens; the results of hosted tools are counted beside it. Thoughts are counted
 * beside `candidatesTokenCount`, except by servers whose total shows that they are part of it.
 *
 * @example
 * ```ts
 * import { readGeminiUsage } from "./answer_reading.ts";
 * const report = readGeminiUsage({
 *   promptTokenCount: 20, cachedContentTokenCount: 12, candidatesTokenCount: 5, thoughtsTokenCount: 7,
 *   totalTokenCount: 32,
 * });
 * if (report.kind !== "counts" || report.usage.output !== 12 || report.usage.input !== 8) throw new Error("wrong");
 * ```
 */
export function readGeminiUsage(usage: Json | undefined): UsageReport {
  if (usage === undefined || usage === null) return noReport;
  if (!isJsonObject(usage)) return absurdReport;
  const prompt = readCount(usage["promptTokenCount"]);
  const candidates = readCount(usage["candidatesTokenCount"]);
  const thoughts = readCount(usage["thoughtsTokenCount"]);
  const total = readCount(usage["totalTokenCount"]);
  if (prompt === undefined && candidates === undefined && thoughts === undefined) {
    return Number.isNaN(total) ? absurdReport : noReport;
  }
  const toolUse = readCount(usage["toolUsePromptTokenCount"]) ?? 0;
  const read = (prompt ?? 0) + toolUse;
  const cacheRead = Math.min(readCount(usage["cachedContentTokenCount"]) ?? 0, prompt ?? 0);
  const said = candidates ?? 0;
  const reasoning = thoughts ?? 0;
  const isInside = reasoning > 0 && reasoning <= said && total === read + said;
  const input = read - cacheRead;
  const output = isInside ? said : said + reasoning;
  const counts = {
    input,
    ...partsWithin(readModalities(usage), { input, output }),
    cacheRead,
    cacheWrite: 0,
    output,
    reasoning,
    ...(Number.isNaN(total) && { partlyAbsurd: true as const }),
  };
  return isPlausible(counts) ? { kind: "counts", usage: counts } : absurdReport;
}

/**
 * Reads the tokens of sound and pictures; films count as pictures. Those of a prompt that were cached are billed as
 * cached.
 */
function readModalities(usage: JsonObject): MediaParts {
  const tokens = (list: string, ...kinds: readonly string[]): number => {
    const entries = usage[list];
    if (!Array.isArray(entries)) return 0;
    return entries.filter(isJsonObject).filter(({ modality }) => kinds.includes(String(modality)))
      .reduce((sum, { tokenCount }) => sum + countOf(tokenCount), 0);
  };
  const fresh = (...kinds: readonly string[]): number =>
    Math.max(
      tokens("promptTokensDetails", ...kinds) + tokens("toolUsePromptTokensDetails", ...kinds) -
        tokens("cacheTokensDetails", ...kinds),
      0,
    );
  return {
    inputAudio: fresh("AUDIO"),
    inputImage: fresh("IMAGE", "VIDEO"),
    outputAudio: tokens("candidatesTokensDetails", "AUDIO"),
    outputImage: tokens("candidatesTokensDetails", "IMAGE", "VIDEO"),
  };
}

/** Returns a count, 0 for nonsense. */
function countOf(value: Json | undefined): number {
  const count = readCount(value) ?? 0;
  return Number.isNaN(count) ? 0 : count;
}

/** Reads the tier of service that a `usageMetadata` names: the vendor's field, or that of its cloud. */
export function readGeminiTier(usage: Json | undefined): string | undefined {
  if (!isJsonObject(usage)) return undefined;
  const tier = usage["serviceTier"] ?? usage["trafficType"];
  return typeof tier === "string" ? tier : undefined;
}

/** The members of `usageMetadata`. */
export const geminiUsageMembers = {
  promptTokenCount: count,
  candidatesTokenCount: count,
  totalTokenCount: count,
  cachedContentTokenCount: count,
  thoughtsTokenCount: count,
};

/** Writes token buckets as `usageMetadata`: cached tokens are part of the prompt, thoughts are not of the candidates. */
export function writeGeminiUsage(usage: TokenUsage): Written<typeof geminiUsageMembers> {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: usage.output - usage.reasoning,
    totalTokenCount: prompt + usage.output,
    ...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
    ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
  };
}

/** Reads a whole answer of the Gemini style: all its candidates. */
export function readGeminiAnswer(body: JsonObject): AnswerReading {
  const counts: { usage: ReportedUsage | undefined; usageRejected: boolean } = {
    usage: undefined,
    usageRejected: false,
  };
  enterReport(counts, readGeminiUsage(body["usageMetadata"]));
  const blocked = readBlockedPrompt(body["promptFeedback"]);
  const toolUses = new ToolUseCount(true);
  let stopReason = blocked;
  const reasons: (Json | undefined)[] = [];
  let isOutput = blocked !== undefined;
  let outputBytes = 0;
  for (const candidate of candidatesOf(body)) {
    const reason = finishReasonOf(candidate);
    stopReason ??= reason;
    reasons.push(reason);
    const read = readParts(candidate["content"]);
    countCandidateUses(toolUses, candidate);
    isOutput ||= read.isOutput || isRefusal(reason);
    outputBytes += read.bytes;
  }
  return {
    ...counts,
    toolUses: toolUses.uses,
    serviceTier: readGeminiTier(body["usageMetadata"]),
    empty: !isOutput,
    outputBytes,
    stopReason,
    error: isJsonObject(body["error"]) ? readProviderError(body) : answerFailure("gemini", body, {
      reasons,
      hasOutput: isOutput,
      usage: counts.usage,
    }),
  };
}

/** The candidates of an answer or of a chunk. */
export function candidatesOf(body: JsonObject): JsonObject[] {
  const { candidates } = body;
  return Array.isArray(candidates) ? candidates.filter(isJsonObject) : [];
}

/** The parts of a candidate's content. */
export function partsOf(content: Json | undefined): JsonObject[] {
  const parts = isJsonObject(content) ? content["parts"] : undefined;
  return Array.isArray(parts) ? parts.filter(isJsonObject) : [];
}

/** Contents that the parts of a candidate bring. */
export interface PartsReading {
  /** Whether a client can use any of it. */
  readonly isOutput: boolean;
  readonly bytes: number;
  /** Bytes without thoughts. */
  readonly answerBytes: number;
}

/** Measures the parts of a content. */
export function readParts(content: Json | undefined): PartsReading {
  let isOutput = false;
  let bytes = 0;
  let answerBytes = 0;
  for (const part of partsOf(content)) {
    const text = textBytes(part["text"]);
    const call = part["functionCall"];
    const made = isJsonObject(call)
      ? callBytes(call["args"]) + pieceBytes(call["partialArgs"])
      : textBytes(inner(part["executableCode"], "code")) +
        Math.min(textBytes(inner(part["inlineData"], "data")), pictureOutputBytes);
    bytes += text + made;
    if (part["thought"] !== true) answerBytes += text + made;
    isOutput ||= text > 0 || Object.keys(part).some((name) => !wordless.has(name));
  }
  return { isOutput, bytes, answerBytes };
}

/** Members of a part that are not output by themselves. */
const wordless: ReadonlySet<string> = new Set(["text", "thought", "thoughtSignature"]);

function callBytes(args: Json | undefined): number {
  return isJsonObject(args) && Object.keys(args).length > 0 ? textBytes(stringifyExactly(args)) : 0;
}

/** Bytes of arguments that come in pieces: their values, without the paths of their places, which each piece repeats. */
function pieceBytes(pieces: Json | undefined): number {
  let bytes = 0;
  for (const piece of Array.isArray(pieces) ? pieces : []) {
    if (!isJsonObject(piece)) continue;
    const { stringValue, numberValue, boolValue } = piece;
    bytes += textBytes(stringValue ?? stringifyExactly(numberValue ?? boolValue ?? null));
  }
  return bytes;
}

function inner(holder: Json | undefined, name: string): Json | undefined {
  return isJsonObject(holder) ? holder[name] : undefined;
}
