import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import type { ReportedUsage } from "../../../billing/tokens/token_usage.ts";
import type { AnswerReading } from "../../contract/contract.ts";
import { readNoAnswer, readProviderError } from "../../errors/provider_error.ts";
import { pictureOutputBytes } from "../../fields/pictures.ts";
import { enterReport, textBytes } from "../../stream/reading.ts";
import { isRefusal, stopFailure } from "../../fields/stop_words.ts";
import { readBlockedPrompt } from "./stop_reasons.ts";
import { ToolUseCount } from "../../tools/tool_uses.ts";
import { countCandidateUses } from "./tool_uses.ts";
import { readGeminiTier, readGeminiUsage } from "./usage.ts";

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
    const reason = candidate["finishReason"];
    if (typeof reason === "string") stopReason ??= reason;
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
    error: isJsonObject(body["error"]) ? readProviderError(body) : stopFailure(reasons, isOutput) ??
      (isOutput || stopReason !== undefined ? undefined : readNoAnswer(body)),
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

/** What the parts of a candidate bring. */
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
      ? callBytes(call["args"])
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

function inner(holder: Json | undefined, name: string): Json | undefined {
  return isJsonObject(holder) ? holder[name] : undefined;
}
