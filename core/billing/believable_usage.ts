/** From what a provider said to what is billed: each side of a report is believed, or counted by us instead. */
import { maxBytesPerToken } from "./limits.ts";
import { estimateOutputTokens } from "./tokens/rough_estimate.ts";
import type { TokenBounds } from "./token_bounds.ts";
import { billedInputTokens, noTokens, type ReportedUsage, type TokenUsage } from "./token_usage.ts";

/** What earlier reports for the same beginning of a prompt say about our own count. */
export interface EstimateCorrection {
  /** Tokens at the beginning of the prompt that the provider has in its cache. */
  readonly cachedTokens: number;
  /** Reported tokens for each one that we counted, up to 1. */
  readonly inputScale: number;
  readonly outputScale: number;
}

/** What speaks for or against a report. */
export interface UsageEvidence {
  readonly bounds: TokenBounds;
  /** Our own count of the prompt. */
  readonly estimatedInputTokens: number;
  /** Bytes of text, reasoning and tool arguments that came. */
  readonly outputBytes: number;
  /** Something came that a client can use; perhaps a tool call without arguments, which has no such bytes. */
  readonly produced: boolean;
  /** The report speaks of an earlier moment than the end: of its output only the first part. */
  readonly early: boolean;
  /** Of an earlier call that began with the same prompt, if there was one. */
  readonly correction?: EstimateCorrection | undefined;
}

/** Tokens as they are billed. */
export interface BelievedUsage {
  readonly usage: TokenUsage;
  /** A side of it is our count, or a part of the report was left out. */
  readonly estimated: boolean;
}

/**
 * Judges a report. Nothing is free that came: no input at all, no output, or fewer tokens than its bytes need are not
 * believed either. Counts that are absent are 0 here. What its total or its list of runs shows beyond the counts
 * themselves is dropped if it is beyond the bounds; then input and output are judged by themselves, so that nonsense in
 * one does not spoil the other.
 *
 * @example
 * ```ts
 * import { believableUsage } from "./believable_usage.ts";
 * const bounds = { input: 200_000, askedOutput: 264, possibleOutput: 40_000 };
 * const evidence = { bounds, estimatedInputTokens: 12, outputBytes: 400, produced: true, early: false };
 * const reported = { input: 10, cacheRead: 0, cacheWrite: 0, output: 50_000_000, reasoning: 0 };
 * const { usage, estimated } = believableUsage(reported, evidence);
 * if (usage.input !== 10 || usage.output !== 100 || !estimated) throw new Error("robbed");
 * ```
 */
export function believableUsage(
  reported: ReportedUsage | undefined,
  evidence: UsageEvidence,
): BelievedUsage {
  const said = reported?.said ?? reported;
  if (reported === undefined || said === undefined) {
    return { usage: counted(evidence), estimated: true };
  }
  const { bounds } = evidence;
  const isWhole = reportedInputIsPossible(reported, bounds) &&
    reportedOutputIsPossible(reported, evidence);
  const told = isWhole ? reported : said;
  const own = counted(evidence);
  const trustsInput = reportedInputIsPossible(told, bounds) &&
    !(isFree(told) && (evidence.produced || told.output > 0));
  const trustsOutput = reportedOutputIsPossible(told, evidence) &&
    told.output * maxBytesPerToken >= evidence.outputBytes &&
    !(evidence.produced && told.output === 0) &&
    !(evidence.early && (told.output < own.output || told.output > mostWanted(bounds)));
  const output = trustsOutput ? told.output : own.output;
  const { input, cacheRead, cacheWrite } = trustsInput ? told : own;
  return {
    usage: {
      input,
      cacheRead,
      cacheWrite,
      output,
      reasoning: Math.min(told.reasoning, output),
    },
    estimated: !trustsInput || !trustsOutput || told !== reported || reported.partlyAbsurd === true,
  };
}

/** A whole answer may pass the caller's bound, by its provider's account; one that ended early costs no more than it. */
function mostWanted({ wantedOutput, possibleOutput }: TokenBounds): number {
  return wantedOutput ?? possibleOutput;
}

const uncorrected: EstimateCorrection = { cachedTokens: 0, inputScale: 1, outputScale: 1 };

/** Our own count, within what the caller asked for: a provider that floods must not empty a wallet either. */
function counted(evidence: UsageEvidence): TokenUsage {
  const { bounds, estimatedInputTokens, outputBytes, produced, correction } = evidence;
  const { cachedTokens, inputScale, outputScale } = correction ?? uncorrected;
  const input = Math.min(Math.ceil(estimatedInputTokens * inputScale), bounds.input);
  const cacheRead = Math.min(cachedTokens, input);
  const estimatedOutput = Math.ceil(estimateOutputTokens(outputBytes) * outputScale);
  const mostOutput = Math.min(mostWanted(bounds), bounds.possibleOutput);
  const output = Math.max(Math.min(estimatedOutput, mostOutput), produced ? 1 : 0);
  return {
    ...noTokens,
    input: input - cacheRead,
    cacheRead,
    output,
  };
}

/** No input at all. Few tokens for a long prompt are no such sign: some servers cut prompts down to their window. */
function isFree(usage: TokenUsage): boolean {
  return billedInputTokens(usage) === 0;
}

function reportedInputIsPossible(usage: TokenUsage, bounds: TokenBounds): boolean {
  return billedInputTokens(usage) <= bounds.input;
}

/**
 * Text is bounded by what was asked for; what came beyond it speaks for itself, since a token has at least one byte.
 * Reasoning, and runs that only a list shows, need not be seen: they are bounded by what the model can produce.
 */
function reportedOutputIsPossible(
  usage: ReportedUsage,
  { bounds, outputBytes }: UsageEvidence,
): boolean {
  const { output, reasoning } = usage.said ?? usage;
  const text = output - reasoning;
  const hidden = usage.output - text;
  return text <= Math.max(bounds.askedOutput, Math.min(outputBytes, bounds.possibleOutput)) &&
    hidden <= bounds.possibleOutput;
}
