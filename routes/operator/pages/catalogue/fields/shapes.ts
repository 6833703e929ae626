/**
 * The fields of a model's form as data: one shape for each member of the schema, which a form is shown and read by.
 *
 * - Folder `routes/operator/pages/catalogue/fields/`: the fields of a model's form: which there are, how they are shown,
 *   read and called.
 * - In: the entry of a model as it is written, or a posted form.
 * - Out: fields, or the entry that they stand for.
 * - Never: decides whether an entry is valid: `core/catalog/` does.
 */
import { z } from "zod";
import { costMembers, priceMembers } from "../../../../../core/billing/tariff.ts";
import { countedTools } from "../../../../../core/billing/usage/hosted_tools.ts";
import { modelKinds } from "../../../../../core/catalog/entries/model.ts";
import type { CataloguePrice } from "../../../../../core/billing/price.ts";
import {
  aspectRatios,
  specVideoRules,
  type VideoRules,
} from "../../../../../core/catalog/entries/video_rules.ts";
import {
  type gatewayFileSchema,
  mcpToolsStates,
  type modelSchema,
} from "../../../../../core/catalog/schema.ts";
import { spendingOrders } from "../../../../../core/trade/credits/pots.ts";
import { recordOf } from "../../../../../core/lib/base/record_of.ts";
import { rateLimitsOf } from "../../../../../core/limits/limit_table.ts";
import {
  type RouteCapabilities,
  routeCapabilitiesSchema,
} from "../../../../../core/wire/contract/capabilities.ts";
import { billableFeatures } from "../../../../../core/wire/contract/features.ts";
import type { FieldName } from "./labels.ts";

/** The entry of a model as it is written. */
export type WrittenModel = z.input<typeof modelSchema>;

/** Members of the settings without those that have fields of their own. */
type WrittenSetting = Exclude<
  keyof z.input<typeof gatewayFileSchema>,
  "$schema" | "models" | "providers" | "listRate" | "defaultModel" | "webSearchModel"
>;

type WrittenRoute = WrittenModel["routes"][number];

/** A unit of prices and costs. */
export type PriceUnit = CataloguePrice["unit"];

/** The fields of an object, by member. */
export type Members = { readonly [Name in FieldName]?: Shape };

/** One field. */
export type Leaf =
  /** `factor` is a number with a fraction. */
  | { readonly kind: "text" | "whole" | "factor" | "vnd" | "cost" }
  /** Texts with commas between them. `mayBeOne`: a single text may be written without the list. */
  | { readonly kind: "list"; readonly mayBeOne?: true }
  | { readonly kind: "check" }
  /** One of some values; what is no option, the empty text, is the default. */
  | { readonly kind: "choice"; readonly options: readonly string[]; readonly isRequired?: true }
  /** Some of some values. */
  | { readonly kind: "choices"; readonly options: readonly string[] };

/** A field, or several. */
export type Shape =
  | Leaf
  | { readonly kind: "group"; readonly members: Members }
  /** An object whose members depend on one of them, `by`; the empty case has none of that name. */
  | {
    readonly kind: "cases";
    readonly by: "unit" | "profile";
    readonly cases: Readonly<Record<string, Members>>;
  }
  | { readonly kind: "rows"; readonly row: Members }
  /** Numbers under names that people choose: factors by tier of service, or VND by currency. */
  | { readonly kind: "factors"; readonly of: "tiers" | "currencies" };

const text = { kind: "text" } as const;
const whole = { kind: "whole" } as const;
const check = { kind: "check" } as const;
const list = { kind: "list" } as const;

function group(members: Members): Shape {
  return { kind: "group", members };
}

type Names = typeof priceMembers | typeof costMembers;

/** The rates of a tariff of tokens: first those that most have. */
function ratesOf({ input, output, ...others }: Names, amount: Leaf): Members {
  return Object.fromEntries(
    [input, output, ...Object.values(others)].map((name) => [name, amount]),
  );
}

/** The fields of a price or a cost, by unit. */
function tariffCases(
  { names, amount, piece, minute, tool }: {
    readonly names: Names;
    readonly amount: Leaf;
    readonly piece: "vnd" | "amount";
    readonly minute: "vndPerMinute" | "perMinute";
    readonly tool: Members;
  },
): Readonly<Record<PriceUnit, Members>> {
  const rates = ratesOf(names, amount);
  const one: Members = { [piece]: amount };
  const hostedTools = group(recordOf(countedTools, () => group(tool)));
  return {
    token: {
      ...rates,
      longPrompt: group({ aboveTokens: whole, ...rates }),
      hostedTools,
      serviceTiers: { kind: "factors", of: "tiers" },
    },
    request: { ...one, hostedTools },
    image: one,
    search: one,
    second: { [minute]: amount },
    video: {
      tiers: { kind: "rows", row: { fromSeconds: whole, toSeconds: whole, ...one } },
    },
  };
}

const vnd = { kind: "vnd" } as const;
const cost = { kind: "cost" } as const;

const priceCases = tariffCases({
  names: priceMembers,
  amount: vnd,
  piece: "vnd",
  minute: "vndPerMinute",
  tool: { vndPerUse: vnd, mostUses: whole, vndPerCall: vnd },
});

const costCases = tariffCases({
  names: costMembers,
  amount: cost,
  piece: "amount",
  minute: "perMinute",
  tool: { perUse: cost, perCall: cost },
});

/** Units that prices can have. */
export const priceUnits: readonly PriceUnit[] = recordNames(priceCases);

function recordNames<Name extends string>(record: Readonly<Record<Name, unknown>>): Name[] {
  return Object.keys(record).filter((name): name is Name => Object.hasOwn(record, name));
}

/** Returns the field of a capability, as the table of capabilities defines it. */
function capabilityField(schema: z.ZodType): Leaf {
  const own = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (own instanceof z.ZodBoolean) return check;
  if (own instanceof z.ZodNumber) return whole;
  if (own instanceof z.ZodEnum) return { kind: "choice", options: own.options.map(String) };
  if (!(own instanceof z.ZodArray)) return text;
  const { element } = own;
  return element instanceof z.ZodEnum
    ? { kind: "choices", options: element.options.map(String) }
    : list;
}

/** The capabilities of a chat route. */
const capabilities: Readonly<Record<keyof RouteCapabilities, Leaf>> = recordOf(
  recordNames(routeCapabilitiesSchema.shape),
  (name) => capabilityField(routeCapabilitiesSchema.shape[name]),
);

const imageCapabilities: Members = {
  image_edits: { kind: "choice", options: ["form", "json"] },
};

/** All capabilities that have fields. `videoAdapter` describes endpoints of a provider, and is written as JSON. */
const allCapabilities = group({ ...capabilities, ...imageCapabilities });

const videoRules: Readonly<Record<keyof VideoRules, Shape>> = {
  seconds: { kind: "rows", row: { from: whole, to: whole } },
  defaultSeconds: whole,
  sizes: { kind: "rows", row: { size: text, ratio: { kind: "choice", options: aspectRatios } } },
  maxInputReferences: whole,
  lastFrame: check,
  inputVideo: check,
  resolutions: list,
  deadlineMinutes: whole,
};

/** Fields of a route. */
export const routeMembers = {
  provider: text,
  model: text,
  style: { kind: "list", mayBeOne: true },
  region: text,
  priority: whole,
  weight: { kind: "factor" },
  countTokens: check,
  compactResponses: check,
  allow: { kind: "choices", options: billableFeatures },
  cost: { kind: "cases", by: "unit", cases: { "": {}, ...costCases } },
  capabilities: allCapabilities,
  // The earlier name has the same fields, where it is written.
  facts: allCapabilities,
} as const satisfies Readonly<Record<keyof WrittenRoute, Shape>>;

/** Fields of a model. */
export const modelMembers = {
  id: text,
  kind: { kind: "choice", options: modelKinds, isRequired: true },
  family: text,
  displayName: text,
  contextWindow: whole,
  maxOutputTokens: whole,
  vision: check,
  aliases: list,
  price: { kind: "cases", by: "unit", cases: priceCases },
  routes: { kind: "rows", row: routeMembers },
  hedge: check,
  slowAfterMs: whole,
  videoRules: {
    kind: "cases",
    by: "profile",
    cases: { "": videoRules, ...recordOf(recordNames(specVideoRules), () => ({})) },
  },
  rateLimits: group({
    all: group(recordOf(rateLimitsOf("model"), () => whole)),
    account: group(recordOf(rateLimitsOf("account_model"), () => whole)),
  }),
} as const satisfies Readonly<Record<keyof WrittenModel, Shape>>;

/** Fields of the settings, but for those that choose a model. */
export const settingsMembers = {
  ownKeys: group({ feePercent: { kind: "factor" } }),
  mcpTools: { kind: "choice", options: mcpToolsStates },
  currencies: { kind: "factors", of: "currencies" },
  wallet: group({
    outgrown: { kind: "choice", options: ["length", "error"] },
    spendGranted: { kind: "choice", options: spendingOrders },
    debtVnd: group({ toppedUp: whole, others: whole }),
  }),
  rateLimits: group({
    account: group(recordOf(rateLimitsOf("account"), () => whole)),
    key: group(recordOf(rateLimitsOf("key"), () => whole)),
  }),
} as const satisfies Readonly<Record<WrittenSetting, Shape>>;

/** All fields of the settings that are shown by shape. */
export const settingsShape: Shape = group(settingsMembers);

/** All fields of a model. */
export const modelShape: Shape = group(modelMembers);

/** Whether a kind of models has a group of fields; what is written is shown anyway. */
export function hasField(kind: string, name: FieldName): boolean {
  switch (name) {
    case "videoRules":
      return kind === "video";
    case "image_edits":
      return kind === "image";
    case "countTokens":
    case "compactResponses":
    case "allow":
    case "hedge":
    case "vision":
      return kind === "chat";
    default:
      return !(name in capabilities) || kind === "chat";
  }
}
