/**
 * Reads and writes `usageMetadata`.
 *
 * See docs/internals/WIRE_FORMATS.md#usage.
 */
import type { TokenUsage } from "../../billing/token_usage.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import {
  absurdReport,
  isPlausible,
  noReport,
  readCount,
  type UsageReport,
} from "../stream/reading.ts";

/**
 * Reads a `usageMetadata` object into buckets.
 *
 * `promptTokenCount` includes cached tokens; the results of hosted tools are counted beside it. Thoughts are counted
 * beside `candidatesTokenCount`, except by servers whose total shows that they are part of it.
 *
 * @example
 * ```ts
 * import { readGeminiUsage } from "./usage.ts";
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
  const counts = {
    input: read - cacheRead,
    cacheRead,
    cacheWrite: 0,
    output: isInside ? said : said + reasoning,
    reasoning,
    ...(Number.isNaN(total) && { partlyAbsurd: true as const }),
  };
  return isPlausible(counts) ? { kind: "counts", usage: counts } : absurdReport;
}

/** Writes token buckets as `usageMetadata`: cached tokens are part of the prompt, thoughts are not of the candidates. */
export function writeGeminiUsage(usage: TokenUsage): JsonObject {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: usage.output - usage.reasoning,
    totalTokenCount: prompt + usage.output,
    ...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
    ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
  };
}
