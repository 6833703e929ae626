/** The shape of prices in `gateway.json`. */
import { z } from "zod";
import { maxReportedTokens } from "../../billing/tokens/limits.ts";
import { countedTools, defaultMostUses, maxMostUses } from "../../billing/usage/hosted_tools.ts";
import { isNowhereCheaper } from "../../billing/price.ts";
import { factorDecimals, tierName, usualTier } from "../../billing/service_tiers.ts";
import {
  isWrittenPrice,
  maxPriceVnd,
  priceDecimals,
  writtenPrice,
} from "../../billing/money/written_vnd.ts";

const form = {
  error: `must be VND from 0 to ${maxPriceVnd} with at most ${priceDecimals} decimals`,
  abort: true,
};

/** An amount of VND: a number, or a decimal text for those who generate the file without floats. */
const vnd = z.union(
  [z.number().min(0, form).max(maxPriceVnd, form), z.string().regex(writtenPrice, form)],
  form,
).refine(isWrittenPrice, form).describe(
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
};

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
export const serviceTiers = z.record(
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

/** The schema of the price of a model. */
export const priceSchema = z.discriminatedUnion("unit", [
  z.strictObject({
    unit: z.literal("token"),
    ...tokenRates,
    longPrompt: z.strictObject({
      aboveTokens: z.int().positive().max(maxReportedTokens),
      ...tokenRates,
    }).optional().describe(
      "Higher rates for all tokens of a call that is billed for more input than `aboveTokens`.",
    ),
    hostedTools,
    serviceTiers,
  }).refine(
    ({ longPrompt, hostedTools: _, serviceTiers: _tiers, ...price }) =>
      longPrompt === undefined || isNowhereCheaper(longPrompt, price),
    {
      path: ["longPrompt"],
      // Otherwise leaving a part of an impossible report out could make a call dearer.
      message: "must not be cheaper than the price of shorter prompts, in any rate",
    },
  ),
  z.strictObject({ unit: z.literal("request"), vnd, hostedTools }),
  z.strictObject({ unit: z.literal("image"), vnd }),
  z.strictObject({
    unit: z.literal("search"),
    vnd: vnd.describe("Per search of up to 100 documents, as the provider counts them."),
  }),
  z.strictObject({
    unit: z.literal("second"),
    vndPerMinute: vnd.describe(
      "Per minute of audio; billed by the second, as the gateway measures it.",
    ),
  }),
  z.strictObject({
    unit: z.literal("video"),
    tiers: z.array(z.strictObject({
      fromSeconds: z.int().min(1).max(3600),
      toSeconds: z.int().min(1).max(3600),
      vnd,
    })).min(1).max(64),
  }),
]);
