import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import type { ReportedUsage } from "../../billing/tokens/token_usage.ts";
import type { AnswerReading } from "../contract/contract.ts";
import { readNoAnswer, readProviderError } from "../errors/provider_error.ts";
import { pictureOutputBytes } from "../fields/pictures.ts";
import { enterReport, textBytes } from "../stream/reading.ts";
import { isRefusal, stopFailure } from "../fields/stop_words.ts";
import { readConverseUsage } from "./usage.ts";

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
    isOutput ||= block["text"] === undefined || block["text"] !== "";
  }
  const isAnswer = isJsonObject(body["output"]) && (isOutput || typeof reason === "string");
  return {
    ...counts,
    empty: !isOutput,
    outputBytes,
    serviceTier: isJsonObject(tier) && typeof tier["type"] === "string" ? tier["type"] : undefined,
    stopReason: typeof reason === "string" ? reason : undefined,
    error: isJsonObject(body["error"])
      ? readProviderError(body)
      : stopFailure([reason], isOutput) ??
        (isAnswer ? undefined : readNoAnswer(body)),
  };
}

/** The content blocks of an answer. */
export function blocksOf(body: JsonObject): JsonObject[] {
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
export function citedText(cited: JsonObject): string {
  const pieces: Json[] = Array.isArray(cited["content"]) ? cited["content"] : [];
  return pieces.map((piece) =>
    isJsonObject(piece) && typeof piece["text"] === "string" ? piece["text"] : ""
  ).join("");
}
