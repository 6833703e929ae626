import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import type { ReportedUsage } from "../../../billing/tokens/token_usage.ts";
import type { AnswerReading } from "../../contract/contract.ts";
import { readNoAnswer, readProviderError } from "../../errors/provider_error.ts";
import { pictureOutputBytes } from "../../fields/pictures.ts";
import { stopFailure } from "../../fields/stop_words.ts";
import { enterReport, textBytes } from "../../stream/reading.ts";
import { readBaseResp } from "./base_resp.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_uses.ts";
import { hasSources } from "./tool_uses.ts";
import { readChatUsage } from "./usage.ts";

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
    if (!isJsonObject(message)) {
      // Older completions have their text in the choice itself.
      const textLength = textBytes(choice["text"]);
      if (textLength > 0) empty = false;
      outputBytes += textLength;
      continue;
    }
    const { isOutput, bytes } = readChatMessage(message);
    if (hasSources(message["annotations"])) toolUses.reported("web_search", 1);
    if (isOutput) empty = false;
    outputBytes += bytes;
  }
  const failed = isError(body) ? body : readBaseResp(body) ?? failedChoice(choices);
  const reasons = Array.isArray(choices)
    ? choices.map((choice) => isJsonObject(choice) ? choice["finish_reason"] : undefined)
    : [];
  const isAnswer = !empty || stopReason !== undefined;
  return {
    ...counts,
    toolUses: toolUses.uses,
    ...readTier(body["service_tier"]),
    empty,
    outputBytes,
    stopReason,
    error: failed === undefined
      ? stopFailure(reasons, !empty) ?? (isAnswer ? undefined : readNoAnswer(body))
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
    chatTextBytes(message["content"]) + textBytes(message["refusal"]);
  const { images } = message;
  if (Array.isArray(images)) bytes += images.length * pictureOutputBytes;
  let isOutput = bytes > 0;
  for (const name of ["tool_calls", "function_call", "audio"]) {
    const calls = readChatCalls(message[name]);
    if (calls.count > 0) isOutput = true;
    bytes += calls.bytes;
  }
  return { isOutput, bytes };
}

/** Measures `tool_calls`, a legacy `function_call` or `audio`: how many there are and the bytes of their arguments. */
export function readChatCalls(value: Json | undefined): { count: number; bytes: number } {
  let count = 0;
  let bytes = 0;
  for (const call of Array.isArray(value) ? value : [value]) {
    if (!isJsonObject(call) || isZeroCall(call)) continue;
    count++;
    const body = call["function"] ?? call["custom"] ?? call;
    if (!isJsonObject(body)) continue;
    bytes += argumentBytes(body["arguments"]) + textBytes(body["input"]) +
      textBytes(body["transcript"]);
  }
  return { count, bytes };
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

/** Counts the text bytes of `content`: a string, or parts, which may be nested. */
export function chatTextBytes(content: Json | undefined): number {
  if (Array.isArray(content)) {
    return content.reduce<number>((sum, part) => sum + chatTextBytes(part), 0);
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
