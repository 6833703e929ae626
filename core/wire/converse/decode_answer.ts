/**
 * Reads a whole Converse answer.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-answer.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { AnswerReading, ConversionMemory } from "../contract/contract.ts";
import type { ReadAnswer } from "../stream/dialect.ts";
import type { Answer, AnswerBlock, Citation, ReasoningProof, Stop } from "../conversation/mod.ts";
import { writeDataUrl } from "../content/citations.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { ReportedUsage } from "../../billing/tokens/token_bounds.ts";
import { readProviderError } from "../errors/provider_error.ts";
import { answerFailure } from "../stream/answer_gate.ts";
import { pictureOutputBytes } from "../fields/pictures.ts";
import {
  absurdReport,
  enterReport,
  isPlausible,
  noReport,
  readCount,
  textBytes,
  type UsageReport,
} from "../stream/reading.ts";
import { isRefusal, readStop } from "../fields/stop_words.ts";

// Reads `usage` of an answer or of the `metadata` event.
//
// See docs/internals/WIRE_FORMATS.md#usage.

/**
 * Reads a `usage` object into buckets. `inputTokens` excludes cached tokens, which have counts of their own;
 * `outputTokens` includes reasoning, which has none. `cacheDetails` splits the writes by their time to live.
 *
 * @example
 * ```ts
 * import { readConverseUsage } from "./decode_answer.ts";
 * const report = readConverseUsage({
 *   inputTokens: 8, outputTokens: 12, totalTokens: 40, cacheReadInputTokens: 12, cacheWriteInputTokens: 8,
 *   cacheDetails: [{ ttl: "1h", inputTokens: 6 }, { ttl: "5m", inputTokens: 2 }],
 * });
 * if (report.kind !== "counts" || report.usage.cacheWriteHour !== 6 || report.usage.input !== 8) throw new Error("wrong");
 * ```
 */
export function readConverseUsage(usage: Json | undefined): UsageReport {
  if (usage === undefined || usage === null) return noReport;
  if (!isJsonObject(usage)) return absurdReport;
  const input = readCount(usage["inputTokens"]);
  const output = readCount(usage["outputTokens"]);
  if (input === undefined && output === undefined) return noReport;
  const split = writesByLife(usage["cacheDetails"]);
  const cacheWrite = readCount(usage["cacheWriteInputTokens"]) ?? split.all;
  const counts = {
    input: input ?? 0,
    cacheRead: readCount(usage["cacheReadInputTokens"]) ?? 0,
    cacheWrite,
    ...(split.hour > 0 ? { cacheWriteHour: Math.min(split.hour, cacheWrite) } : {}),
    output: output ?? 0,
    reasoning: 0,
  };
  return isPlausible(counts) ? { kind: "counts", usage: counts } : absurdReport;
}

function writesByLife(details: Json | undefined): { readonly all: number; readonly hour: number } {
  let all = 0;
  let hour = 0;
  for (const detail of Array.isArray(details) ? details : []) {
    if (!isJsonObject(detail)) continue;
    const tokens = readCount(detail["inputTokens"]) ?? 0;
    all += tokens;
    if (detail["ttl"] === "1h") hour += tokens;
  }
  return { all, hour };
}

/** Reads a whole answer of Converse. */
export function readConverseAnswer(body: JsonObject): AnswerReading {
  const counts: { usage: ReportedUsage | undefined; usageRejected: boolean } = {
    usage: undefined,
    usageRejected: false,
  };
  enterReport(counts, readConverseUsage(body["usage"]));
  const reason = body["stopReason"];
  const tier = body["serviceTier"];
  let isOutput = isRefusal(reason);
  let outputBytes = 0;
  for (const block of blocksOf(body)) {
    outputBytes += bytesOf(block);
    isOutput ||= block["text"] === undefined
      ? Object.keys(block).length > 0
      : typeof block["text"] === "string" && block["text"] !== "";
  }
  return {
    ...counts,
    empty: !isOutput,
    outputBytes,
    serviceTier: isJsonObject(tier) && typeof tier["type"] === "string" ? tier["type"] : undefined,
    stopReason: typeof reason === "string" ? reason : undefined,
    error: isJsonObject(body["error"]) ? readProviderError(body) : answerFailure("converse", body, {
      reasons: [reason],
      hasOutput: isOutput,
      usage: counts.usage,
    }),
  };
}

/** The content blocks of an answer. */
function blocksOf(body: JsonObject): JsonObject[] {
  const output = body["output"];
  const message = isJsonObject(output) ? output["message"] : undefined;
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

function bytesOf(block: JsonObject): number {
  const { toolUse, reasoningContent, image } = block;
  if (isJsonObject(image)) return pictureOutputBytes;
  if (isJsonObject(toolUse)) return textBytes(stringifyExactly(toolUse["input"] ?? {}));
  if (isJsonObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent;
    return textBytes(isJsonObject(reasoningText) ? reasoningText["text"] : redactedContent);
  }
  const cited = block["citationsContent"];
  return isJsonObject(cited) ? textBytes(citedText(cited)) : textBytes(block["text"]);
}

/** The text of a block with citations. */
function citedText(cited: JsonObject): string {
  const pieces: Json[] = Array.isArray(cited["content"]) ? cited["content"] : [];
  return pieces.map((piece) =>
    isJsonObject(piece) && typeof piece["text"] === "string" ? piece["text"] : ""
  ).join("");
}

// Reads why an answer ended.
//
// See docs/internals/WIRE_FORMATS.md#converse-answer and docs/conversion.md#answers.

/** Reads a stop reason; a refusal has the name of its filter as its explanation. */
export function readConverseStop(reason: string | undefined, hasCalls: boolean): Stop {
  const stop = readStop(reason, hasCalls);
  return stop.reason === "refusal" && reason !== undefined
    ? { ...stop, explanation: reason }
    : stop;
}

/** The signer of reasoning where the route names none. */
export const bedrock = "bedrock";

/** Reads a whole Converse answer. */
export function decodeConverseAnswer(
  { body, reading }: ReadAnswer,
  memory: ConversionMemory,
): Answer {
  if (!isJsonObject(body.output)) {
    throw new GatewayError("upstream_unreachable", "The provider sent no answer");
  }
  const signer = memory.reasoningSigner ?? bedrock;
  const blocks = blocksOf(body).flatMap((block, i) =>
    decodeBlock(block, `output.message.content.${i}`, signer)
  );
  const hasCalls = blocks.some((block) => block.type === "tool_call");
  const tier = readServiceTier(body.serviceTier);
  return {
    blocks,
    stop: readConverseStop(reading.stopReason, hasCalls),
    ...defined({ usage: reading.usage, serviceTier: tier }),
  };
}

/** Reads the tier that served the call. */
export function readServiceTier(tier: Json | undefined): string | undefined {
  const type = isJsonObject(tier) ? tier["type"] : undefined;
  return typeof type === "string" ? type : undefined;
}

function decodeBlock(block: JsonObject, path: string, signer: string): AnswerBlock[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === "string") return text === "" ? [] : [{ type: "text", path, text }];
  if (isJsonObject(toolUse) && toolUse.type === undefined) return decodeCall(toolUse, path);
  if (isJsonObject(reasoningContent)) {
    const { reasoningText } = reasoningContent;
    const said = isJsonObject(reasoningText) ? reasoningText.text : "";
    const proof = readProof(reasoningContent, signer);
    const shown = typeof said === "string" ? said : "";
    if (shown === "" && proof === undefined) return [];
    return [{ type: "reasoning", path, text: shown, ...defined({ proof }) }];
  }
  if (isJsonObject(citationsContent)) {
    const said = citedText(citationsContent);
    const citations = list(citationsContent.citations).flatMap((one) => readCitation(one) ?? []);
    return said === ""
      ? []
      : [{ type: "text", path, text: said, ...(citations.length > 0 ? { citations } : {}) }];
  }
  const { format, data } = readImage(block.image);
  if (data !== "") return [{ type: "picture", path, url: pictureUrl(format, data) }];
  const sound = readImage(block.audio);
  if (sound.data !== "") {
    const mediaType = `audio/${sound.format ?? "wav"}`;
    return [{ type: "sound", path, mediaType, data: sound.data }];
  }
  const kind = Object.keys(block)[0] ?? "empty";
  const otherwise = isLostKind(kind) ? "warn" : "ignore";
  return [{ type: "foreign", path, style: "converse", kind, raw: block, otherwise }];
}

/** Blocks of tools that the provider ran, whose results are in the text, and of nothing. */
const withoutContent: ReadonlySet<string> = new Set([
  "toolUse",
  "toolResult",
  "cachePoint",
  "empty",
]);

/** Whether a block of this kind is content that no other style has a place for. */
export function isLostKind(kind: string): boolean {
  return !withoutContent.has(kind);
}

/** Reads what a picture or sound, or a part of one, tells: its format, and its data in base64. */
export function readImage(
  image: Json | undefined,
): { readonly format?: string; readonly data: string } {
  if (!isJsonObject(image)) return { data: "" };
  const { format, source } = image;
  const bytes = isJsonObject(source) ? source.bytes : undefined;
  return {
    ...(typeof format === "string" ? { format } : {}),
    data: typeof bytes === "string" ? bytes : "",
  };
}

/** Writes a picture as a data URL. */
export function pictureUrl(format: string | undefined, data: string): string {
  return writeDataUrl(`image/${format ?? "png"}`, data);
}

/** A call without a name is none. */
function decodeCall(call: JsonObject, path: string): AnswerBlock[] {
  const { toolUseId: id, name, input } = call;
  if (typeof name !== "string" || name === "") return [];
  return [{
    type: "tool_call",
    path,
    id: typeof id === "string" ? id : "",
    name,
    input: isJsonObject(input)
      ? { kind: "object", value: input }
      : { kind: "json_text", text: typeof input === "string" ? input : "" },
  }];
}

function readProof(content: JsonObject, signer: string): ReasoningProof | undefined {
  const { reasoningText, redactedContent: data } = content;
  if (typeof data === "string" && data !== "") return { kind: "redacted", signer, data };
  const signature = isJsonObject(reasoningText) ? reasoningText.signature : undefined;
  return typeof signature === "string" && signature !== ""
    ? { kind: "signature", signer, signature }
    : undefined;
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** Reads a web source; sources in documents of the request are numbered as no other style does. */
export function readCitation(citation: Json | undefined): Citation | undefined {
  if (!isJsonObject(citation)) return undefined;
  const { location, title, sourceContent } = citation;
  const web = isJsonObject(location) ? location.web : undefined;
  const url = isJsonObject(web) ? web.url : undefined;
  if (typeof url !== "string" || url === "") return undefined;
  const cited = list(sourceContent).map((piece) => isJsonObject(piece) ? piece.text : "").join("");
  return {
    url,
    title: typeof title === "string" ? title : "",
    ...(cited === "" ? {} : { citedText: cited }),
  };
}
