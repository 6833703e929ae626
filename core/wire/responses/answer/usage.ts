import { partsWithin } from "../../../billing/usage/media_parts.ts";
import { readParts } from "../../stream/media_parts.ts";
import { isJsonObject, type Json } from "../../../lib/json/json.ts";
import {
  absurdReport,
  isPlausible,
  noReport,
  readCount,
  type UsageReport,
} from "../../stream/reading.ts";

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
