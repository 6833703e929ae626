import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { AnswerReading } from "../../contract/contract.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { answerFailure } from "../../stream/answer_gate.ts";
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
import { partsWithin, type ReportedUsage } from "../../../billing/tokens/token_bounds.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_fields.ts";
import { responseEnd } from "./response_object.ts";
import { maxToolCallsPerAnswer } from "../../contract/limits.ts";

// Counts hosted tools in a Responses answer by its output items.

/**
 * Counts the items of one answer. Of the actions of a search only searches are billed, not the pages that it opens; a
 * code interpreter is billed by its container.
 */
export class ItemUses {
  readonly count = new ToolUseCount(true);
  readonly #containers = new Set<string>();

  /** Enters a finished output item. */
  item(item: JsonObject): void {
    if (item["status"] === "failed") return;
    switch (item["type"]) {
      case "web_search_call": {
        const { action } = item;
        const type = isJsonObject(action) ? action["type"] : undefined;
        if (type === undefined || type === null || type === "search") this.count.saw("web_search");
        return;
      }
      case "file_search_call":
        return this.count.saw("file_search");
      case "image_generation_call":
        return this.count.saw("image_generation");
      case "code_interpreter_call":
        return this.#code(item["container_id"]);
    }
  }

  #code(container: unknown): void {
    if (typeof container === "string") {
      if (this.#containers.has(container)) return;
      if (this.#containers.size < maxToolCallsPerAnswer) this.#containers.add(container);
    }
    this.count.saw("code_execution");
  }
}

/**
 * Reads a `usage` object of the Responses style into buckets. `input_tokens` includes cached and cache-written tokens
 * (clamped as in the Chat style), `output_tokens` includes reasoning. If one of them is absent it is 0.
 */
export function readResponsesUsage(usage: Json | undefined): UsageReport {
  if (usage === undefined || usage === null) return noReport;
  if (!isJsonObject(usage)) return absurdReport;
  const input = readCount(usage["input_tokens"]);
  const output = readCount(usage["output_tokens"]);
  if (input === undefined && output === undefined) return noReport;
  const inputDetails = usage["input_tokens_details"];
  const outputDetails = usage["output_tokens_details"];
  const cached = isJsonObject(inputDetails) ? readCount(inputDetails["cached_tokens"]) : 0;
  const written = isJsonObject(inputDetails) ? readCount(inputDetails["cache_write_tokens"]) : 0;
  const reasoning = isJsonObject(outputDetails) ? readCount(outputDetails["reasoning_tokens"]) : 0;
  const whole = input ?? 0;
  const cacheRead = Math.min(cached ?? 0, whole);
  const cacheWrite = Math.min(written ?? 0, whole - cacheRead);
  const fresh = whole - cacheRead - cacheWrite;
  const counts = {
    input: fresh,
    ...partsWithin(readParts(inputDetails, outputDetails), { input: fresh, output: output ?? 0 }),
    cacheRead,
    cacheWrite,
    output: output ?? 0,
    reasoning: Math.min(reasoning ?? 0, output ?? 0),
  };
  return isPlausible(counts) ? { kind: "counts", usage: counts } : absurdReport;
}

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
  return { isOutput: bytes > 0 || isPartByItself(item), bytes };
}

/** Whether an item is a part of an answer without any text: a call, or one of a type that the client may know. */
function isPartByItself({ type }: JsonObject): boolean {
  return typeof type === "string" && type !== "" && type !== "message" && type !== "reasoning";
}

/** Whether an item is a call that no tool can answer. */
function isNameless({ type, name }: JsonObject): boolean {
  const isCall = type === "function_call" || type === "custom_tool_call";
  return isCall && (typeof name !== "string" || name === "");
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
    if (isOutput && !isNameless(item)) empty = false;
    outputBytes += bytes;
    uses.item(item);
  }
  const tier = body["service_tier"];
  const reason = responseEnd(body);
  return {
    ...counts,
    toolUses: uses.count.uses,
    ...(typeof tier === "string" && { serviceTier: tier }),
    empty,
    outputBytes,
    stopReason: typeof reason === "string" ? reason : undefined,
    error: failed(body) ? readProviderError(errorOf(body)) : answerFailure("responses", body, {
      reasons: [reason],
      hasOutput: !empty && Array.isArray(output),
      usage: counts.usage,
    }),
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
