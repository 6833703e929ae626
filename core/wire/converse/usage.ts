/**
 * Reads `usage` of an answer or of the `metadata` event.
 *
 * See docs/internals/WIRE_FORMATS.md#usage.
 */
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import {
  absurdReport,
  isPlausible,
  noReport,
  readCount,
  type UsageReport,
} from "../stream/reading.ts";

/**
 * Reads a `usage` object into buckets. `inputTokens` excludes cached tokens, which have counts of their own;
 * `outputTokens` includes reasoning, which has none. `cacheDetails` splits the writes by their time to live.
 *
 * @example
 * ```ts
 * import { readConverseUsage } from "./usage.ts";
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
