/**
 * The one language of prices: what customers pay and what providers charge have the same units, kinds of tokens, rates of
 * long prompts, tiers of service and steps by length. They differ in the names of their members, in their currency and
 * in rounding, which `price.ts` (customers) and `rate_card.ts` (providers) add.
 */
import { defined } from "../lib/base/defined.ts";
import { microVndOf, type WrittenVnd } from "./money/micro_vnd.ts";
import { billedInputTokens, type TokenUsage } from "./tokens/token_bounds.ts";
import type { TokenRates } from "./usage/receipt.ts";

/** Factors on all rates as written, by tier of service. */
export type TierPrices = Readonly<Record<string, WrittenVnd>>;

/** Factors in hundredths, by tier. */
export type TierFactors = Readonly<Record<string, bigint>>;

/** The factor of the usual tier, in hundredths. */
export const usualFactor = 100n;

/** Converts written factors to hundredths. */
function tierFactors(prices: TierPrices): TierFactors {
  return Object.fromEntries(
    Object.entries(prices).map(([tier, factor]) => [tier, microVndOf(factor) / 10_000n]),
  );
}

/** Multiplies a rate by the factor of a tier. Exact: rates have two decimals less than are kept, factors two. */
export function atFactor(rate: bigint, factor: bigint): bigint {
  return rate * factor / usualFactor;
}

/** The kinds of tokens that have prices of their own. */
export const tokenBuckets = [
  "input",
  "cache_read",
  "cache_write",
  "cache_write_1h",
  "input_audio",
  "input_image",
  "output",
  "output_audio",
  "output_image",
] as const;

/** A kind of tokens. */
export type TokenBucket = typeof tokenBuckets[number];

/** Kinds that are parts of others: without a rate of their own they have that of the whole. */
type PartBucket =
  | "cache_write_1h"
  | "input_audio"
  | "input_image"
  | "output_audio"
  | "output_image";

type WholeBucket = Exclude<TokenBucket, PartBucket>;

/** Bucket in which a kind without a rate of its own is counted. */
export const wholeOf: Readonly<Record<TokenBucket, WholeBucket>> = {
  input: "input",
  cache_read: "cache_read",
  cache_write: "cache_write",
  cache_write_1h: "cache_write",
  input_audio: "input",
  input_image: "input",
  output: "output",
  output_audio: "output",
  output_image: "output",
};

/** The members of a customers' price, by kind of tokens: VND per 1,000,000. */
export const priceMembers = {
  input: "vndPerMtok",
  cache_read: "cacheReadVndPerMtok",
  cache_write: "cacheWriteVndPerMtok",
  cache_write_1h: "cacheWriteHourVndPerMtok",
  input_audio: "inputAudioVndPerMtok",
  input_image: "inputImageVndPerMtok",
  output: "outputVndPerMtok",
  output_audio: "outputAudioVndPerMtok",
  output_image: "outputImageVndPerMtok",
} as const satisfies MemberNames;

/** The members of a provider's cost, by kind of tokens: its currency per 1,000,000. */
export const costMembers = {
  input: "perMtok",
  cache_read: "cacheReadPerMtok",
  cache_write: "cacheWritePerMtok",
  cache_write_1h: "cacheWriteHourPerMtok",
  input_audio: "inputAudioPerMtok",
  input_image: "inputImagePerMtok",
  output: "outputPerMtok",
  output_audio: "outputAudioPerMtok",
  output_image: "outputImagePerMtok",
} as const satisfies MemberNames;

type MemberNames = Readonly<Record<TokenBucket, string>>;

/** Written rates of tokens: that of `input` is for all kinds that have none of their own. */
export type WrittenRates<Names extends MemberNames, Amount> =
  & { readonly [Bucket in "input" as Names[Bucket]]: Amount }
  & {
    readonly [Bucket in Exclude<TokenBucket, "input"> as Names[Bucket]]?: Amount | undefined;
  };

/**
 * A price or cost as written. `Piece` names the member of an amount for one call, picture, search or video, `Minute` that
 * of a minute; `Tools` are the fees of hosted tools.
 */
export type WrittenTariff<
  Names extends MemberNames,
  Piece extends string,
  Minute extends string,
  Amount,
  Tools,
> =
  | WrittenRates<Names, Amount> & {
    readonly unit: "token";
    /** The rates of a whole call that is billed for more input than `aboveTokens`. */
    readonly longPrompt?: WrittenRates<Names, Amount> & LongPrompt | undefined;
    /** Factors on all rates, by tier of service. */
    readonly serviceTiers?: TierPrices | undefined;
    readonly hostedTools?: Tools | undefined;
  }
  | Readonly<Record<Piece, Amount>> & {
    readonly unit: "request";
    readonly hostedTools?: Tools | undefined;
  }
  | Readonly<Record<Piece, Amount>> & { readonly unit: "image" }
  /** Searches of some documents each. */
  | Readonly<Record<Piece, Amount>> & { readonly unit: "search" }
  /** Sound, and videos that are paid by their length. */
  | Readonly<Record<Minute, Amount>> & { readonly unit: "second" }
  | {
    readonly unit: "video";
    readonly tiers: readonly (Readonly<Record<Piece, Amount>> & VideoSeconds)[];
  };

interface LongPrompt {
  readonly aboveTokens: number;
}

/** A step by length, in whole seconds, both ends included. */
export interface VideoSeconds {
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

/** Rates by kind of tokens, in any unit of money. */
export type BucketRates =
  & { readonly [Bucket in WholeBucket]: bigint }
  & { readonly [Bucket in PartBucket]?: bigint };

/** A price or cost that has been read: rates and amounts in the smallest unit of its reader. */
export type Tariff =
  | {
    readonly unit: "token";
    readonly rates: BucketRates;
    readonly long?: LongPrompt & { readonly rates: BucketRates };
    readonly tiers?: TierFactors;
  }
  /** Of seconds, the amount of a minute. */
  | { readonly unit: "request" | "image" | "search" | "second"; readonly amount: bigint }
  | {
    readonly unit: "video";
    readonly tiers: readonly (VideoSeconds & { readonly amount: bigint })[];
  };

/** Reader of the amounts of one kind of written tariffs. */
export interface AmountReader<
  Names extends MemberNames,
  Piece extends string,
  Minute extends string,
  Amount,
> {
  rates(rates: WrittenRates<Names, Amount>): BucketRates;
  piece(written: Readonly<Record<Piece, Amount>>): bigint;
  minute(written: Readonly<Record<Minute, Amount>>): bigint;
}

/** Reads a written price or cost. Fees of hosted tools are read apart: customers and providers bound them differently. */
export function compileTariff<
  Names extends MemberNames,
  Piece extends string,
  Minute extends string,
  Amount,
  Tools,
>(
  written: WrittenTariff<Names, Piece, Minute, Amount, Tools>,
  read: AmountReader<Names, Piece, Minute, Amount>,
): Tariff {
  switch (written.unit) {
    case "token": {
      const { longPrompt, serviceTiers } = written;
      return {
        unit: "token",
        rates: read.rates(written),
        ...(longPrompt && {
          long: { rates: read.rates(longPrompt), aboveTokens: longPrompt.aboveTokens },
        }),
        ...(serviceTiers && { tiers: tierFactors(serviceTiers) }),
      };
    }
    case "video":
      return {
        unit: "video",
        tiers: written.tiers.map((tier) => ({
          fromSeconds: tier.fromSeconds,
          toSeconds: tier.toSeconds,
          amount: read.piece(tier),
        })),
      };
    case "second":
      return { unit: "second", amount: read.minute(written) };
    default:
      return { unit: written.unit, amount: read.piece(written) };
  }
}

/** Reads the rates of tokens: `rate` returns the one that is written for a kind, `input` has one always. */
export function readRates(
  input: bigint,
  rate: (bucket: Exclude<TokenBucket, "input">) => bigint | undefined,
): BucketRates {
  return {
    input,
    cache_read: rate("cache_read") ?? input,
    cache_write: rate("cache_write") ?? input,
    output: rate("output") ?? input,
    ...defined({
      cache_write_1h: rate("cache_write_1h"),
      input_audio: rate("input_audio"),
      input_image: rate("input_image"),
      output_audio: rate("output_audio"),
      output_image: rate("output_image"),
    }),
  };
}

/** Returns the rate of a kind of tokens: its own, or that of the kind of which it is a part. */
export function rateOf(rates: BucketRates, bucket: TokenBucket): bigint {
  return rates[bucket] ?? rates[wholeOf[bucket]];
}

/** Returns the step of a length; `undefined` if there is none. */
export function stepOf<Step extends VideoSeconds>(
  steps: readonly Step[],
  seconds: number,
): Step | undefined {
  return steps.find(({ fromSeconds, toSeconds }) => seconds >= fromSeconds && seconds <= toSeconds);
}

/** Whether a call has the rates of long prompts, which apply to all of its tokens. */
export function isLong(usage: TokenUsage, aboveTokens: number | undefined): boolean {
  return aboveTokens !== undefined && billedInputTokens(usage) > aboveTokens;
}

/**
 * Divides the tokens of a call into the kinds that are priced; those without a rate of their own are part of their whole.
 *
 * @param hasRate whether a kind has a rate of its own
 * @param add called with each kind that has tokens, in the order of {@linkcode tokenBuckets}
 *
 * @example
 * ```ts
 * import { countTokens } from "./tariff.ts";
 * const usage = { input: 9, inputAudio: 4, cacheRead: 0, cacheWrite: 0, output: 2, outputAudio: 1, reasoning: 0 };
 * const counted: string[] = [];
 * countTokens(usage, (bucket) => bucket === "input_audio", (bucket, tokens) => counted.push(`${bucket} ${tokens}`));
 * if (counted.join() !== "input 5,input_audio 4,output 2") throw new Error(counted.join());
 * ```
 */
export function countTokens(
  usage: TokenUsage,
  hasRate: (bucket: TokenBucket) => boolean,
  add: (bucket: TokenBucket, tokens: number) => void,
): void {
  const writeHour = partOf(usage.cacheWriteHour, "cache_write_1h", hasRate);
  const inputAudio = partOf(usage.inputAudio, "input_audio", hasRate);
  const inputImage = partOf(usage.inputImage, "input_image", hasRate);
  const outputAudio = partOf(usage.outputAudio, "output_audio", hasRate);
  const outputImage = partOf(usage.outputImage, "output_image", hasRate);
  const input = usage.input - inputAudio - inputImage;
  const cacheWrite = usage.cacheWrite - writeHour;
  const output = usage.output - outputAudio - outputImage;
  if (input > 0) add("input", input);
  if (usage.cacheRead > 0) add("cache_read", usage.cacheRead);
  if (cacheWrite > 0) add("cache_write", cacheWrite);
  if (writeHour > 0) add("cache_write_1h", writeHour);
  if (inputAudio > 0) add("input_audio", inputAudio);
  if (inputImage > 0) add("input_image", inputImage);
  if (output > 0) add("output", output);
  if (outputAudio > 0) add("output_audio", outputAudio);
  if (outputImage > 0) add("output_image", outputImage);
}

function partOf(
  tokens: number | undefined,
  bucket: PartBucket,
  hasRate: (bucket: TokenBucket) => boolean,
): number {
  return tokens !== undefined && hasRate(bucket) ? tokens : 0;
}

// Customers' rates as receipts have them.

const appliedMembers = {
  input: "inputPerMtokMicroVnd",
  cache_read: "cacheReadPerMtokMicroVnd",
  cache_write: "cacheWritePerMtokMicroVnd",
  cache_write_1h: "cacheWriteHourPerMtokMicroVnd",
  input_audio: "inputAudioPerMtokMicroVnd",
  input_image: "inputImagePerMtokMicroVnd",
  output: "outputPerMtokMicroVnd",
  output_audio: "outputAudioPerMtokMicroVnd",
  output_image: "outputImagePerMtokMicroVnd",
} as const satisfies Record<TokenBucket, keyof TokenRates>;

/** Returns customers' own rate of a kind of tokens; `undefined` if it has that of its whole. */
export function appliedRate(rates: TokenRates, bucket: TokenBucket): bigint | undefined {
  return rates[appliedMembers[bucket]];
}

/** Returns rates by kind of tokens. */
export function bucketRates(rates: TokenRates): BucketRates {
  return readRates(rates.inputPerMtokMicroVnd, (bucket) => appliedRate(rates, bucket));
}

/** Returns rates as receipts have them. */
export function appliedRates(rates: BucketRates): TokenRates {
  return {
    inputPerMtokMicroVnd: rates.input,
    outputPerMtokMicroVnd: rates.output,
    cacheReadPerMtokMicroVnd: rates.cache_read,
    cacheWritePerMtokMicroVnd: rates.cache_write,
    ...defined({
      cacheWriteHourPerMtokMicroVnd: rates.cache_write_1h,
      inputAudioPerMtokMicroVnd: rates.input_audio,
      inputImagePerMtokMicroVnd: rates.input_image,
      outputAudioPerMtokMicroVnd: rates.output_audio,
      outputImagePerMtokMicroVnd: rates.output_image,
    }),
  };
}
