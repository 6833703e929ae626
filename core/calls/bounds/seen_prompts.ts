/**
 * Remembers what providers reported for recent prompts: how much came from a cache, and how our own count compares.
 * The estimate for a call that broke off uses it, so that a broken call does not cost more than the complete answer.
 */
import type { EstimateCorrection } from "../../billing/usage/believable_usage.ts";
import { billedInputTokens, type TokenUsage } from "../../billing/tokens/token_bounds.ts";
import {
  bytesPerEstimatedToken,
  estimateOutputTokens,
} from "../../billing/tokens/rough_estimate.ts";
import type { PromptPrefixes } from "../request/prompt_prefixes.ts";
import { hourMs } from "../../lib/time/durations.ts";

/** A completed call with a plausible report. */
export interface ReportedCall {
  readonly usage: TokenUsage;
  /** Our own count of its prompt. */
  readonly estimatedInputTokens: number;
  readonly outputBytes: number;
  /**
   * The provider may cache prompts by itself, without a report of what it writes: all that it read and wrote can come
   * from the cache in the next call. Absent: it caches what it reports.
   */
  readonly cachesAll?: boolean;
  /** The same prompt was sent before, so a cache hit of the report is all that the provider caches of it. */
  readonly wasSent?: boolean;
}

interface Entry extends EstimateCorrection {
  readonly atMs: number;
}

/** Entries that are remembered, two for each prompt: about 4 MB. */
const maxEntries = 40_000;
/** Milliseconds for which a prompt is remembered: the longest that a vendor keeps a cache at its ordinary price. */
const rememberedMs = hourMs;
/**
 * Lowest factor by which a report corrects our count. Text has at most about eight bytes per token on average, twice
 * what we count with. A lower factor comes from runs of one character, and would be wrong for other text behind the
 * same instructions.
 */
const leastScale = 0.5;

/**
 * The recent prompts, by API key and hash. Bounded: the entry noted longest ago is removed first.
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
  /** In the order in which they were last noted. */
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** Remembers what a provider reported for a completed call. */
  note(keyId: string, prompt: PromptPrefixes, call: ReportedCall, nowMs: number): void {
    const { usage, estimatedInputTokens, outputBytes } = call;
    const cachedTokens = cachedNextTime(call);
    const scales = {
      inputScale: scale(billedInputTokens(usage), estimatedInputTokens),
      outputScale: scale(usage.output, estimateOutputTokens(outputBytes)),
    };
    if (prompt.whole !== undefined) {
      const known = {
        knownTokens: billedInputTokens(usage),
        knownEstimate: estimatedInputTokens,
      };
      this.#enter(idOf(keyId, prompt.whole.hash), {
        ...scales,
        ...known,
        cachedTokens,
        atMs: nowMs,
      });
    }
    if (prompt.head === undefined) return;
    const headTokens = Math.ceil(prompt.head.chars / bytesPerEstimatedToken);
    this.#enter(idOf(keyId, prompt.head.hash), {
      ...scales,
      cachedTokens: Math.min(cachedTokens, headTokens),
      atMs: nowMs,
    });
  }

  /**
   * Notes that a provider that may cache prompts by itself has read a prompt, whether or not it will report usage.
   *
   * @returns whether the prompt was seen before
   */
  noteSent(
    keyId: string,
    { whole }: PromptPrefixes,
    estimatedInputTokens: number,
    nowMs: number,
  ): boolean {
    if (whole === undefined) return false;
    const id = idOf(keyId, whole.hash);
    const entry = this.#entries.get(id);
    const wasSent = entry !== undefined && nowMs - entry.atMs <= rememberedMs;
    const unreported = { cachedTokens: estimatedInputTokens, inputScale: 1, outputScale: 1 };
    this.#enter(id, { ...(wasSent ? entry : unreported), atMs: nowMs });
    return wasSent;
  }

  /** Finds what is known of the longest beginning of this prompt that was seen before. */
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
    if (this.#entries.size <= maxEntries) return;
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

/** Computes how much of a prompt the provider can read from its cache in the next call that begins with it. */
function cachedNextTime({ usage, cachesAll, wasSent }: ReportedCall): number {
  // Tokens that were written to the cache will be read from it next time.
  const reported = usage.cacheRead + usage.cacheWrite;
  if (cachesAll !== true || (wasSent === true && usage.cacheRead > 0)) return reported;
  return billedInputTokens(usage) + usage.output;
}
