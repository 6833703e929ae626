/**
 * The published outcome table: who pays for what, as one function for all paths.
 *
 * Three steps lead from a report to a charge. Each side of the report is believed, or replaced by the gateway's own
 * count. The ceiling bounds the sum: whatever a provider reports, its customer pays no more than a small multiple of
 * the worst case that was known before the call; the rest is between the provider and the operator. The table then
 * decides by the outcome who pays.
 *
 * - Folder `core/billing/`: what calls cost: customers' prices, ceilings, the outcome table, and what providers
 *   charge the operator.
 * - In: the usage and the outcome of a call, the price of its model, the rate card of its route.
 * - Out: a charge in µVND, the range to reserve, and the cost at the provider.
 * - Never: moves money (`kv/money/wallet/` does), or rounds a sum of money through floating point.
 */
import { defined } from "../lib/base/defined.ts";
import {
  billedInputTokens,
  hasMediaParts,
  maxRate,
  noTokens,
  partsWithin,
  type ReportedUsage,
  type TokenBounds,
  type TokenUsage,
} from "./tokens/token_bounds.ts";
import { maxBytesPerToken } from "./tokens/limits.ts";
import { estimateOutputTokens } from "./tokens/rough_estimate.ts";
import type { AppliedPrice, Outcome, TokenRates } from "./usage/receipt.ts";
import { costOfTokens, costOfUnits, ratesFor, tokensPerRate } from "./price.ts";
import {
  type ReservedTool,
  type ToolCharge,
  toolFees,
  type ToolUses,
} from "./usage/hosted_tools.ts";

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
interface BelievedUsage {
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
 * import { believableUsage } from "./outcome.ts";
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

/**
 * Multiple of the worst case. Not one: tokenizers of a model differ from route to route, some
 * vendors let reasoning exceed the caller's bound, and the frame of a short prompt can be longer
 * than the prompt.
 */
export const chargeMultiple = 4n;
/**
 * The multiple for tools that the provider runs: it reads the prompt again with each result, ten
 * times and more.
 */
export const chargeMultipleWithHostedTools = 12n;

/**
 * Computes the ceiling of a call.
 *
 * @param worstCaseMicroVnd see `ChatBounds`
 * @param hostedTools the route that answered runs tools for the call
 */
export function chargeCeiling(worstCaseMicroVnd: bigint, hostedTools: boolean): bigint {
  return worstCaseMicroVnd * (hostedTools ? chargeMultipleWithHostedTools : chargeMultiple);
}

/**
 * Returns the usage if its cost is within the ceiling, else as much of it as is. Output is left out
 * first, since input has a bound of its own.
 *
 * @example
 * ```ts
 * import { withinCeiling } from "./outcome.ts";
 * import { applyPrice } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 1_000 });
 * const usage = { input: 10, cacheRead: 0, cacheWrite: 0, output: 500, reasoning: 400 };
 * const cut = withinCeiling(usage, price, 110_000n);
 * if (cut.input !== 10 || cut.output !== 100 || cut.reasoning !== 100) throw new Error("beyond the ceiling");
 * ```
 */
export function withinCeiling(
  usage: TokenUsage,
  price: AppliedPrice,
  ceilingMicroVnd: bigint,
): TokenUsage {
  if (price.unit !== "token") return usage;
  if (costOfTokens(price, usage) <= ceilingMicroVnd) return usage;
  const inputCost = costOfTokens(price, withParts({ ...usage, output: 0 }, usage));
  if (inputCost > ceilingMicroVnd) return inputWithin(usage, ceilingMicroVnd, inputCost);
  // The price of output is not 0: the cost of the input alone is within the ceiling.
  const left = (ceilingMicroVnd - inputCost) * tokensPerRate;
  const rates = ratesFor(price, usage);
  // With sound or pictures in it, the output is cut as if all of it had its highest rate.
  const output = Math.min(usage.output, Number(left / maxOf(rates, usage)));
  const cut = { ...usage, output, reasoning: Math.min(usage.reasoning, output) };
  return hasMediaParts(usage) ? withParts(cut, usage) : cut;
}

/** Returns the highest rate of the output that there is. */
function maxOf(rates: TokenRates, { outputAudio, outputImage }: TokenUsage): bigint {
  return maxRate(
    rates.outputPerMtokMicroVnd,
    outputAudio === undefined ? undefined : rates.outputAudioPerMtokMicroVnd,
    outputImage === undefined ? undefined : rates.outputImagePerMtokMicroVnd,
  );
}

/** Returns a usage with the parts of another, as far as they fit. */
function withParts(usage: TokenUsage, parts: TokenUsage): TokenUsage {
  const { inputAudio: _a, inputImage: _b, outputAudio: _c, outputImage: _d, ...buckets } = usage;
  return { ...buckets, ...partsWithin(parts, buckets) };
}

/** Takes the same share of each kind of input, and no output. */
function inputWithin(usage: TokenUsage, ceilingMicroVnd: bigint, inputCost: bigint): TokenUsage {
  const share = (tokens: number) => Number(BigInt(tokens) * ceilingMicroVnd / inputCost);
  const { cacheWriteHour, inputAudio = 0, inputImage = 0 } = usage;
  const parts = { inputAudio: share(inputAudio), inputImage: share(inputImage) };
  const text = share(usage.input - inputAudio - inputImage);
  const input = text + parts.inputAudio + parts.inputImage;
  return {
    input,
    ...partsWithin(parts, { input, output: 0 }),
    cacheRead: share(usage.cacheRead),
    cacheWrite: share(usage.cacheWrite),
    ...(cacheWriteHour !== undefined && { cacheWriteHour: share(cacheWriteHour) }),
    output: 0,
    reasoning: 0,
  };
}

/** The bounds of a truthful report that nothing in a request can exceed. */
interface ProvenBounds {
  /** `undefined` if the text of the request does not bound the input. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number;
  /** Most bytes of output, reasoning included. */
  readonly outputBytes: number;
  /** Most bytes of the answer itself, which the caller bounds. */
  readonly answerBytes: number;
}

/** The bytes that arrived. */
interface WrittenBytes {
  readonly outputBytes: number;
  /** Absent if they are not counted separately. */
  readonly answerBytes?: number | undefined;
}

/** Whether more arrived than the caller's bound, or the model, allows. */
function wroteTooMuch(
  { outputBytes, answerBytes = 0 }: WrittenBytes,
  proven: ProvenBounds,
): boolean {
  return outputBytes > proven.outputBytes || answerBytes > proven.answerBytes;
}

/** The side of a report that is impossible. */
export type Implausible = "input" | "output";

/**
 * Returns which side of a call is false, not just doubtful: no prompt of a caller can make a
 * truthful provider report it. Routes are judged by this.
 */
function implausibleSide(
  reported: TokenUsage | undefined,
  written: WrittenBytes,
  proven: ProvenBounds,
): Implausible | undefined {
  if (wroteTooMuch(written, proven)) return "output";
  if (reported === undefined) return undefined;
  const { inputTokens } = proven;
  if (inputTokens !== undefined && billedInputTokens(reported) > inputTokens) return "input";
  const text = reported.output - reported.reasoning;
  return text > Math.max(proven.outputTokens, written.outputBytes) ? "output" : undefined;
}

/** The facts about a chat call at its end. */
export interface ChatEnd {
  readonly outcome: Outcome;
  readonly price: AppliedPrice;
  /** The report of the provider; `undefined` if it made none, or nonsense. */
  readonly reported: ReportedUsage | undefined;
  /** The bounds of a credible report. */
  readonly bounds: TokenBounds;
  /**
   * Whether the provider's last report was nonsense: `reported` is then an earlier one, from before
   * the end.
   */
  readonly reportIsStale?: boolean;
  /** The gateway's own count of the prompt, for ends without a report. */
  readonly estimatedInputTokens: number;
  /** Bytes of text, reasoning and tool arguments that arrived. */
  readonly outputBytes: number;
  /** Of these, the bytes of the answer itself; absent if they are not counted separately. */
  readonly answerBytes?: number | undefined;
  /** Whether something arrived that a client can use, perhaps without such bytes. */
  readonly produced: boolean;
  /**
   * Whether the provider had stated why its answer stops: an existing report then covers the whole
   * answer.
   */
  readonly stopped?: boolean;
  /** Whether the provider sent an error in its stream before anything of the answer itself. */
  readonly failedUnanswered?: boolean;
  /** The correction of the gateway's own count, for a call that ended early. */
  readonly correction?: EstimateCorrection | undefined;
  /** The hosted tools that were reserved. */
  readonly tools?: readonly ReservedTool[];
  /** Runs of the tools; absent if the provider does not tell. */
  readonly toolUses?: ToolUses | undefined;
  /** The most that is charged for tokens; see {@linkcode chargeCeiling}. */
  readonly ceilingMicroVnd?: bigint;
  /** The bounds that a truthful provider cannot exceed. */
  readonly proven?: ProvenBounds;
}

/** The price of an ended call, before the wallet decides whether it can pay. */
export interface Charge {
  readonly priceMicroVnd: bigint;
  readonly usage: TokenUsage;
  /** Whether the tokens are the gateway's count, not the provider's. */
  readonly estimated: boolean;
  readonly units: number;
  /** Fees of hosted tools, which the price contains. */
  readonly toolCharges: readonly ToolCharge[];
  /** The provider's report beyond what is charged, at the price of the customer. */
  readonly claimMicroVnd: bigint;
  /** The side of the call that is false and not caused by the caller. */
  readonly implausible: Implausible | undefined;
}

/**
 * Prices the end of a chat call.
 *
 * - completed: reported usage × price; what is absent or impossible is counted, and marked
 *   `estimated`
 * - empty, failed: 0
 * - broken, client gone, cut: what was produced, by reported usage if there is any, else counted; 0
 *   if nothing was produced
 * - an error event of the provider before any text, refusal or tool arguments: 0
 *
 * A price per request is charged once anything was produced. No charge is above the ceiling of its
 * call. The fees of hosted tools are added to what is not free, up to the uses that were reserved.
 *
 * @example
 * ```ts
 * import { chargeForChat } from "./outcome.ts";
 * const price = { unit: "request", perUnitMicroVnd: 230_000_000n } as const;
 * const bounds = { input: 200_000, askedOutput: 264, possibleOutput: 40_000 };
 * const base = { price, bounds, reported: undefined, estimatedInputTokens: 9, outputBytes: 40, produced: true };
 * if (chargeForChat({ ...base, outcome: "completed" }).priceMicroVnd !== 230_000_000n) throw new Error();
 * if (chargeForChat({ ...base, outcome: "failed" }).priceMicroVnd !== 0n) throw new Error();
 * ```
 */
export function chargeForChat(end: ChatEnd): Charge {
  const free = end.outcome === "empty" || end.outcome === "failed" ||
    (end.outcome !== "completed" && !end.produced) ||
    (end.outcome === "broken" && end.failedUnanswered === true);
  // A stream that ended early has reported its prompt, but only the first few tokens of its output.
  const early = (end.outcome !== "completed" && end.stopped !== true) ||
    end.reportIsStale === true;
  const { price, ceilingMicroVnd } = end;
  const { usage: believed, estimated } = believableUsage(end.reported, { ...end, early });
  const implausible = implausibleOf(end);
  if (free) {
    const usage = estimated ? noTokens : believed;
    const nothing = {
      priceMicroVnd: 0n,
      estimated: false,
      units: 0,
      toolCharges: [],
      claimMicroVnd: 0n,
    };
    return { ...nothing, usage, implausible };
  }
  const tools = toolFees(end.tools ?? [], end.toolUses);
  const toolCharges = tools.charges;
  if (price.unit !== "token") {
    return {
      priceMicroVnd: costOfUnits(price, 1) + tools.feesMicroVnd,
      usage: believed,
      estimated,
      units: 1,
      toolCharges,
      claimMicroVnd: tools.claimMicroVnd,
      implausible,
    };
  }
  const usage = ceilingMicroVnd === undefined
    ? believed
    : withinCeiling(believed, price, ceilingMicroVnd);
  const tokensMicroVnd = costOfTokens(price, usage);
  return {
    priceMicroVnd: tokensMicroVnd + tools.feesMicroVnd,
    usage,
    estimated: estimated || usage !== believed,
    units: 1,
    toolCharges,
    claimMicroVnd: claimOf(end, usage, tokensMicroVnd) + tools.claimMicroVnd,
    implausible,
  };
}

function implausibleOf(end: ChatEnd): Implausible | undefined {
  const { reported, proven } = end;
  // The part that only a total or a list of runs shows may be a second reading of the prompt.
  return proven && implausibleSide(reported?.said ?? reported, end, proven);
}

/**
 * Computes what tokens the provider reports, or would have reported where it was stopped, cost beyond what is
 * charged for them.
 */
function claimOf(
  end: ChatEnd,
  usage: TokenUsage,
  tokensMicroVnd: bigint,
): bigint {
  const { price, reported, outputBytes, proven } = end;
  let told = reported === undefined ? 0n : costOfTokens(price, reported);
  if (proven !== undefined && wroteTooMuch(end, proven)) {
    const output = Math.max(usage.output, estimateOutputTokens(outputBytes));
    const shown = costOfTokens(price, { ...usage, output });
    if (shown > told) told = shown;
  }
  return told > tokensMicroVnd ? told - tokensMicroVnd : 0n;
}
