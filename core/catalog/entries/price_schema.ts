/** The shape of prices in `gateway.json`. */
import { recordOf } from "../../lib/base/record_of.ts";
import { z } from "zod";
import { type LimitSubject, type RateLimitName, rateLimitsOf } from "../../limits/limit_table.ts";
import { maxReportedTokens } from "../../billing/tokens/limits.ts";
import { countedTools, defaultMostUses, maxMostUses } from "../../billing/usage/hosted_tools.ts";
import { factorDecimals, isNowhereCheaper, tierName, usualTier } from "../../billing/price.ts";
import {
  isWrittenPrice,
  maxPriceVnd,
  priceDecimals,
  writtenPrice,
} from "../../billing/money/micro_vnd.ts";
import { costDecimals } from "../../billing/rate_card.ts";
import type { costMembers, priceMembers, TokenBucket } from "../../billing/tariff.ts";

const priceForm = {
  error: `must be VND from 0 to ${maxPriceVnd} with at most ${priceDecimals} decimals`,
  abort: true,
};

/** An amount of VND: a number, or a decimal text for those who generate the file without floats. */
const vnd = z.union(
  [
    z.number().min(0, priceForm).max(maxPriceVnd, priceForm),
    z.string().regex(writtenPrice, priceForm),
  ],
  priceForm,
).refine(isWrittenPrice, priceForm).describe(
  "VND, with at most four decimals, as a number or a text. 0 must be written out: a model without a price is refused.",
);

const tokenRates = {
  vndPerMtok: vnd.describe("Per 1,000,000 tokens, input and output alike."),
  outputVndPerMtok: vnd.optional(),
  cacheReadVndPerMtok: vnd.optional(),
  cacheWriteVndPerMtok: vnd.optional(),
  cacheWriteHourVndPerMtok: vnd.optional()
    .describe("Prompt tokens that a cache keeps for an hour. Default: as other cache writes."),
  inputAudioVndPerMtok: vnd.optional()
    .describe("Prompt tokens of sound that are not cached. Default: as text."),
  inputImageVndPerMtok: vnd.optional()
    .describe("Prompt tokens of pictures and films that are not cached. Default: as text."),
  outputAudioVndPerMtok: vnd.optional().describe("Output tokens of sound. Default: as text."),
  outputImageVndPerMtok: vnd.optional().describe("Output tokens of pictures. Default: as text."),
} satisfies Record<typeof priceMembers[TokenBucket], z.ZodType>;

const toolFee = z.union([
  z.strictObject({
    vndPerUse: vnd,
    mostUses: z.int().min(1).max(maxMostUses).optional().describe(
      `Uses that are reserved, and charged at most, where the caller sets no bound. Default ${defaultMostUses}.`,
    ),
  }),
  z.strictObject({
    vndPerCall: vnd.describe("One fee for a call that uses the tool, however often."),
  }),
], { error: "must have vndPerUse or vndPerCall" });

const factorForm = {
  error: `must be a factor from 0 to 100 with at most ${factorDecimals} decimals`,
};

/** The schema of factors by tier of service. */
const serviceTiers = z.record(
  z.string().regex(/^[a-z][a-z_]{0,31}$/).refine(
    (tier) => tierName(tier) === tier && tier !== usualTier,
    "is a name of the usual tier, or another name of a tier",
  ),
  z.number().min(0).max(100).refine(
    (factor) => /^\d+(?:\.\d{1,2})?$/.test(String(factor)),
    factorForm,
  ),
).optional().describe(
  'Chat: factors on all rates by tier of service, e.g. `{ "flex": 0.5, "priority": 2 }`. Routes without `allow` ' +
    "offer these tiers; a dearer tier without a factor is refused.",
);

const hostedTools = z.partialRecord(z.enum(countedTools), toolFee).optional().describe(
  "Chat: fees for tools that the provider runs. Routes without `allow` offer the tools that have a fee.",
);

/** The members of a written tariff, by what they are for. */
interface TariffMembers<Rates, Piece, Search, Minute, TokenFees, Fees> {
  readonly rates: Rates;
  /** One call, picture or video. */
  readonly piece: Piece;
  readonly search: Search;
  readonly minute: Minute;
  /** Fees of a tariff of tokens beside its rates, and those of one of calls beside its amount. */
  readonly tokenFees: TokenFees;
  readonly fees: Fees;
}

/** Makes the schemas of the units of a tariff: customers' prices and providers' costs differ in the names of members. */
function tariffSchemas<
  Rates extends z.ZodRawShape,
  Piece extends z.ZodRawShape,
  Search extends z.ZodRawShape,
  Minute extends z.ZodRawShape,
  TokenFees extends z.ZodRawShape,
  Fees extends z.ZodRawShape,
>(members: TariffMembers<Rates, Piece, Search, Minute, TokenFees, Fees>) {
  const { rates, piece, search, minute, tokenFees, fees } = members;
  const seconds = z.int().min(1).max(3600);
  return {
    longPrompt: z.strictObject({ aboveTokens: z.int().positive().max(maxReportedTokens), ...rates })
      .optional(),
    token: <Long extends z.ZodType>(longPrompt: Long) =>
      z.strictObject({ unit: z.literal("token"), ...rates, longPrompt, ...tokenFees }),
    others: [
      z.strictObject({ unit: z.literal("request"), ...piece, ...fees }),
      z.strictObject({ unit: z.literal("image"), ...piece }),
      z.strictObject({ unit: z.literal("search"), ...search }),
      z.strictObject({ unit: z.literal("second"), ...minute }),
      z.strictObject({
        unit: z.literal("video"),
        tiers: z.array(z.strictObject({ fromSeconds: seconds, toSeconds: seconds, ...piece }))
          .min(1).max(64),
      }),
    ],
  } as const;
}

const priceUnits = tariffSchemas({
  rates: tokenRates,
  piece: { vnd },
  search: { vnd: vnd.describe("Per search of up to 100 documents, as the provider counts them.") },
  minute: {
    vndPerMinute: vnd.describe(
      "Per minute of audio; billed by the second, as the gateway measures it.",
    ),
  },
  tokenFees: { hostedTools, serviceTiers },
  fees: { hostedTools },
});

/** The schema of the price of a model. */
export const priceSchema = z.discriminatedUnion("unit", [
  priceUnits.token(priceUnits.longPrompt.describe(
    "Higher rates for all tokens of a call that is billed for more input than `aboveTokens`.",
  )).refine(
    ({ longPrompt, hostedTools: _, serviceTiers: _tiers, ...price }) =>
      longPrompt === undefined || isNowhereCheaper(longPrompt, price),
    {
      path: ["longPrompt"],
      // Otherwise leaving a part of an impossible report out could make a call dearer.
      message: "must not be cheaper than the price of shorter prompts, in any rate",
    },
  ),
  ...priceUnits.others,
]);

// The shape of what providers charge, in `gateway.json`: currencies, and the cost of a route.

const writtenCost = new RegExp(`^\\d{1,13}(?:\\.\\d{1,${costDecimals}})?$`);

const costForm = {
  error: `must be an amount from 0 to ${maxPriceVnd} with at most ${costDecimals} decimals`,
  abort: true,
};

/** An amount of a currency: a number, or a decimal text for those who generate the file without floats. */
const amount = z.union(
  [z.number().min(0, costForm).max(maxPriceVnd, costForm), z.string().regex(writtenCost, costForm)],
  costForm,
).refine(
  (written) => writtenCost.test(String(written)) && Number(written) <= maxPriceVnd,
  costForm,
);

const rates = {
  perMtok: amount.describe("Per 1,000,000 tokens, input and output alike."),
  outputPerMtok: amount.optional(),
  cacheReadPerMtok: amount.optional(),
  cacheWritePerMtok: amount.optional(),
  cacheWriteHourPerMtok: amount.optional(),
  inputAudioPerMtok: amount.optional(),
  inputImagePerMtok: amount.optional(),
  outputAudioPerMtok: amount.optional(),
  outputImagePerMtok: amount.optional(),
} satisfies Record<typeof costMembers[TokenBucket], z.ZodType>;

const hostedToolCosts = z.partialRecord(
  z.enum(countedTools),
  z.union([z.strictObject({ perUse: amount }), z.strictObject({ perCall: amount })], {
    error: "must have perUse or perCall",
  }),
).optional();

const costUnits = tariffSchemas({
  rates,
  piece: { amount },
  search: { amount },
  minute: { perMinute: amount.describe("Per minute of sound, or of a video.") },
  tokenFees: {
    serviceTiers: serviceTiers.describe("Factors on all rates by tier of service."),
    hostedTools: hostedToolCosts,
  },
  fees: { hostedTools: hostedToolCosts },
});

/** The schema of the cost of a route. */
export const costSchema = z.discriminatedUnion("unit", [
  costUnits.token(costUnits.longPrompt),
  ...costUnits.others,
]).describe(
  "What the provider charges, in the currency of the provider: the forms of `price`. Only operators see it; see " +
    "docs/operations/prices.md#costs-and-margins.",
);

const currencyCode = z.string().regex(/^[A-Z]{3}$/, "must be three capital letters, e.g. USD");

/** The schema of the name of a provider's currency. */
export const providerCurrency = currencyCode.optional().describe(
  "The currency of the provider's invoices, from `currencies`. Default VND.",
);

/** The schema of the currencies of a file. */
export const currenciesSchema = z.record(
  currencyCode.refine((code) => code !== "VND", "VND needs no rate"),
  amount.refine((rate) => Number(rate) > 0, "must be more than 0"),
).default({}).describe('VND for one unit of a currency of invoices, e.g. `{ "USD": 25400 }`.');

// The shape of rate limits in `gateway.json`.

/** A limit above any provider's, small enough to be counted in a slot. */
const maxRateLimit = 1_000_000_000;

const limit = z.int().min(1).max(maxRateLimit).optional();

const rateLimitTexts: Record<RateLimitName, string> = {
  requestsPerMinute: "Calls in any 60 seconds.",
  tokensPerMinute: "Tokens in any 60 seconds: prompts and answers, cached prompts left out.",
  vndPerHour: "VND that calls cost in any 60 minutes.",
  callsAtOnce: "Calls that run at the same time, from admission to the end of the answer.",
};

/** The schema of the limits that can bind one kind of subject. */
function rateLimits<Subject extends LimitSubject>(subject: Subject) {
  const members = recordOf(rateLimitsOf(subject), (name) => limit.describe(rateLimitTexts[name]));
  return z.strictObject(members).optional();
}

/** The schema of the limits of all accounts and keys. */
export const defaultRateLimitsSchema = z.strictObject({
  account: rateLimits("account").describe("Of each account; operators set others for single ones."),
  key: rateLimits("key").describe("Of each key; owners of keys may set lower ones."),
}).optional().describe("Rate limits; default: none. See docs/operations/limits.md.");

/** The schema of the limits of a model. */
export const modelRateLimitsSchema = z.strictObject({
  all: rateLimits("model").describe("Of all calls of the model together."),
  account: rateLimits("account_model").describe("Of the calls of each account."),
}).optional().describe(
  "Rate limits of this model, beside those of accounts and keys; default: none.",
);
