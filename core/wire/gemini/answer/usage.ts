/**
 * Reads and writes `usageMetadata`.
 *
 * See docs/internals/WIRE_FORMATS.md#usage.
 */
import { partsWithin } from "../../../billing/usage/media_parts.ts";
import type { MediaParts, TokenUsage } from "../../../billing/tokens/token_usage.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import {
  absurdReport,
  isPlausible,
  noReport,
  readCount,
  type UsageReport,
} from "../../stream/reading.ts";

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
  const input = read - cacheRead;
  const output = isInside ? said : said + reasoning;
  const counts = {
    input,
    ...partsWithin(readModalities(usage), { input, output }),
    cacheRead,
    cacheWrite: 0,
    output,
    reasoning,
    ...(Number.isNaN(total) && { partlyAbsurd: true as const }),
  };
  return isPlausible(counts) ? { kind: "counts", usage: counts } : absurdReport;
}

/**
 * Reads the tokens of sound and pictures; films count as pictures. Those of a prompt that were cached are billed as
 * cached.
 */
function readModalities(usage: JsonObject): MediaParts {
  const tokens = (list: string, ...kinds: readonly string[]): number => {
    const entries = usage[list];
    if (!Array.isArray(entries)) return 0;
    return entries.filter(isJsonObject).filter(({ modality }) => kinds.includes(String(modality)))
      .reduce((sum, { tokenCount }) => sum + countOf(tokenCount), 0);
  };
  const fresh = (...kinds: readonly string[]): number =>
    Math.max(
      tokens("promptTokensDetails", ...kinds) + tokens("toolUsePromptTokensDetails", ...kinds) -
        tokens("cacheTokensDetails", ...kinds),
      0,
    );
  return {
    inputAudio: fresh("AUDIO"),
    inputImage: fresh("IMAGE", "VIDEO"),
    outputAudio: tokens("candidatesTokensDetails", "AUDIO"),
    outputImage: tokens("candidatesTokensDetails", "IMAGE", "VIDEO"),
  };
}

/** Returns a count, 0 for nonsense. */
function countOf(value: Json | undefined): number {
  const count = readCount(value) ?? 0;
  return Number.isNaN(count) ? 0 : count;
}

/** Reads the tier of service that a `usageMetadata` names: the vendor's field, or that of its cloud. */
export function readGeminiTier(usage: Json | undefined): string | undefined {
  if (!isJsonObject(usage)) return undefined;
  const tier = usage["serviceTier"] ?? usage["trafficType"];
  return typeof tier === "string" ? tier : undefined;
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
