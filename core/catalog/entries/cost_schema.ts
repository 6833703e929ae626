/** The shape of what providers charge, in `gateway.json`: currencies, and the cost of a route. */
import { z } from "zod";
import { maxReportedTokens } from "../../billing/tokens/limits.ts";
import { countedTools } from "../../billing/usage/hosted_tools.ts";
import { costDecimals } from "../../billing/rate_card.ts";
import { maxPriceVnd } from "../../billing/money/written_vnd.ts";
import { serviceTiers } from "./price_schema.ts";

const writtenCost = new RegExp(`^\\d{1,13}(?:\\.\\d{1,${costDecimals}})?$`);

const form = {
  error: `must be an amount from 0 to ${maxPriceVnd} with at most ${costDecimals} decimals`,
  abort: true,
};

/** An amount of a currency: a number, or a decimal text for those who generate the file without floats. */
const amount = z.union(
  [z.number().min(0, form).max(maxPriceVnd, form), z.string().regex(writtenCost, form)],
  form,
).refine(
  (written) => writtenCost.test(String(written)) && Number(written) <= maxPriceVnd,
  form,
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
};

const hostedTools = z.partialRecord(
  z.enum(countedTools),
  z.union([z.strictObject({ perUse: amount }), z.strictObject({ perCall: amount })], {
    error: "must have perUse or perCall",
  }),
).optional();

/** The schema of the cost of a route. */
export const costSchema = z.discriminatedUnion("unit", [
  z.strictObject({
    unit: z.literal("token"),
    ...rates,
    longPrompt: z.strictObject({
      aboveTokens: z.int().positive().max(maxReportedTokens),
      ...rates,
    }).optional(),
    serviceTiers: serviceTiers.describe("Factors on all rates by tier of service."),
    hostedTools,
  }),
  z.strictObject({ unit: z.literal("request"), amount, hostedTools }),
  z.strictObject({ unit: z.literal("image"), amount }),
  z.strictObject({ unit: z.literal("search"), amount }),
  z.strictObject({
    unit: z.literal("second"),
    perMinute: amount.describe("Per minute of sound, or of a video."),
  }),
  z.strictObject({
    unit: z.literal("video"),
    tiers: z.array(z.strictObject({
      fromSeconds: z.int().min(1).max(3600),
      toSeconds: z.int().min(1).max(3600),
      amount,
    })).min(1).max(64),
  }),
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
