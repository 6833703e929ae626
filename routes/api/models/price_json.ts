/** Prices of models as JSON: a table of fields for each unit. Amounts are JSON numbers whose text is the written one. */
import { fieldsJson } from "../../../core/lib/json/fields.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import {
  always,
  count,
  type DescribedField,
  listField,
  objectSchema,
  optional,
  optionalField,
} from "../../../core/lib/json/schemas.ts";
import {
  countedTools,
  defaultMostUses,
  type ToolPrice,
  type ToolPrices,
} from "../../../core/billing/usage/hosted_tools.ts";
import {
  priceMembers,
  type TokenBucket,
  tokenBuckets,
  wholeOf,
} from "../../../core/billing/tariff.ts";
import { listFigure, microVndOf, type WrittenVnd } from "../../../core/billing/money/micro_vnd.ts";
import { type CataloguePrice, toolPricesOf } from "../../../core/billing/price.ts";

type PriceOf<Unit extends CataloguePrice["unit"]> = CataloguePrice & { readonly unit: Unit };
type Rates = Omit<PriceOf<"token">, "unit" | "longPrompt">;
type PiecePrice = PriceOf<"request" | "image" | "search">;

/** A price as a JSON number, whose text is the written one. */
const shown = (written: WrittenVnd): number => Number(written);

/** The schema of such a number, in VND. */
const vnd: JsonObject = { type: "number", minimum: 0 };
/** The schema of a list figure. */
export const listFigureText: JsonObject = {
  type: "string",
  pattern: "^\\d+\\.\\d{4}$",
  description: "The same price in the unit in which the vendor publishes it.",
};

/** The rates that each price of tokens shows: those of parts that are not among them only where they have their own. */
const shownAlways: ReadonlySet<TokenBucket> = new Set([
  ...Object.values(wholeOf),
  "cache_write_1h",
]);

const rateFields = tokenBuckets.map((bucket): DescribedField<Rates> => {
  const isRequired = shownAlways.has(bucket);
  return {
    name: bucket === "input" ? "vnd" : `${bucket}_vnd`,
    isRequired,
    schema: vnd,
    value: (rates) => {
      const own = rates[priceMembers[bucket]];
      if (own === undefined && !isRequired) return undefined;
      return shown(own ?? rates[priceMembers[wholeOf[bucket]]] ?? rates.vndPerMtok);
    },
  };
});

const feeFields: readonly DescribedField<ToolPrice>[] = [
  optional("vnd_per_call", vnd, (fee) => "vndPerCall" in fee ? shown(fee.vndPerCall) : undefined),
  optional("vnd_per_use", vnd, (fee) => "vndPerUse" in fee ? shown(fee.vndPerUse) : undefined),
  optional("most_uses", {
    ...count,
    description: "Uses that are reserved where the request bounds none.",
  }, (fee) => "vndPerUse" in fee ? fee.mostUses ?? defaultMostUses : undefined),
];

const toolFees: DescribedField<CataloguePrice> = optionalField(
  "hosted_tools",
  "The fees of tools that the provider runs.",
  countedTools.map((tool): DescribedField<ToolPrices> =>
    optionalField(tool, "A fee by the use or by the call.", feeFields, (prices) => prices[tool])
  ),
  (price) => {
    const prices = toolPricesOf(price) ?? {};
    return countedTools.some((tool) => prices[tool] !== undefined) ? prices : undefined;
  },
);

/** The unit of prices with one of these units. */
function unitField(...units: readonly string[]): DescribedField<CataloguePrice> {
  const schema = { type: "string", enum: [...units] };
  return always("unit", schema, ({ unit }) => unit === "token" ? "1M tokens" : unit);
}

type LongPromptRates = Rates & { readonly aboveTokens: number };

const longPromptFields: readonly DescribedField<LongPromptRates>[] = [
  always("above_tokens", count, ({ aboveTokens }) => aboveTokens),
  ...rateFields,
];

const tokenPriceFields: readonly DescribedField<PriceOf<"token">>[] = [
  unitField("1M tokens"),
  ...rateFields,
  optionalField(
    "long_prompt",
    "The rates of a whole call with a longer prompt.",
    longPromptFields,
    ({ longPrompt }) => longPrompt,
  ),
  toolFees,
  optional("service_tiers", {
    type: "object",
    description: "Factors on all rates, by tier of service.",
    additionalProperties: { type: "number" },
  }, ({ serviceTiers }) =>
    serviceTiers && Object.fromEntries(
      Object.entries(serviceTiers).map(([tier, factor]) => [tier, shown(factor)]),
    )),
];

const piecePriceFields: readonly DescribedField<PiecePrice>[] = [
  unitField("request", "image", "search"),
  always("vnd", vnd, (price) => shown(price.vnd)),
  toolFees,
];

const secondPriceFields: readonly DescribedField<PriceOf<"second">>[] = [
  unitField("second"),
  always("vnd_per_minute", vnd, ({ vndPerMinute }) => shown(vndPerMinute)),
];

interface VideoStep {
  readonly step: PriceOf<"video">["tiers"][number];
  readonly listRate: number;
}

const stepFields: readonly DescribedField<VideoStep>[] = [
  always("from_seconds", count, ({ step }) => step.fromSeconds),
  always("to_seconds", count, ({ step }) => step.toSeconds),
  always("vnd", vnd, ({ step }) => shown(step.vnd)),
  always(
    "list_price",
    listFigureText,
    ({ step, listRate }) => listFigure(microVndOf(step.vnd), listRate),
  ),
];

type VideoPrice = PriceOf<"video"> & { readonly listRate: number };

const videoPriceFields: readonly DescribedField<VideoPrice>[] = [
  unitField("video"),
  listField(
    "tiers",
    "The price of lengths, both ends included.",
    stepFields,
    ({ tiers, listRate }) => tiers.map((step): VideoStep => ({ step, listRate })),
  ),
];

/** Writes the price of a model. */
export function priceJson(price: CataloguePrice, listRate: number): JsonObject {
  switch (price.unit) {
    case "token":
      return fieldsJson(tokenPriceFields, price);
    case "request":
    case "image":
    case "search":
      return fieldsJson(piecePriceFields, price);
    case "second":
      return fieldsJson(secondPriceFields, price);
    case "video":
      return fieldsJson(videoPriceFields, { ...price, listRate });
  }
}

/** The schema of the price of a model. */
export const priceSchema: JsonObject = {
  description: "VND by the unit.",
  anyOf: [
    objectSchema("Of tokens.", tokenPriceFields),
    objectSchema("Of pieces.", piecePriceFields),
    objectSchema("Of seconds.", secondPriceFields),
    objectSchema("Of videos, by their length.", videoPriceFields),
  ],
};

/** The amount that stands for a price: of a million input tokens, a piece, a minute, or the shortest video. */
function amountOf(price: CataloguePrice): WrittenVnd {
  switch (price.unit) {
    case "token":
      return price.vndPerMtok;
    case "request":
    case "image":
    case "search":
      return price.vnd;
    case "second":
      return price.vndPerMinute;
    case "video":
      return price.tiers[0]?.vnd ?? 0;
  }
}

/** Writes the list figure of a price. */
export function listPrice(price: CataloguePrice, listRate: number): string {
  return listFigure(microVndOf(amountOf(price)), listRate);
}
