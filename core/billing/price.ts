/**
 * Customers' prices as the operator writes them, and what a call costs its customer under them: pure and exact.
 *
 * Tiers of service such as `flex` and `priority` are factors on the rates of tokens. A call reserves at the highest
 * factor that it may get: a provider may run a call at its usual tier instead of the requested one. It is charged by
 * the tier that the provider reports, but never more than was reserved: a caller that asks for no tier does not pay
 * for one.
 *
 * At the end is the rule for the money with which a call begins where there is too little for all that it may cost.
 * Wallets and limits of keys use the same rule.
 */
import { invariant } from "../lib/base/assert.ts";
import { billedInputTokens, maxRate, type TokenUsage } from "./tokens/token_bounds.ts";
import type { ToolPrices } from "./usage/hosted_tools.ts";
import { maxReportedTokens } from "./tokens/limits.ts";
import type { AppliedPrice, TokenRates } from "./usage/receipt.ts";
import {
  type AmountReader,
  appliedRate,
  appliedRates,
  atFactor,
  bucketRates,
  compileTariff,
  countTokens,
  priceMembers,
  rateOf,
  readRates,
  stepOf,
  type Tariff,
  tokenBuckets,
  usualFactor,
  type WrittenRates,
  type WrittenTariff,
} from "./tariff.ts";
import { microVndOf, type WrittenVnd } from "./money/micro_vnd.ts";

type PriceMembers = typeof priceMembers;

/** Prices of tokens in the catalogue: VND per 1,000,000. */
type CatalogueRates = WrittenRates<PriceMembers, WrittenVnd>;

/** A price in the catalogue, as written; the list figure is derived, never stored. */
export type CataloguePrice = WrittenTariff<
  PriceMembers,
  "vnd",
  "vndPerMinute",
  WrittenVnd,
  ToolPrices
>;

/** Reads a customers' price in µVND. */
const inMicroVnd: AmountReader<PriceMembers, "vnd", "vndPerMinute", WrittenVnd> = {
  rates: (rates) =>
    readRates(microVndOf(rates.vndPerMtok), (bucket) => {
      const written = rates[priceMembers[bucket]];
      return written === undefined ? undefined : microVndOf(written);
    }),
  piece: ({ vnd }) => microVndOf(vnd),
  minute: ({ vndPerMinute }) => microVndOf(vndPerMinute),
};

/** The prices that were read; a catalogue lives as long as its calls, and each call applies one. */
const read = new WeakMap<CataloguePrice, Tariff>();

function tariffOf(price: CataloguePrice): Tariff {
  let tariff = read.get(price);
  if (tariff === undefined) read.set(price, tariff = compileTariff(price, inMicroVnd));
  return tariff;
}

/**
 * Fixes the unit prices at admission. A video price needs the seconds of the request.
 *
 * @throws {InvariantError} if a video length has no tier: the request should have been refused
 * before
 */
export function applyPrice(price: CataloguePrice, seconds?: number): AppliedPrice {
  const tariff = tariffOf(price);
  switch (tariff.unit) {
    case "token": {
      const { rates, long, tiers } = tariff;
      return {
        unit: "token",
        ...appliedRates(rates),
        ...(long && { long: { ...appliedRates(long.rates), aboveTokens: long.aboveTokens } }),
        ...(tiers && { tiers }),
      };
    }
    case "video": {
      const step = seconds === undefined ? undefined : stepOf(tariff.tiers, seconds);
      invariant(step !== undefined, `No price for a video of ${seconds} seconds`);
      return { unit: "video", perUnitMicroVnd: step.amount };
    }
    case "second":
      return { unit: "second", perUnitMicroVnd: perSecond(tariff.amount) };
    default:
      return { unit: tariff.unit, perUnitMicroVnd: tariff.amount };
  }
}

/** Whether no rate is lower than the same one of another price. */
export function isNowhereCheaper(price: CatalogueRates, other: CatalogueRates): boolean {
  const [rates, others] = [inMicroVnd.rates(price), inMicroVnd.rates(other)];
  return tokenBuckets.every((bucket) => rateOf(rates, bucket) >= rateOf(others, bucket));
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

const secondsPerMinute = 60n;

/** Returns µVND, rounded up so that a minute costs no less than its price. */
function perSecond(perMinuteMicroVnd: bigint): bigint {
  return (perMinuteMicroVnd + secondsPerMinute - 1n) / secondsPerMinute;
}

/** Whether a call under a price may cost nothing. */
export function mayBeFree(price: CataloguePrice): boolean {
  const tariff = tariffOf(price);
  switch (tariff.unit) {
    case "token":
      return [tariff.rates, tariff.long?.rates].some((rates) =>
        rates !== undefined && (rates.input === 0n || rates.output === 0n)
      );
    case "video":
      return tariff.tiers.some(({ amount }) => amount === 0n);
    default:
      return tariff.amount === 0n;
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
  let tokenRates = 0n;
  countTokens(usage, (bucket) => appliedRate(rates, bucket) !== undefined, (bucket, tokens) => {
    const rate = appliedRate(rates, bucket);
    invariant(rate !== undefined, "Tokens were counted in a kind that has no rate");
    tokenRates += BigInt(tokens) * rate;
  });
  return roundedUp(tokenRates);
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
interface MostTokens {
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
  return roundedUp(
    BigInt(bound.inputTokens) * maxInputRate(rates, bound.isText === true) +
      BigInt(bound.outputTokens) * maxOutputRate(rates),
  );
}

/** The highest unit prices by which a call may be charged, in µVND: of 1,000,000 tokens, and of a call. */
export interface MaxUnitPrices {
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly request: bigint;
}

/**
 * Computes the highest unit prices of a call whose input is bounded: a prompt may be charged as cached, as long, or as
 * sound.
 *
 * @example
 * ```ts
 * import { applyPrice, maxUnitPrices } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 100, cacheWriteVndPerMtok: 125 });
 * const { prompt, completion, request } = maxUnitPrices(price, { inputTokens: 10, isText: true });
 * if (prompt !== 125_000_000n || completion !== 100_000_000n || request !== 0n) throw new Error("wrong");
 * ```
 */
export function maxUnitPrices(
  price: AppliedPrice,
  bound: Pick<MostTokens, "inputTokens" | "isText">,
): MaxUnitPrices {
  if (price.unit !== "token") {
    return { prompt: 0n, completion: 0n, request: price.perUnitMicroVnd };
  }
  const rates = ratesAt(price, bound.inputTokens);
  return {
    prompt: maxInputRate(rates, bound.isText === true),
    completion: maxOutputRate(rates),
    request: 0n,
  };
}

function maxInputRate(rates: TokenRates, isText: boolean): bigint {
  const cached = maxRate(
    rates.inputPerMtokMicroVnd,
    rates.cacheReadPerMtokMicroVnd,
    rates.cacheWritePerMtokMicroVnd,
    rates.cacheWriteHourPerMtokMicroVnd,
  );
  return isText
    ? cached
    : maxRate(cached, rates.inputAudioPerMtokMicroVnd, rates.inputImagePerMtokMicroVnd);
}

function maxOutputRate(rates: TokenRates): bigint {
  return maxRate(
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
  return roundedUp(maxOutputRate(ratesAt(price, inputTokens)));
}

/** The tier of a call that asks for none, at the rates of the price itself. */
export const usualTier = "default";

/** Most decimals of a factor: with those of a price, within the six that are exact. */
export const factorDecimals = 2;

/** Names of the usual tier. What `auto` means is the operator's own setting at the provider. */
const usualNames: ReadonlySet<string> = new Set([
  "",
  "auto",
  "standard",
  "standard_only",
  "on_demand",
  "unspecified",
  "provisioned",
  "provisioned_throughput",
  "batch",
]);

/**
 * Returns one name for what vendors call a tier.
 *
 * @example
 * ```ts
 * import { tierName } from "./price.ts";
 * const names = ["SERVICE_TIER_PRIORITY", "ON_DEMAND_FLEX", "performance", "standard", "ultra"].map(tierName);
 * if (names.join() !== "priority,flex,priority,default,ultra") throw new Error(names.join());
 * ```
 */
export function tierName(word: string): string {
  const name = word.toLowerCase().replace(/^service_tier_/, "").replace(/^on_demand_/, "");
  if (usualNames.has(name)) return usualTier;
  return name === "performance" ? "priority" : name;
}

function factorOf(price: AppliedPrice, tier: string): bigint {
  const tiers = price.unit === "token" ? price.tiers : undefined;
  return tiers !== undefined && Object.hasOwn(tiers, tier) ? tiers[tier]! : usualFactor;
}

/** Computes the highest factor of a call that asks for a tier, in hundredths. */
function maxFactor(price: AppliedPrice, asked: string): bigint {
  const factor = factorOf(price, asked);
  return factor > usualFactor ? factor : usualFactor;
}

/** Returns the price at which a call reserves money that asks for a tier. */
export function reservedPrice(price: AppliedPrice, asked: string): AppliedPrice {
  return withFactor(price, maxFactor(price, asked));
}

/** The tier of an ended call, as far as it is known. */
interface TierOfCall {
  readonly asked: string;
  /** As the provider calls it; absent if it reported none. */
  readonly reported?: string | undefined;
  /** Whether the provider got the request for the tier. */
  readonly isCarried: boolean;
}

/** A price without factors, and the tier whose factor it contains; absent: the usual one. */
export interface ChargedTier {
  readonly price: AppliedPrice;
  readonly serviceTier?: string;
}

/**
 * Returns the price that a call is charged by. A provider that reports no tier is taken to have run a dearer one that it
 * was asked for, and the usual one instead of a cheaper one.
 *
 * @example
 * ```ts
 * import { applyPrice } from "./price.ts";
 * import { chargedTier } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 100, serviceTiers: { priority: 2 } });
 * const charged = chargedTier(price, { asked: "priority", reported: "default", isCarried: true });
 * if (charged.serviceTier !== undefined) throw new Error("charged for a tier that was not given");
 * ```
 */
export function chargedTier(
  price: AppliedPrice,
  { asked, reported, isCarried }: TierOfCall,
): ChargedTier {
  if (price.unit !== "token" || price.tiers === undefined) return { price };
  const most = maxFactor(price, asked);
  const known = reported === undefined || reported === "" ? undefined : tierName(reported);
  const assumed = isCarried && factorOf(price, asked) > usualFactor ? asked : usualTier;
  const tier = known ?? assumed;
  const factor = factorOf(price, tier);
  // The operator's own setting, or the provider's choice: not what the caller asked for.
  if (factor > most) return { price: withFactor(price, usualFactor) };
  const charged = withFactor(price, factor);
  return factor === usualFactor ? { price: charged } : { price: charged, serviceTier: tier };
}

function withFactor(price: AppliedPrice, factor: bigint): AppliedPrice {
  if (price.unit !== "token" || price.tiers === undefined) return price;
  const { tiers: _, long, ...rates } = price;
  if (factor === usualFactor) return long === undefined ? rates : { ...rates, long };
  return {
    unit: "token",
    ...scaled(rates, factor),
    ...(long !== undefined && {
      long: { ...scaled(long, factor), aboveTokens: long.aboveTokens },
    }),
  };
}

/** Multiplies all rates. */
function scaled(rates: TokenRates, factor: bigint): TokenRates {
  const own = bucketRates(rates);
  return appliedRates(
    readRates(atFactor(own.input, factor), (bucket) => {
      const rate = own[bucket];
      return rate === undefined ? undefined : atFactor(rate, factor);
    }),
  );
}

/** Amounts of money with which a call may begin. */
export interface ReservationRange {
  /** The most that the call can cost; it gets this where the money suffices. */
  readonly wantedMicroVnd: bigint;
  /** The usual need of calls like this one. The call waits for other calls rather than begin with less. */
  readonly expectedMicroVnd: bigint;
  /** The least that the call begins with, once no other call holds money or its wait is over. */
  readonly leastMicroVnd: bigint;
  /**
   * The call may cost more than it gets, so it takes all that there is: then only one such call of an account runs at a
   * time, and what it costs beyond its money is bounded.
   */
  readonly takesAll?: boolean;
  /** `false`: the call is refused at once where it would wait for other calls, since one of them waits for it. */
  readonly waits?: boolean;
}

/** An exact amount, or a range of amounts. */
export type ReservationAmount = bigint | ReservationRange;

/** Returns an amount as a range. */
export function rangeOf(amount: ReservationAmount): ReservationRange {
  return typeof amount === "bigint"
    ? { wantedMicroVnd: amount, expectedMicroVnd: amount, leastMicroVnd: amount }
    : amount;
}

/** Money that a call can have. */
interface FreeMoney {
  /** The money that is there, without debt. */
  readonly ownMicroVnd: bigint;
  /** The same with what may be owed. */
  readonly budgetMicroVnd: bigint;
  /** No other call is known to hold money. */
  readonly isAlone: boolean;
}

/**
 * The part of the free money, as a divisor, that a call takes if no other call runs: long answers are cut late, and
 * calls that follow at once find something.
 */
const shareAlone = 2n;
/** The part of what is left that each further call takes, so that ten at once run together. */
const shareBesideOthers = 8n;

/**
 * Returns what a call gets of the free money, `undefined` if it should wait or be refused. A call whose worst case does
 * not fit gets a share, if that is more than it is expected to need. Debt is used for the worst case and for what is
 * expected, never for a share.
 *
 * @param takesRest whether the call takes less than it is expected to need
 *
 * @example
 * ```ts
 * import { fittingMicroVnd } from "./price.ts";
 * const range = { wantedMicroVnd: 1_000n, expectedMicroVnd: 20n, leastMicroVnd: 1n };
 * const free = (amount: bigint) => ({ ownMicroVnd: amount, budgetMicroVnd: amount, isAlone: true });
 * if (fittingMicroVnd(range, free(400n), false) !== 200n) throw new Error("a half");
 * if (fittingMicroVnd(range, free(15n), false) !== undefined) throw new Error("less than expected");
 * if (fittingMicroVnd(range, free(15n), true) !== 15n) throw new Error("the rest");
 * ```
 */
export function fittingMicroVnd(
  range: ReservationRange,
  { ownMicroVnd, budgetMicroVnd, isAlone }: FreeMoney,
  takesRest: boolean,
): bigint | undefined {
  const { wantedMicroVnd, expectedMicroVnd, leastMicroVnd, takesAll = false } = range;
  if (budgetMicroVnd >= wantedMicroVnd) return wantedMicroVnd;
  if (takesAll) return budgetMicroVnd >= expectedMicroVnd ? budgetMicroVnd : undefined;
  const share = ownMicroVnd / (isAlone ? shareAlone : shareBesideOthers);
  if (share > expectedMicroVnd) return share;
  if (budgetMicroVnd >= expectedMicroVnd) return expectedMicroVnd;
  return takesRest && budgetMicroVnd >= leastMicroVnd ? budgetMicroVnd : undefined;
}

/** Lowers a range to what another bound has granted. */
export function rangeWithin(range: ReservationRange, grantedMicroVnd: bigint): ReservationRange {
  const within = (amount: bigint) => amount < grantedMicroVnd ? amount : grantedMicroVnd;
  return {
    ...range,
    wantedMicroVnd: within(range.wantedMicroVnd),
    expectedMicroVnd: within(range.expectedMicroVnd),
    leastMicroVnd: within(range.leastMicroVnd),
  };
}
