/** Reads and writes the log probabilities of a candidate (`logprobsResult`) as entries of Chat and Responses. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";

/**
 * Returns an entry for each token of the text.
 *
 * @example
 * ```ts
 * import { readLogprobs } from "./logprobs.ts";
 * const chosen = { token: "Hi", logProbability: -0.5 };
 * const [entry] = readLogprobs({ chosenCandidates: [chosen], topCandidates: [{ candidates: [chosen] }] });
 * if (entry?.logprob !== -0.5 || JSON.stringify(entry.bytes) !== "[72,105]") throw new Error("not read");
 * ```
 */
export function readLogprobs(result: Json | undefined): JsonObject[] {
  if (!isJsonObject(result)) return [];
  const { chosenCandidates: chosen, topCandidates: tops } = result;
  return (Array.isArray(chosen) ? chosen : []).flatMap((candidate, i) => {
    const entry = entryOf(candidate);
    if (entry === undefined) return [];
    const top = Array.isArray(tops) ? tops[i] : undefined;
    const others = isJsonObject(top) && Array.isArray(top.candidates) ? top.candidates : [];
    const top_logprobs = others.map(entryOf).filter((other) => other !== undefined);
    return [{ ...entry, top_logprobs }];
  });
}

function entryOf(candidate: Json): JsonObject | undefined {
  if (!isJsonObject(candidate)) return undefined;
  const { token, logProbability: logprob } = candidate;
  if (typeof token !== "string" || typeof logprob !== "number") return undefined;
  return { token, logprob, bytes: [...new TextEncoder().encode(token)] };
}

/**
 * Writes entries of Chat or Responses as the members of a candidate; nothing if there are none.
 *
 * @example
 * ```ts
 * import { writeLogprobs } from "./logprobs.ts";
 * const { logprobsResult } = writeLogprobs([{ token: "Hi", logprob: -0.5, bytes: null, top_logprobs: [] }]);
 * if (!JSON.stringify(logprobsResult).includes('{"token":"Hi","logProbability":-0.5}')) throw new Error("lost");
 * ```
 */
export function writeLogprobs(entries: readonly JsonObject[]): JsonObject {
  if (entries.length === 0) return {};
  // One list of alternatives for each token, in the same order.
  const topCandidates = entries.map(({ top_logprobs: tops }) => ({
    candidates: (Array.isArray(tops) ? tops : []).filter(isJsonObject).map(candidateOf),
  }));
  const hasAlternatives = topCandidates.some(({ candidates }) => candidates.length > 0);
  const chosenCandidates = entries.map(candidateOf);
  return {
    logprobsResult: { ...(hasAlternatives ? { topCandidates } : {}), chosenCandidates },
  };
}

function candidateOf({ token = "", logprob = 0 }: JsonObject): JsonObject {
  return { token, logProbability: logprob };
}
