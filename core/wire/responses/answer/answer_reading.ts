import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { AnswerReading } from "../../contract/contract.ts";
import { readNoAnswer, readProviderError } from "../../errors/provider_error.ts";
import { stopFailure } from "../../fields/stop_words.ts";
import { enterReport, textBytes } from "../../stream/reading.ts";
import type { ReportedUsage } from "../../../billing/tokens/token_usage.ts";
import { countReportedUses } from "../../tools/tool_uses.ts";
import { responseEnd } from "./stop_reasons.ts";
import { ItemUses } from "./tool_uses.ts";
import { readResponsesUsage } from "./usage.ts";

/**
 * Measures one output item: whether a client can use it, and its bytes of text, reasoning and tool arguments.
 * An empty message or reasoning item does not count as output; a call of any kind does, from its first byte. A
 * compacted conversation repeats messages of its user, which are no output.
 */
export function readResponsesItem(item: JsonObject): { isOutput: boolean; bytes: number } {
  if (item["role"] === "user") return { isOutput: false, bytes: 0 };
  if (item["type"] === "compaction") {
    return { isOutput: true, bytes: textBytes(item["encrypted_content"]) };
  }
  let bytes = textBytes(item["arguments"]) + textBytes(item["input"]) + textBytes(item["code"]);
  for (const list of [item["content"], item["summary"]]) {
    if (!Array.isArray(list)) continue;
    for (const part of list) {
      if (isJsonObject(part)) bytes += textBytes(part["text"]) + textBytes(part["refusal"]);
    }
  }
  const type = item["type"];
  const mayBeEmpty = type === "message" || type === "reasoning" || type === undefined;
  return { isOutput: bytes > 0 || !mayBeEmpty, bytes };
}

/** Reads a whole answer of the Responses style. */
export function readResponsesAnswer(body: JsonObject): AnswerReading {
  const counts: { usage: ReportedUsage | undefined; usageRejected: boolean } = {
    usage: undefined,
    usageRejected: false,
  };
  enterReport(counts, readResponsesUsage(body["usage"]));
  const uses = new ItemUses();
  countReportedUses(uses.count, body["usage"]);
  let empty = true;
  let outputBytes = 0;
  const output = body["output"];
  for (const item of Array.isArray(output) ? output : []) {
    if (!isJsonObject(item)) continue;
    const { isOutput, bytes } = readResponsesItem(item);
    if (isOutput) empty = false;
    outputBytes += bytes;
    uses.item(item);
  }
  const tier = body["service_tier"];
  const reason = responseEnd(body);
  const isAnswer = Array.isArray(output) && (!empty || reason !== null);
  return {
    ...counts,
    toolUses: uses.count.uses,
    ...(typeof tier === "string" && { serviceTier: tier }),
    empty,
    outputBytes,
    stopReason: typeof reason === "string" ? reason : undefined,
    error: failed(body) ? readProviderError(errorOf(body)) : stopFailure([reason], !empty) ??
      (isAnswer ? undefined : readNoAnswer(body)),
  };
}

function failed(body: JsonObject): boolean {
  const error = body["error"];
  return body["status"] === "failed" || body["type"] === "error" || isJsonObject(error) ||
    (typeof error === "string" && error !== "");
}

function errorOf(body: JsonObject): Json {
  return isJsonObject(body["error"]) ? { error: body["error"] } : body;
}
