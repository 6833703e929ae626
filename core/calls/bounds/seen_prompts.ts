/**
 * What providers reported for prompts lately: how much of them came from a cache, and how our own count compares. An
 * estimate for a call that broke off is made with it, so that a break does not cost more than the complete answer.
 */
import type { EstimateCorrection } from "../../billing/believable_usage.ts";
import { billedInputTokens, type TokenUsage } from "../../billing/token_usage.ts";
import {
  bytesPerEstimatedToken,
  estimateOutputTokens,
} from "../../billing/tokens/rough_estimate.ts";
import type { PromptPrefixes } from "../request/prompt_prefixes.ts";

/** A completed call whose report was believed. */
export interface ReportedCall {
  readonly usage: TokenUsage;
  /** Our own count of its prompt. */
  readonly estimatedInputTokens: number;
  readonly outputBytes: number;
}

interface Entry extends EstimateCorrection {
  readonly atMs: number;
}

/** Prompts that are remembered, two entries for each: about 4 MB. */
const mostEntries = 40_000;
/** The longest that a vendor keeps a cache for its ordinary price. */
const rememberedMs = 60 * 60_000;
/**
 * Text has at most about eight bytes per token on average, twice what we count with. A lower share comes from runs of one
 * character, and would not hold for other text behind the same instructions.
 */
const leastScale = 0.5;

/**
 * The prompts seen lately, by API key and hash. Bounded: what was noted longest ago leaves first.
 *
 * @example
 * ```ts
 * import { promptPrefixes } from "../request/prompt_prefixes.ts";
 * import { SeenPrompts } from "./seen_prompts.ts";
 * const seen = new SeenPrompts();
 * const prompt = promptPrefixes("m", "chat", { messages: [{ role: "user", content: "Hello" }] });
 * const usage = { input: 10, cacheRead: 90, cacheWrite: 0, output: 5, reasoning: 0 };
 * seen.note("key_1", prompt, { usage, estimatedInputTokens: 100, outputBytes: 20 }, 0);
 * if (seen.find("key_1", prompt, 1_000)?.cachedTokens !== 90) throw new Error("forgotten");
 * if (seen.find("key_2", prompt, 1_000) !== undefined) throw new Error("told to another key");
 * ```
 */
export class SeenPrompts {
  /** In the order of their last note. */
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** Remembers what a provider reported for a completed call. */
  note(keyId: string, prompt: PromptPrefixes, call: ReportedCall, nowMs: number): void {
    const { usage, estimatedInputTokens, outputBytes } = call;
    // What was written to the cache is read from it next time.
    const cachedTokens = usage.cacheRead + usage.cacheWrite;
    const scales = {
      inputScale: scale(billedInputTokens(usage), estimatedInputTokens),
      outputScale: scale(usage.output, estimateOutputTokens(outputBytes)),
    };
    if (prompt.whole !== undefined) {
      this.#enter(idOf(keyId, prompt.whole.hash), { ...scales, cachedTokens, atMs: nowMs });
    }
    if (prompt.head === undefined) return;
    const headTokens = Math.ceil(prompt.head.chars / bytesPerEstimatedToken);
    this.#enter(idOf(keyId, prompt.head.hash), {
      ...scales,
      cachedTokens: Math.min(cachedTokens, headTokens),
      atMs: nowMs,
    });
  }

  /** What is known of the longest beginning of this prompt that was seen. */
  find(keyId: string, prompt: PromptPrefixes, nowMs: number): EstimateCorrection | undefined {
    const { head, messages } = prompt;
    for (let i = messages.length - 1; i >= -1; i--) {
      const mark = i < 0 ? head : messages[i];
      const entry = mark && this.#entries.get(idOf(keyId, mark.hash));
      if (entry !== undefined && nowMs - entry.atMs <= rememberedMs) return entry;
    }
    return undefined;
  }

  #enter(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (this.#entries.size <= mostEntries) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

function idOf(keyId: string, hash: number): string {
  return `${keyId} ${hash}`;
}

function scale(reported: number, counted: number): number {
  return counted === 0 ? 1 : Math.min(1, Math.max(leastScale, reported / counted));
}
