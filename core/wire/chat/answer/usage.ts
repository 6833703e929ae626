import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { partsWithin } from "../../../billing/usage/media_parts.ts";
import { readParts } from "../../stream/media_parts.ts";
import type { ReportedUsage } from "../../../billing/tokens/token_usage.ts";
import {
  absurdReport,
  isPlausible,
  noReport,
  readCount,
  type UsageReport,
} from "../../stream/reading.ts";

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
 * import { readChatUsage } from "./usage.ts";
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
