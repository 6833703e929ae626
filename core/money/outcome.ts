/** The published outcome table: who pays for what. One function, so that no path has a rule of its own. */
import type { AppliedPrice, Outcome } from "../receipt.ts";
import { estimateOutputTokens } from "../tokens/rough_estimate.ts";
import { costOfTokens, costOfUnits } from "./price.ts";
import { noTokens, type TokenUsage } from "./token_usage.ts";

/** What is known when a chat call ends. */
export interface ChatEnd {
  readonly outcome: Outcome;
  readonly price: AppliedPrice;
  /** As reported by the provider; `undefined` if it reported none or nonsense. */
  readonly reported: TokenUsage | undefined;
  /** The provider's last word on usage was nonsense: `reported` is an earlier one, from before the end. */
  readonly reportIsStale?: boolean;
  /** Our own count of the prompt, for ends without a report. */
  readonly estimatedInputTokens: number;
  /** Bytes of text, reasoning and tool arguments that came. */
  readonly outputBytes: number;
}

/** The price of an ended call, before the wallet is asked whether it can pay. */
export interface Charge {
  readonly priceMicroVnd: bigint;
  readonly usage: TokenUsage;
  /** The tokens are our count, not the provider's. */
  readonly estimated: boolean;
  readonly units: number;
}

/**
 * Prices the end of a chat call.
 *
 * | outcome | charge |
 * |---|---|
 * | completed | reported usage × price; counted and marked `estimated` if none was reported |
 * | empty, failed | 0 |
 * | broken, client gone | what was produced: reported usage if it came, else counted; 0 if nothing was produced |
 *
 * A price per request is charged once anything was produced.
 *
 * @example
 * ```ts
 * import { chargeForChat } from "./outcome.ts";
 * const price = { unit: "request", perUnitMicroVnd: 230_000_000n } as const;
 * const base = { price, reported: undefined, estimatedInputTokens: 9, outputBytes: 40 };
 * if (chargeForChat({ ...base, outcome: "completed" }).priceMicroVnd !== 230_000_000n) throw new Error();
 * if (chargeForChat({ ...base, outcome: "failed" }).priceMicroVnd !== 0n) throw new Error();
 * ```
 */
export function chargeForChat(end: ChatEnd): Charge {
  const free = end.outcome === "empty" || end.outcome === "failed" ||
    (end.outcome !== "completed" && end.outputBytes === 0);
  if (free) {
    return { priceMicroVnd: 0n, usage: end.reported ?? noTokens, estimated: false, units: 0 };
  }
  const counted = estimateOutputTokens(end.outputBytes);
  const reported = end.reported;
  // A stream that ended early has reported its prompt, but of its output only the first few tokens.
  const early = end.outcome !== "completed" || end.reportIsStale === true;
  const cutShort = early && reported !== undefined && reported.output < counted;
  const estimated = reported === undefined || cutShort;
  const usage = reported === undefined
    ? { ...noTokens, input: end.estimatedInputTokens, output: counted }
    : cutShort
    ? { ...reported, output: counted }
    : reported;
  const priceMicroVnd = end.price.unit === "token"
    ? costOfTokens(end.price, usage)
    : costOfUnits(end.price, 1);
  return { priceMicroVnd, usage, estimated, units: 1 };
}
