/** Prices as the operator writes them, and the cost of a call under them: pure and exact. */
import { invariant } from "../lib/base/assert.ts";
import { defined } from "../lib/base/defined.ts";
import { dearestOf, mediaDifference } from "./usage/media_parts.ts";
import type { ToolPrices } from "./usage/hosted_tools.ts";
import { maxReportedTokens } from "./tokens/limits.ts";
import type { AppliedPrice, TokenRates } from "./usage/receipt.ts";
import { billedInputTokens, type TokenUsage } from "./tokens/token_bounds.ts";
import { tierFactors, type TierPrices } from "./service_tiers.ts";
import { microVndOf, type WrittenVnd } from "./money/micro_vnd.ts";

/** One step of a price by length, in whole seconds, both ends included. */
export interface VideoPriceTier {
  readonly fromSeconds: number;
  readonly toSeconds: number;
  readonly vnd: WrittenVnd;
}

/** Prices of tokens in the catalogue. */
interface CatalogueRates {
  /** Per 1,000,000 tokens, input and output alike unless the next fields differ. */
  readonly vndPerMtok: WrittenVnd;
  readonly outputVndPerMtok?: WrittenVnd | undefined;
  readonly cacheReadVndPerMtok?: WrittenVnd | undefined;
  readonly cacheWriteVndPerMtok?: WrittenVnd | undefined;
  /** Prompt tokens that a cache keeps for an hour; absent: as other cache writes. */
  readonly cacheWriteHourVndPerMtok?: WrittenVnd | undefined;
  /** Tokens of sound and pictures; absent: as text. */
  readonly inputAudioVndPerMtok?: WrittenVnd | undefined;
  readonly inputImageVndPerMtok?: WrittenVnd | undefined;
  readonly outputAudioVndPerMtok?: WrittenVnd | undefined;
  readonly outputImageVndPerMtok?: WrittenVnd | undefined;
}

/** A price in the catalogue, as written; the list figure is derived, never stored. */
export type CataloguePrice =
  | CatalogueRates & {
    readonly unit: "token";
    /** The rates of a whole call that is billed for more input than `aboveTokens`. */
    readonly longPrompt?: CatalogueRates & { readonly aboveTokens: number } | undefined;
    /** Factors on all rates, by tier of service. */
    readonly serviceTiers?: TierPrices | undefined;
    readonly hostedTools?: ToolPrices | undefined;
  }
  | {
    readonly unit: "request";
    readonly vnd: WrittenVnd;
    readonly hostedTools?: ToolPrices | undefined;
  }
  | { readonly unit: "image"; readonly vnd: WrittenVnd }
  /** Searches of some documents each. */
  | { readonly unit: "search"; readonly vnd: WrittenVnd }
  /** Audio, billed by the second. */
  | { readonly unit: "second"; readonly vndPerMinute: WrittenVnd }
  | { readonly unit: "video"; readonly tiers: readonly VideoPriceTier[] };

/**
 * Fixes the unit prices at admission. A video price needs the seconds of the request.
 *
 * @throws {InvariantError} if a video length has no tier: the request should have been refused
 * before
 */
export function applyPrice(price: CataloguePrice, seconds?: number): AppliedPrice {
  switch (price.unit) {
    case "token": {
      const { longPrompt, serviceTiers } = price;
      return {
        unit: "token",
        ...ratesOf(price),
        ...(longPrompt && {
          long: { ...ratesOf(longPrompt), aboveTokens: longPrompt.aboveTokens },
        }),
        ...(serviceTiers && { tiers: tierFactors(serviceTiers) }),
      };
    }
    case "request":
    case "image":
    case "search":
      return { unit: price.unit, perUnitMicroVnd: microVndOf(price.vnd) };
    case "second":
      return { unit: "second", perUnitMicroVnd: perSecond(price.vndPerMinute) };
    case "video": {
      const tier = price.tiers.find((t) =>
        seconds !== undefined && seconds >= t.fromSeconds && seconds <= t.toSeconds
      );
      invariant(tier !== undefined, `No price for a video of ${seconds} seconds`);
      return { unit: "video", perUnitMicroVnd: microVndOf(tier.vnd) };
    }
  }
}

function ratesOf(price: CatalogueRates): TokenRates {
  const { vndPerMtok } = price;
  const rateOf = (written: WrittenVnd | undefined) =>
    written === undefined ? undefined : microVndOf(written);
  return {
    inputPerMtokMicroVnd: microVndOf(vndPerMtok),
    outputPerMtokMicroVnd: microVndOf(price.outputVndPerMtok ?? vndPerMtok),
    cacheReadPerMtokMicroVnd: microVndOf(price.cacheReadVndPerMtok ?? vndPerMtok),
    cacheWritePerMtokMicroVnd: microVndOf(price.cacheWriteVndPerMtok ?? vndPerMtok),
    ...defined({
      cacheWriteHourPerMtokMicroVnd: rateOf(price.cacheWriteHourVndPerMtok),
      inputAudioPerMtokMicroVnd: rateOf(price.inputAudioVndPerMtok),
      inputImagePerMtokMicroVnd: rateOf(price.inputImageVndPerMtok),
      outputAudioPerMtokMicroVnd: rateOf(price.outputAudioVndPerMtok),
      outputImagePerMtokMicroVnd: rateOf(price.outputImageVndPerMtok),
    }),
  };
}

/** Returns all rates, each with its value where it is absent. */
function allRates(rates: TokenRates): readonly bigint[] {
  const { inputPerMtokMicroVnd: input, outputPerMtokMicroVnd: output } = rates;
  const { cacheWritePerMtokMicroVnd: write } = rates;
  return [
    input,
    output,
    rates.cacheReadPerMtokMicroVnd,
    write,
    rates.cacheWriteHourPerMtokMicroVnd ?? write,
    rates.inputAudioPerMtokMicroVnd ?? input,
    rates.inputImagePerMtokMicroVnd ?? input,
    rates.outputAudioPerMtokMicroVnd ?? output,
    rates.outputImagePerMtokMicroVnd ?? output,
  ];
}

/** Whether no rate is lower than the same one of another price. */
export function isNowhereCheaper(price: CatalogueRates, other: CatalogueRates): boolean {
  const [rates, others] = [allRates(ratesOf(price)), allRates(ratesOf(other))];
  return rates.every((rate, at) => rate >= others[at]!);
}

/**
 * Returns the rates at which usage is charged, as a price without `long`: which of them apply is known only from the
 * tokens that are billed as input.
 *
 * @example
 * ```ts
 * import { applyPrice, chargedRates } from "./price.ts";
 * const longPrompt = { aboveTokens: 200_000, vndPerMtok: 6 };
 * const price = applyPrice({ unit: "token", vndPerMtok: 3, longPrompt });
 * const usage = { input: 200_001, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
 * const charged = chargedRates(price, usage);
 * if (charged.unit !== "token" || charged.outputPerMtokMicroVnd !== 6_000_000n) throw new Error("the rates of a short prompt");
 * ```
 */
export function chargedRates(price: AppliedPrice, usage: TokenUsage | undefined): AppliedPrice {
  if (price.unit !== "token" || price.long === undefined) return price;
  const { long, ...short } = price;
  if (usage === undefined || ratesFor(price, usage) !== long) return short;
  const { aboveTokens: _, ...rates } = long;
  return { unit: "token", ...rates };
}

/** Whether input from a provider's cache is cheaper than other input. */
export function hasCachePrice(price: AppliedPrice): boolean {
  return price.unit === "token" && price.cacheReadPerMtokMicroVnd < price.inputPerMtokMicroVnd;
}

/** Returns the fees of a model's hosted tools. */
export function toolPricesOf(price: CataloguePrice): ToolPrices | undefined {
  return price.unit === "token" || price.unit === "request" ? price.hostedTools : undefined;
}

function isZero(written: WrittenVnd): boolean {
  return Number(written) === 0;
}

function isFree({ vndPerMtok, outputVndPerMtok }: CatalogueRates): boolean {
  return isZero(vndPerMtok) || (outputVndPerMtok !== undefined && isZero(outputVndPerMtok));
}

const secondsPerMinute = 60n;

/** Returns µVND, rounded up so that a minute costs no less than its price. */
function perSecond(vndPerMinute: WrittenVnd): bigint {
  return (microVndOf(vndPerMinute) + secondsPerMinute - 1n) / secondsPerMinute;
}

/** Whether a call under a price may cost nothing. */
export function mayBeFree(price: CataloguePrice): boolean {
  switch (price.unit) {
    case "token":
      return isFree(price) || price.longPrompt !== undefined && isFree(price.longPrompt);
    case "request":
    case "image":
    case "search":
      return isZero(price.vnd);
    case "second":
      return isZero(price.vndPerMinute);
    case "video":
      return price.tiers.some(({ vnd }) => isZero(vnd));
  }
}

/** Tokens that the rates of a price are for. */
export const tokensPerRate = 1_000_000n;

/**
 * Rounds the sum of tokens × rates of a call to µVND: up, and once per call, so that no fraction of a price is given
 * away and nothing is rounded per token.
 */
function roundedUp(tokenRates: bigint): bigint {
  return (tokenRates + tokensPerRate - 1n) / tokensPerRate;
}

/**
 * Computes the cost of usage in tokens, rounded up to a µVND once for all of them.
 *
 * @example
 * ```ts
 * import { applyPrice, costOfTokens } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 8_300 });
 * const cost = costOfTokens(price, { input: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 });
 * if (cost !== 1_245_000n) throw new Error(String(cost)); // 1.245 VND
 * ```
 *
 * @throws {InvariantError} if the price is not per token or a bucket is no whole number of 0 or
 * more
 */
export function costOfTokens(price: AppliedPrice, usage: TokenUsage): bigint {
  invariant(price.unit === "token", () => `Cannot price tokens per ${price.unit}`);
  const { input, cacheRead, cacheWrite, cacheWriteHour = 0, output } = usage;
  for (const count of [input, cacheRead, cacheWrite, cacheWriteHour, output]) {
    invariant(
      Number.isSafeInteger(count) && count >= 0 && count <= maxReportedTokens,
      () => `A token count is out of bounds: ${count}`,
    );
  }
  invariant(cacheWriteHour <= cacheWrite, "A part of the cache writes is larger than all of them");
  const { inputAudio = 0, inputImage = 0, outputAudio = 0, outputImage = 0 } = usage;
  invariant(
    inputAudio + inputImage <= input && outputAudio + outputImage <= output,
    "Parts of the tokens are larger than all of them",
  );
  const rates = ratesFor(price, usage);
  const { cacheWriteHourPerMtokMicroVnd = rates.cacheWritePerMtokMicroVnd } = rates;
  return roundedUp(
    BigInt(input) * rates.inputPerMtokMicroVnd +
      BigInt(cacheRead) * rates.cacheReadPerMtokMicroVnd +
      BigInt(cacheWrite - cacheWriteHour) * rates.cacheWritePerMtokMicroVnd +
      BigInt(cacheWriteHour) * cacheWriteHourPerMtokMicroVnd +
      BigInt(output) * rates.outputPerMtokMicroVnd + mediaDifference(rates, usage),
  );
}

type TokenPrice = AppliedPrice & { readonly unit: "token" };

/** Returns the rates that apply to usage. */
export function ratesFor(price: TokenPrice, usage: TokenUsage): TokenRates {
  return ratesAt(price, billedInputTokens(usage));
}

/** Returns the rates of a call that is billed for so much input. Those of long prompts are nowhere cheaper. */
function ratesAt(price: TokenPrice, inputTokens: number): TokenRates {
  const { long } = price;
  return long !== undefined && inputTokens > long.aboveTokens ? long : price;
}

/** Computes the cost of `units` calls, images, videos, seconds or searches. */
export function costOfUnits(price: AppliedPrice, units: number): bigint {
  invariant(price.unit !== "token", "Cannot price units per token");
  invariant(Number.isSafeInteger(units) && units >= 0, () => `Units are out of bounds: ${units}`);
  return BigInt(units) * price.perUnitMicroVnd;
}

/** The most tokens of a call. */
export interface MostTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether the prompt has text only; absent: it may have sound and pictures. */
  readonly isText?: boolean;
}

/**
 * Computes the most that a chat call can cost, which is reserved before it is admitted. Input is
 * priced at the most expensive input bucket, since the effect of the provider's cache is not known
 * yet, and output at its most expensive kind: some models draw and speak unasked.
 */
export function worstCaseCost(price: AppliedPrice, bound: MostTokens): bigint {
  if (price.unit !== "token") return price.perUnitMicroVnd;
  invariant(Number.isSafeInteger(bound.inputTokens) && bound.inputTokens >= 0, "Input bound");
  invariant(Number.isSafeInteger(bound.outputTokens) && bound.outputTokens >= 0, "Output bound");
  const rates = ratesAt(price, bound.inputTokens);
  const cached = dearestOf(
    rates.inputPerMtokMicroVnd,
    rates.cacheReadPerMtokMicroVnd,
    rates.cacheWritePerMtokMicroVnd,
    rates.cacheWriteHourPerMtokMicroVnd,
  );
  const dearest = bound.isText === true
    ? cached
    : dearestOf(cached, rates.inputAudioPerMtokMicroVnd, rates.inputImagePerMtokMicroVnd);
  return roundedUp(
    BigInt(bound.inputTokens) * dearest + BigInt(bound.outputTokens) * dearestOutput(rates),
  );
}

function dearestOutput(rates: TokenRates): bigint {
  return dearestOf(
    rates.outputPerMtokMicroVnd,
    rates.outputAudioPerMtokMicroVnd,
    rates.outputImagePerMtokMicroVnd,
  );
}

/**
 * Computes the most that a token of output can cost, in µVND rounded up, by which the reservation of a stream grows;
 * 0 for prices of another unit.
 */
export function maxPerOutputToken(price: AppliedPrice, inputTokens: number): bigint {
  if (price.unit !== "token") return 0n;
  return roundedUp(dearestOutput(ratesAt(price, inputTokens)));
}
