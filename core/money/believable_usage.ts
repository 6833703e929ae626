/** From what a provider said to what is billed: each side of a report is believed, or counted by us instead. */
import { estimateOutputTokens } from "../tokens/rough_estimate.ts";
import type { TokenBounds } from "./token_bounds.ts";
import { billedInputTokens, noTokens, type ReportedUsage, type TokenUsage } from "./token_usage.ts";

/** What speaks for or against a report. */
export interface UsageEvidence {
  readonly bounds: TokenBounds;
  /** Our own count of the prompt. */
  readonly estimatedInputTokens: number;
  /** Bytes of text, reasoning and tool arguments that came. */
  readonly outputBytes: number;
  /** The report speaks of an earlier moment than the end: of its output only the first part. */
  readonly early: boolean;
}

/** Tokens as they are billed. */
export interface BelievedUsage {
  readonly usage: TokenUsage;
  /** A side of it is our count, or a part of the report was left out. */
  readonly estimated: boolean;
}

/**
 * Judges a report. What its total or its list of runs shows beyond the counts themselves is dropped if it is beyond the
 * bounds; then input and output are judged by themselves, so that nonsense in one does not spoil the other.
 *
 * @example
 * ```ts
 * import { believableUsage } from "./believable_usage.ts";
 * const bounds = { input: 200_000, askedOutput: 264, possibleOutput: 40_000 };
 * const evidence = { bounds, estimatedInputTokens: 12, outputBytes: 400, early: false };
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
  const trustsInput = reportedInputIsPossible(told, bounds);
  const trustsOutput = reportedOutputIsPossible(told, evidence) &&
    !(evidence.early && told.output < own.output);
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

/** Our own count, within the bounds too: a provider that floods must not empty a wallet either. */
function counted({ bounds, estimatedInputTokens, outputBytes }: UsageEvidence): TokenUsage {
  return {
    ...noTokens,
    input: Math.min(estimatedInputTokens, bounds.input),
    output: Math.min(estimateOutputTokens(outputBytes), bounds.possibleOutput),
  };
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
