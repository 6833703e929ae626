/** Prices calls that are paid by the tokens of their input alone, such as embeddings. */
import { estimateOutputTokens } from "../../billing/tokens/rough_estimate.ts";
import { costOfTokens, costOfUnits, worstCaseCost } from "../../billing/price.ts";
import type { AppliedPrice } from "../../billing/usage/receipt.ts";
import { noTokens, type TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { isToken } from "../../calls/body/request_field.ts";
import type { Json } from "../../lib/json/json.ts";
import { textBytes } from "../../wire/stream/reading.ts";

/**
 * Tokens that a provider adds to one text at most: marks of begin and end, and the instruction that some models have
 * for each kind of text.
 */
const addedTokens = 64;

/** The input of a call, by which its tokens are bounded. */
export interface CountedInput {
  /** Texts and lists of tokens. */
  readonly inputs: number;
  /** UTF-8 bytes of all texts. */
  readonly textBytes: number;
  /** Tokens that the caller sent as numbers. */
  readonly tokens: number;
}

/** Counts one input; `undefined` if it is neither a text nor a list of tokens. */
export function countOne(value: Json | undefined): CountedInput | undefined {
  if (typeof value === "string") return { inputs: 1, textBytes: textBytes(value), tokens: 0 };
  if (!Array.isArray(value) || value.length === 0 || !value.every(isToken)) return undefined;
  return { inputs: 1, textBytes: 0, tokens: value.length };
}

/** Adds up two counts. */
export function addCounts(one: CountedInput, other: CountedInput): CountedInput {
  return {
    inputs: one.inputs + other.inputs,
    textBytes: one.textBytes + other.textBytes,
    tokens: one.tokens + other.tokens,
  };
}

/** Returns the gateway's own count of the tokens, for a provider that reports none. */
export function estimatedTokens({ textBytes, tokens }: CountedInput): number {
  return Math.max(1, estimateOutputTokens(textBytes) + tokens);
}

/** The charge for the input of a call. */
export interface InputCharge {
  readonly units: number;
  readonly priceMicroVnd: bigint;
  readonly usage?: TokenUsage;
  readonly estimated: boolean;
  readonly claimMicroVnd: bigint;
}

/** Computes the most tokens that a provider can count: a token of text has at least one byte. */
function maxInputTokens({ inputs, textBytes, tokens }: CountedInput): number {
  return textBytes + tokens + inputs * addedTokens;
}

/** Computes the most that the input can cost. */
export function maxInputCost(price: AppliedPrice, input: CountedInput): bigint {
  return worstCaseCost(price, { inputTokens: maxInputTokens(input), outputTokens: 0 });
}

const ofInput = (input: number): TokenUsage => ({ ...noTokens, input });

/**
 * Prices an answered call. A report of no tokens, of more than the input can have, or none at all is replaced by the
 * gateway's own count; what a provider reports beyond it is a claim.
 *
 * @param reported `undefined` if the provider reported nothing, `NaN` if nonsense
 * @example
 * ```ts
 * import { applyPrice } from "../../billing/price.ts";
 * import { chargeForInput } from "./input_charge.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 500 });
 * const charge = chargeForInput(price, { inputs: 1, textBytes: 40, tokens: 0 }, 9);
 * if (charge.priceMicroVnd !== 4_500n || charge.estimated) throw new Error("not as reported");
 * ```
 */
export function chargeForInput(
  price: AppliedPrice,
  input: CountedInput,
  reported: number | undefined,
): InputCharge {
  const isPossible = reported !== undefined && reported > 0 && reported <= maxInputTokens(input);
  const counted = isPossible ? reported : estimatedTokens(input);
  const usage = ofInput(counted);
  const estimated = !isPossible;
  if (price.unit !== "token") {
    return { units: 1, priceMicroVnd: costOfUnits(price, 1), usage, estimated, claimMicroVnd: 0n };
  }
  const priceMicroVnd = costOfTokens(price, usage);
  const beyond = reported !== undefined && reported > counted
    ? costOfTokens(price, ofInput(reported - counted))
    : 0n;
  return { units: 1, priceMicroVnd, usage, estimated, claimMicroVnd: beyond };
}
