/**
 * Rate cards: what a provider charges the operator, by bucket, in the currency of its invoices.
 *
 * Rates are exact decimals. A call costs Σ units × rates in that currency, converted to VND and rounded up to a µVND
 * once, so sums of calls differ from an invoice by less than a µVND per call. A card has an id that follows from its
 * content: receipts name it, and a changed rate is another card.
 */
import { hashBase62 } from "../lib/hash/short_hash.ts";
import { type CountedTool, countedTools } from "./usage/hosted_tools.ts";
import {
  type AmountReader,
  atFactor,
  compileTariff,
  costMembers,
  rateOf,
  readRates,
  type Tariff,
  type TokenBucket,
  tokenBuckets,
  usualFactor,
  type VideoSeconds,
  wholeOf,
  type WrittenTariff,
} from "./tariff.ts";

// What a provider charges for a route, as the operator writes it: the forms of prices, in the provider's currency.

/** An amount of the provider's currency: a number, or a decimal text such as `"0.075"`. */
export type WrittenCost = number | string;

/** The fee of a hosted tool: for each use, or once for a call that uses it at all. */
export type ToolCost = { readonly perUse: WrittenCost } | { readonly perCall: WrittenCost };

/** The fees of hosted tools. */
export type ToolCosts = Readonly<Partial<Record<CountedTool, ToolCost | undefined>>>;

type CostMembers = typeof costMembers;

/** The cost of a route. */
export type RouteCost = WrittenTariff<
  CostMembers,
  "amount",
  "perMinute",
  WrittenCost,
  ToolCosts
>;

/** A currency of invoices, and what the operator counts for one unit of it. */
export interface CostCurrency {
  /** `VND`, `USD`, … */
  readonly code: string;
  /** Written VND for one unit, such as `25400` or `"25400.5"`. */
  readonly vndPerUnit: WrittenCost;
}

/** The currency of providers that name none. */
export const vnd: CostCurrency = { code: "VND", vndPerUnit: 1 };

/** Terms of a card, as written; stored under its id. */
export interface RateCardTerms {
  readonly currency: CostCurrency;
  readonly cost: RouteCost;
}

/** Units that a provider charged, by bucket. Buckets without units are absent. */
export type ProviderUnits = Readonly<Record<string, number>>;

/** Decimals of written rates and of exchange rates. */
export const costDecimals = 6;

/** Rates are kept in 10⁻⁸ of the currency: factors of tiers add two decimals to the six of written rates. */
const rateDecimals = 8;

/** Sums of units × rates are kept for this many units: rates are per 1,000,000 tokens, per 60 seconds, or per piece. */
const sumScale = 3_000_000n;

const perMtok = 1_000_000n;
const perMinute = 60n;

/** A compiled rate card. */
export interface RateCard {
  readonly id: string;
  readonly terms: RateCardTerms;
  /** In 10⁻⁸ of the currency: per 1,000,000 tokens, per minute, or per piece. */
  readonly rates: ReadonlyMap<string, bigint>;
  /** In 10⁻⁶ VND per unit of the currency. */
  readonly microVndPerUnit: bigint;
  /** Buckets of tokens with a rate of their own. */
  readonly tokenBuckets: ReadonlySet<TokenBucket>;
  /** More billed input than this has the rates of long prompts; `undefined`: all prompts have the same. */
  readonly longAboveTokens: number | undefined;
  /** The tiers of service with rates of their own. */
  readonly tiers: ReadonlySet<string>;
  /** Tools that are paid by use or once per call. */
  readonly tools: ReadonlyMap<CountedTool, "use" | "call">;
}

/**
 * Converts a written decimal to a whole number of its last place, exactly.
 *
 * @throws {RangeError} if it has more decimals: the schema of the catalogue should have refused it
 */
function decimal(written: WrittenCost, decimals: number): bigint {
  const match = /^(\d{1,13})(?:\.(\d+))?$/.exec(String(written));
  const fraction = match?.[2] ?? "";
  if (match === null || fraction.length > decimals) {
    throw new RangeError(`Not a decimal of at most ${decimals} places: ${written}`);
  }
  return BigInt(match[1]! + fraction.padEnd(decimals, "0"));
}

const rate = (written: WrittenCost): bigint => decimal(written, rateDecimals);

/** Reads a provider's cost in 10⁻⁸ of its currency. */
const inCurrency: AmountReader<CostMembers, "amount", "perMinute", WrittenCost> = {
  rates: (rates) =>
    readRates(rate(rates.perMtok), (bucket) => {
      const written = rates[costMembers[bucket]];
      return written === undefined ? undefined : rate(written);
    }),
  piece: ({ amount }) => rate(amount),
  minute: ({ perMinute }) => rate(perMinute),
};

/** Returns the name of a bucket of tokens: `input`, `input.flex`, `input.long`, `input.flex.long`. */
export function bucketName(bucket: TokenBucket, tier: string | undefined, isLong: boolean): string {
  return `${bucket}${tier === undefined ? "" : `.${tier}`}${isLong ? ".long" : ""}`;
}

/** Returns the name of the bucket of videos of a length. */
export function videoBucket(tier: VideoSeconds): string {
  return `video.${tier.fromSeconds}-${tier.toSeconds}`;
}

type TokenTariff = Tariff & { readonly unit: "token" };

function addTokenRates(card: Map<string, bigint>, tariff: TokenTariff): Set<TokenBucket> {
  const { rates, long, tiers = {} } = tariff;
  const buckets = tokenBuckets.filter((bucket) =>
    rates[bucket] !== undefined || long?.rates[bucket] !== undefined
  );
  const factors: (readonly [tier: string | undefined, factor: bigint])[] = [
    [undefined, usualFactor],
    ...Object.entries(tiers),
  ];
  for (const [own, isLong] of [[rates, false], [long?.rates, true]] as const) {
    if (own === undefined) continue;
    for (const bucket of buckets) {
      for (const [tier, factor] of factors) {
        card.set(bucketName(bucket, tier, isLong), atFactor(rateOf(own, bucket), factor));
      }
    }
  }
  return new Set(buckets);
}

/** Compiles the terms of a card. */
export function rateCard(terms: RateCardTerms): RateCard {
  const { cost, currency } = terms;
  const rates = new Map<string, bigint>();
  const tools = new Map<CountedTool, "use" | "call">();
  let buckets: ReadonlySet<TokenBucket> = new Set();
  const tariff = compileTariff(cost, inCurrency);
  switch (tariff.unit) {
    case "token":
      buckets = addTokenRates(rates, tariff);
      break;
    case "video":
      for (const tier of tariff.tiers) rates.set(videoBucket(tier), tier.amount);
      break;
    default:
      rates.set(tariff.unit, tariff.amount);
  }
  if (cost.unit === "token" || cost.unit === "request") {
    for (const tool of countedTools) {
      const fee = cost.hostedTools?.[tool];
      if (fee === undefined) continue;
      tools.set(tool, "perUse" in fee ? "use" : "call");
      rates.set(tool, rate("perUse" in fee ? fee.perUse : fee.perCall));
    }
  }
  return {
    id: hashBase62(JSON.stringify([currency.code, String(currency.vndPerUnit), cost]), 9),
    terms,
    rates,
    microVndPerUnit: decimal(currency.vndPerUnit, costDecimals),
    tokenBuckets: buckets,
    longAboveTokens: cost.unit === "token" ? cost.longPrompt?.aboveTokens : undefined,
    tiers: new Set(cost.unit === "token" ? Object.keys(cost.serviceTiers ?? {}) : []),
    tools,
  };
}

/** Returns the bucket in which a card counts a kind of tokens. */
export function countedBucket(card: RateCard, bucket: TokenBucket): TokenBucket {
  return card.tokenBuckets.has(bucket) ? bucket : wholeOf[bucket];
}

/** Returns how many units the rate of a bucket is for. */
export function unitsPerRate(bucket: string): number {
  if (bucket === "second") return Number(perMinute);
  return tokenBuckets.some((name) => bucket === name || bucket.startsWith(`${name}.`))
    ? Number(perMtok)
    : 1;
}

/**
 * Computes what units of one bucket cost, exactly: in parts of 3,000,000 × 10⁸ to one unit of the currency. A bucket that
 * the card does not have costs nothing.
 *
 * @param units a whole number of 0 or more
 */
function costOfBucket(card: RateCard, bucket: string, units: number): bigint {
  const own = card.rates.get(bucket);
  if (own === undefined) return 0n;
  return BigInt(units) * own * (sumScale / BigInt(unitsPerRate(bucket)));
}

/** Sums what units cost, in parts of {@linkcode formatCost}. */
export function costOfUnitsAt(card: RateCard, units: ProviderUnits): bigint {
  let parts = 0n;
  for (const bucket in units) parts += costOfBucket(card, bucket, units[bucket]!);
  return parts;
}

const partsPerUnit = sumScale * 10n ** BigInt(rateDecimals);

/**
 * Converts a sum to µVND, rounded up once.
 *
 * @example
 * ```ts
 * import { costInMicroVnd, costOfUnitsAt, rateCard } from "./rate_card.ts";
 * const currency = { code: "USD", vndPerUnit: 25_400 };
 * const card = rateCard({ currency, cost: { unit: "token", perMtok: "0.15", outputPerMtok: 0.6 } });
 * const parts = costOfUnitsAt(card, { input: 1_000_000, output: 500_000 });
 * // 0.45 USD
 * if (costInMicroVnd(card, parts) !== 11_430_000_000n) throw new Error("wrong");
 * ```
 */
export function costInMicroVnd({ microVndPerUnit }: RateCard, parts: bigint): bigint {
  return (parts * microVndPerUnit + partsPerUnit - 1n) / partsPerUnit;
}

/** Decimals of shown sums in the currency of a provider. */
const shownDecimals = 8;

/** Writes a sum in the currency of its card, rounded half away from zero to eight decimals. */
export function formatCost(parts: bigint): string {
  const scale = partsPerUnit / 10n ** BigInt(shownDecimals);
  const magnitude = parts < 0n ? -parts : parts;
  const rounded = (magnitude * 2n + scale) / (2n * scale);
  return formatDecimal(parts < 0n ? -rounded : rounded, shownDecimals);
}

/** Reads an amount of a currency in the parts of {@linkcode formatCost}; `undefined` if it is none. */
export function costParts(text: string): bigint | undefined {
  return /^\d{1,13}(?:\.\d{1,8})?$/.test(text) ? decimal(text, rateDecimals) * sumScale : undefined;
}

/** Unit of the rate of a bucket. */
export function rateUnit(bucket: string): "mtok" | "minute" | "piece" {
  const units = unitsPerRate(bucket);
  return units === 1 ? "piece" : bucket === "second" ? "minute" : "mtok";
}

/** Writes the rate of a bucket as it is written in the catalogue; `undefined` if the card has none. */
export function formatRate(card: RateCard, bucket: string): string | undefined {
  const own = card.rates.get(bucket);
  return own === undefined ? undefined : formatDecimal(own, rateDecimals);
}

function formatDecimal(value: bigint, decimals: number): string {
  const sign = value < 0n ? "-" : "";
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return `${sign}${digits.slice(0, -decimals)}${fraction === "" ? "" : `.${fraction}`}`;
}
