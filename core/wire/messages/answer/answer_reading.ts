import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import type { ReportedUsage } from "../../../billing/tokens/token_usage.ts";
import type { AnswerReading } from "../../contract/contract.ts";
import { readNoAnswer, readProviderError } from "../../errors/provider_error.ts";
import { isRefusal, stopFailure } from "../../fields/stop_words.ts";
import { enterReport, textBytes } from "../../stream/reading.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_uses.ts";
import { countBlockUse } from "./tool_uses.ts";
import { enterMessagesUsage } from "./usage.ts";

/** Reads a whole answer of the Messages style. */
export function readMessagesAnswer(body: JsonObject): AnswerReading {
  const counts: { usage: ReportedUsage | undefined; usageRejected: boolean } = {
    usage: undefined,
    usageRejected: false,
  };
  enterReport(counts, enterMessagesUsage({}, body["usage"]).report);
  const toolUses = new ToolUseCount(true);
  countReportedUses(toolUses, body["usage"]);
  const stopReason = body["stop_reason"];
  let empty = !isRefusal(stopReason);
  let outputBytes = 0;
  const content = body["content"];
  for (const block of Array.isArray(content) ? content : []) {
    if (!isJsonObject(block)) continue;
    const bytes = blockBytes(block);
    countBlockUse(toolUses, block);
    outputBytes += bytes;
    const mayBeEmpty = block["type"] === "text" || block["type"] === "thinking";
    if (bytes > 0 || !mayBeEmpty) empty = false;
  }
  const isAnswer = Array.isArray(content) && (!empty || typeof stopReason === "string");
  const isError = body["type"] === "error" || isJsonObject(body["error"]) ||
    (typeof body["error"] === "string" && body["error"] !== "");
  return {
    ...counts,
    toolUses: toolUses.uses,
    serviceTier: tierOf(body["usage"]),
    empty,
    outputBytes,
    stopReason: typeof stopReason === "string" ? stopReason : undefined,
    error: isError ? readProviderError(body) : stopFailure([stopReason], !empty) ??
      (isAnswer ? undefined : readNoAnswer(body)),
  };
}

function tierOf(usage: Json | undefined): string | undefined {
  const tier = isJsonObject(usage) ? usage["service_tier"] : undefined;
  return typeof tier === "string" ? tier : undefined;
}

function blockBytes(block: JsonObject): number {
  const input = block["input"];
  return textBytes(block["text"]) + textBytes(block["thinking"]) + textBytes(block["data"]) +
    (isJsonObject(input) && Object.keys(input).length > 0 ? textBytes(stringifyExactly(input)) : 0);
}
