/**
 * Decides what is billed for a report of usage: each side of it is believed, or replaced by the
 * gateway's own count.
 */
import { defined } from "../../lib/base/defined.ts";
import { partsWithin } from "./media_parts.ts";
import { maxBytesPerToken } from "../tokens/limits.ts";
import { estimateOutputTokens } from "../tokens/rough_estimate.ts";
import {
  billedInputTokens,
  noTokens,
  type ReportedUsage,
  type TokenBounds,
  type TokenUsage,
} from "../tokens/token_bounds.ts";

/**
 * The correction of the gateway's own count, from earlier reports for the same beginning of a
 * prompt.
 */
export interface EstimateCorrection {
  /** Tokens at the beginning of the prompt that are in the provider's cache. */
  readonly cachedTokens: number;
  /** Reported tokens of the beginning of the prompt; absent if only its instructions are known. */
  readonly knownTokens?: number;
  /** The gateway's own count of the same beginning. */
  readonly knownEstimate?: number;
  /** Reported tokens for each token of the gateway's own count, at most 1: for what follows the known beginning. */
  readonly inputScale: number;
  readonly outputScale: number;
}

/** The evidence for or against a report. */
export interface UsageEvidence {
  readonly bounds: TokenBounds;
  /** The gateway's own count of the prompt. */
  readonly estimatedInputTokens: number;
  /** Bytes of text, reasoning and tool arguments that arrived. */
  readonly outputBytes: number;
  /**
   * Whether something arrived that a client can use; perhaps a tool call without arguments, which
   * has no such bytes.
   */
  readonly produced: boolean;
  /**
   * Whether the report was made before the end: it then contains only the first part of the output.
   */
  readonly early: boolean;
  /** The correction from an earlier call that began with the same prompt, if there was one. */
  readonly correction?: EstimateCorrection | undefined;
}

/** Tokens as they are billed. */
export interface BelievedUsage {
  readonly usage: TokenUsage;
  /** Whether a side of it is the gateway's count, or a part of the report was left out. */
  readonly estimated: boolean;
}

/**
 * Judges a report of usage.
 *
 * Output that was delivered is never free: a report with no input at all, with no output, or with
 * fewer tokens than its bytes need is not believed. Absent counts are 0 here. If what only a total
 * or a list of runs shows is beyond the bounds, it is dropped; input and output are then judged
 * separately, so that nonsense in one does not spoil the other.
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
    !(evidence.early && (told.output < own.output || told.output > maxWanted(bounds)));
  const output = trustsOutput ? told.output : own.output;
  const { input, cacheRead, cacheWrite, cacheWriteHour } = trustsInput ? told : own;
  const { inputAudio, inputImage } = trustsInput ? told : own;
  const { outputAudio, outputImage } = trustsOutput ? told : own;
  const parts = defined({ inputAudio, inputImage, outputAudio, outputImage });
  return {
    usage: {
      input,
      ...partsWithin(parts, { input, output }),
      cacheRead,
      cacheWrite,
      ...(cacheWriteHour !== undefined && { cacheWriteHour: Math.min(cacheWriteHour, cacheWrite) }),
      output,
      reasoning: Math.min(told.reasoning, output),
    },
    estimated: !trustsInput || !trustsOutput || told !== reported || reported.partlyAbsurd === true,
  };
}

/**
 * Returns the bound of output. A whole answer may exceed the caller's bound, as its provider
 * counts; one that ended early costs no more than the bound.
 */
function maxWanted({ wantedOutput, possibleOutput }: TokenBounds): number {
  return wantedOutput ?? possibleOutput;
}

const uncorrected: EstimateCorrection = { cachedTokens: 0, inputScale: 1, outputScale: 1 };

/**
 * Counts the usage itself, within what the caller requested: a provider that sends too much must
 * not empty a wallet either.
 */
function counted(evidence: UsageEvidence): TokenUsage {
  const { bounds, estimatedInputTokens, outputBytes, produced, correction } = evidence;
  const { cachedTokens, inputScale, outputScale, knownTokens = 0, knownEstimate = 0 } =
    correction ?? uncorrected;
  const further = Math.max(estimatedInputTokens - knownEstimate, 0);
  const input = Math.min(knownTokens + Math.ceil(further * inputScale), bounds.input);
  const cacheRead = Math.min(cachedTokens, input);
  const estimatedOutput = Math.ceil(estimateOutputTokens(outputBytes) * outputScale);
  const maxOutput = Math.min(maxWanted(bounds), bounds.possibleOutput);
  const output = Math.max(Math.min(estimatedOutput, maxOutput), produced ? 1 : 0);
  return {
    ...noTokens,
    input: input - cacheRead,
    cacheRead,
    output,
  };
}

/**
 * Whether a report has no input at all. Few tokens for a long prompt are not a sign of that: some
 * servers cut prompts to their window.
 */
function isFree(usage: TokenUsage): boolean {
  return billedInputTokens(usage) === 0;
}

function reportedInputIsPossible(usage: TokenUsage, bounds: TokenBounds): boolean {
  return billedInputTokens(usage) <= bounds.input;
}

/**
 * Whether reported output is possible. Text is bounded by what was requested; text beyond that
 * proves itself, since a token has at least one byte. Reasoning, and runs that only a list shows,
 * need not be visible: they are bounded by what the model can produce.
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
