/**
 * The published outcome table: who pays for what, as one function for all paths.
 *
 * - Folder `core/billing/`: what calls cost: customers' prices, ceilings, the outcome table, and what providers
 *   charge the operator.
 * - In: the usage and the outcome of a call, the price of its model, the rate card of its route.
 * - Out: a charge in µVND, the range to reserve, and the cost at the provider.
 * - Never: moves money (`kv/money/wallet/` does), or rounds a sum of money through floating point.
 */
import {
  type ReservedTool,
  type ToolCharge,
  toolFees,
  type ToolUses,
} from "./usage/hosted_tools.ts";
import type { AppliedPrice, Outcome } from "./usage/receipt.ts";
import { estimateOutputTokens } from "./tokens/rough_estimate.ts";
import { believableUsage, type EstimateCorrection } from "./usage/believable_usage.ts";
import {
  type Implausible,
  implausibleSide,
  type ProvenBounds,
  withinCeiling,
  wroteTooMuch,
} from "./charge_ceiling.ts";
import { costOfTokens, costOfUnits } from "./price.ts";
import {
  noTokens,
  type ReportedUsage,
  type TokenBounds,
  type TokenUsage,
} from "./tokens/token_bounds.ts";

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
  /** How often they ran; absent if the provider does not tell. */
  readonly toolUses?: ToolUses | undefined;
  /** The most that is charged for tokens; see `charge_ceiling.ts`. */
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
