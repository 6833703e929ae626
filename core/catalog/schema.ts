/**
 * The shape of `gateway.json`: providers, models, prices, routes. Secrets appear only as names: of environment
 * variables, or of keys that are sealed in the store. The JSON Schema in `docs/gateway.schema.json` is generated from here (`deno task schema`).
 */
import { z } from "zod";
import { spendingOrders } from "../trade/credits/pots.ts";
import { billableFeatures } from "../wire/contract/features.ts";
import { routeCapabilitiesSchema } from "../wire/contract/capabilities.ts";
import { maxOutputTokensOfCall, maxReportedTokens } from "../billing/tokens/limits.ts";
import { maxCallMs, maxModelNameChars } from "../lib/base/limits.ts";
import { isOneLine, oneLineForm } from "../lib/base/plain_text.ts";
import { driverHeaders } from "../net/http1/heads.ts";
import { drivers } from "../net/transport/transport.ts";
import { modelKinds } from "./entries/model.ts";
import { videoRulesSchema } from "./entries/video_rules.ts";
import {
  authKinds,
  cloudAuthSchema,
  cloudSchema,
  describeAuthKinds,
} from "./entries/cloud_schema.ts";
import { expandProvider } from "./presets/expand.ts";
import { presetNames } from "./presets/presets.ts";
import {
  costSchema,
  currenciesSchema,
  defaultRateLimitsSchema,
  modelRateLimitsSchema,
  priceSchema,
  providerCurrency,
} from "./entries/price_schema.ts";

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/).max(maxModelNameChars);

/** The schema of a name of an environment variable. */
export const environmentName = z.string().regex(/^[A-Z][A-Z0-9_]*$/)
  .describe("Name of an environment variable that holds the secret.");

/** Characters of the name of a stored key: fewer than any vendor's key has, so that a key is not taken for a name. */
export const maxStoredKeyNameChars = 30;

/** The schema of the name of a key that is sealed in the store. */
export const storedKeyName = z.string()
  .regex(/^[a-z][a-z0-9-]*$/, "must be lower-case letters, digits and hyphens, a letter first")
  .max(maxStoredKeyNameChars, `must have at most ${maxStoredKeyNameChars} characters`)
  .describe("Name of a key that is sealed in the store.");

/** Keys that a provider may use in turn. */
const maxKeysInTurn = 16;

const sandboxProvider = z.strictObject({
  kind: z.literal("sandbox").describe("The built-in provider: deterministic, free, no network."),
  strict: z.boolean().default(false)
    .describe("Refuse what the real vendors would refuse, with their messages."),
  currency: providerCurrency,
});

const timeouts = z.strictObject({
  connectMs: z.int().min(10).max(60_000).optional()
    .describe(
      "A connection that is not open after this time has failed. Default 5 s, or of the preset. " +
        "No effect with `driver: fetch`.",
    ),
  firstOutputMs: z.int().min(100).max(maxCallMs).optional()
    .describe(
      "The call goes to the next route, or fails on the last one, if after this time a stream has no output, an " +
        "answer is not whole, speech has no byte, or a video is not accepted. The model's `slowAfterMs` also " +
        "applies, except to whole answers.",
    ),
  idleMs: z.int().min(100).max(maxCallMs).optional()
    .describe(
      "Longest silence within an answer. Default 10 min once output has begun, none before.",
    ),
});

const routeStyleSchema = z.enum([
  "messages",
  "chat",
  "responses",
  "gemini",
  "converse",
  "images",
  "speech",
  "videos",
  "embeddings",
  "transcriptions",
  "rerank",
  "moderations",
  "completions",
]);

/**
 * Set for every request by its content; a second line of that name would make it a request of
 * another kind.
 */
const ownHeaders: ReadonlySet<string> = new Set(["accept", "accept-encoding", "content-type"]);

const fixedHeaderName = z.string().regex(/^[a-z0-9-]+$/).refine(
  (header) => !driverHeaders.has(header) && !ownHeaders.has(header),
  "is set by the gateway itself",
);

const place = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/).max(128).optional();

const httpProvider = z.strictObject({
  kind: z.literal("http").optional(),
  preset: z.enum(presetNames).optional()
    .describe(
      "A known provider: all that is not written here comes from it. See docs/providers.md.",
    ),
  region: place.describe("The `{region}` of a preset."),
  project: place.describe("The `{project}` of a preset."),
  resource: place.describe("The `{resource}` of a preset."),
  account: place.describe("The `{account}` of a preset."),
  baseUrl: z.url({ protocol: /^https?$/ }).optional().describe(
    "Without `/v1`; the path of each style is appended. Required without a preset.",
  ),
  apiKeyEnv: z.union([environmentName, z.array(environmentName).min(1).max(maxKeysInTurn)])
    .optional().describe(
      "One key, or several that are used in turn; a refused key is paused without the others. " +
        "Required, except with `apiKeyVault`, and with presets of servers that are called without a key.",
    ),
  apiKeyVault: z.union([storedKeyName, z.array(storedKeyName).min(1).max(maxKeysInTurn)])
    .optional().describe(
      "The same for keys that an operator has added on the page or with a command, and that are sealed in the store. " +
        "They are used in turn with those of `apiKeyEnv`, if there are any.",
    ),
  auth: z.union([z.enum(authKinds.map(({ name }) => name)), cloudAuthSchema]).optional()
    .describe(`${describeAuthKinds()} Default \`bearer\`, or of the preset.`),
  cloud: cloudSchema.optional(),
  headers: z.record(
    fixedHeaderName,
    // RFC 9110 section 5.5, without what servers interpret differently: tabs, and bytes above
    // ASCII.
    z.string().regex(/^[\x20-\x7e]*$/, "must be visible ASCII characters and spaces"),
  ).default({})
    .describe("Fixed headers added to every request, lower-case names. No secrets."),
  driver: z.enum(drivers).optional()
    .describe(
      "`fetch` where a proxy or HTTP/2 is needed. Default `http1`; `fetch` on Deno Deploy.",
    ),
  paths: z.partialRecord(
    routeStyleSchema,
    z.string().regex(/^\/[\x21-\x22\x24-\x7e]*$/, "must be a path: / first, no spaces, no #"),
  ).default({})
    .describe(
      'Other paths per style, e.g. `{ "chat": "/openai/v1/chat/completions" }`. For `gemini`, the path before the ' +
        "name of the model (`/v1beta/models`).",
    ),
  timeouts: timeouts.prefault({}),
  unresolvedNames: z.boolean().default(false).describe(
    "Forwards URLs of pictures and files without resolving their names. For gateways " +
      "without name servers: the provider itself must refuse names of private addresses.",
  ),
  organization: z.string().min(1).max(128).refine(isOneLine, oneLineForm).optional().describe(
    "The organisation (and region) at the vendor to which all keys of this provider belong; providers with the same " +
      "name are one. What one key has sealed (encrypted reasoning, signatures), the others can read, so that a " +
      "conversation may move between them. Default: each key is an account of its own.",
  ),
  dataPolicy: z.strictObject({
    trains: z.boolean().optional().describe("Whether it may train on prompts and answers."),
    retains: z.boolean().optional().describe("Whether it keeps them after the call."),
  }).optional().describe(
    "What your contract with the provider says of data. Callers who forbid training or retention get only routes of " +
      "providers for which `false` is written here or in the preset; what is not written is not known.",
  ),
  currency: providerCurrency,
}).transform((written, context) => {
  const { provider, problems } = expandProvider(written);
  for (const { path, message } of problems) {
    context.addIssue({ code: "custom", path: [path], message });
  }
  return provider;
});

/** The schema of a provider of `gateway.json`. */
export const providerSchema = z.discriminatedUnion("kind", [sandboxProvider, httpProvider]);

const writtenCapabilities = routeCapabilitiesSchema.extend({
  videoAdapter: z.unknown().optional()
    .describe("How a provider's video endpoints differ from the standard; see docs/media.md."),
  image_edits: z.enum(["form", "json"]).optional()
    .describe("How a provider takes the pictures of an edit: as files (default) or as JSON."),
});

const routeSchema = z.strictObject({
  provider: z.string(),
  model: name.optional().describe("The provider's name of the model; default: the id."),
  style: z.union([routeStyleSchema, z.array(routeStyleSchema).min(1)]).optional()
    .describe(
      "Wire style the provider speaks; several make one route each. Default by preset and kind.",
    ),
  region: z.string().max(64).optional(),
  priority: z.int().min(0).max(1000).default(0).describe("Lower is tried first."),
  weight: z.number().positive().max(1000).default(1),
  countTokens: z.boolean().optional()
    .describe(
      "The provider counts tokens at /v1/messages/count_tokens, at /v1/responses/input_tokens, by countTokens of Gemini " +
        "or by CountTokens of Bedrock. Default false, or of the preset.",
    ),
  compactResponses: z.boolean().optional()
    .describe(
      "The provider compacts conversations at /v1/responses/compact; for routes of the Responses style. Default false, " +
        "or of the preset; the sandbox does.",
    ),
  allow: z.array(z.enum(billableFeatures)).optional().describe(
    "Chat: features that this route allows although the provider charges more than tokens for them. Customers are " +
      "charged only for those that have a fee in the price of the model; see docs/operations/hosted-tools.md. All other such " +
      "features are refused. Default: the hosted tools that have a fee.",
  ),
  cost: costSchema.optional(),
  capabilities: writtenCapabilities.optional().describe(
    "What the model behind this route accepts, where it differs from its preset; see docs/conversion.md.",
  ),
  facts: writtenCapabilities.optional().describe("The earlier name of `capabilities`."),
}).refine(
  ({ capabilities, facts }) => capabilities === undefined || facts === undefined,
  { path: ["facts"], error: "is the earlier name of capabilities: write one of them" },
);

/** The schema of a model of `gateway.json`. */
export const modelSchema = z.strictObject({
  id: name,
  kind: z.enum(modelKinds),
  family: z.string().min(1).max(64),
  displayName: z.string().min(1).max(128).refine(isOneLine, oneLineForm).optional(),
  contextWindow: z.int().positive().max(maxReportedTokens).optional()
    .describe("As stated by the provider: reports of usage far beyond it are not believed."),
  maxOutputTokens: z.int().positive().max(maxOutputTokensOfCall).optional()
    .describe("The same for output; also reserved for a call that sets no bound."),
  vision: z.boolean().default(false),
  aliases: z.array(name).default([]),
  price: priceSchema,
  routes: z.array(routeSchema).min(1).max(32),
  hedge: z.boolean().default(false)
    .describe(
      "Starts a second route after the model's 95th percentile of the time to first output; the first output wins.",
    ),
  slowAfterMs: z.int().min(100).max(maxCallMs).optional()
    .describe(
      "A chat stream without output after this time gets a second route while the first continues; the first output " +
        "wins. Speech without a byte, or a video that is not accepted, goes to the next route. Default for chat 30 s.",
    ),
  videoRules: videoRulesSchema.optional()
    .describe("What a video model accepts; see docs/media.md."),
  rateLimits: modelRateLimitsSchema,
});

/** VND. A larger debt would be a loan, not slack for calls in flight. */
const maxDebtVnd = 1_000_000;
const debt = z.int().min(0).max(maxDebtVnd);

const walletSchema = z.strictObject({
  outgrown: z.enum(["length", "error"]).default("length").describe(
    "How a stream ends once the wallet cannot pay for more: `length` with the style's own stop for length " +
      "(`max_tokens`, `length`, `max_output_tokens`), `error` with an error event. Limits of keys and budgets " +
      "always end streams with an error event.",
  ),
  debtVnd: z.strictObject({
    toppedUp: debt.default(2_000).describe("Accounts that have topped up."),
    others: debt.default(0).describe("All others: their calls never cost more than they have."),
  }).prefault({}).describe(
    "Most that an account may owe, so that calls in flight do not block each other when the balance is " +
      "nearly used up. The next top-up repays it first.",
  ),
  spendGranted: z.enum(spendingOrders).default("first").describe(
    "When calls spend credit that was given: `first`, before the customer's own money, or `last`. An account takes " +
      "a change over with its next credit; see docs/credits.md.",
  ),
});

/** Decimals of the fee for calls with own keys: hundredths of a per cent. */
const maxFeeDecimals = 2;

const ownKeysSchema = z.strictObject({
  feePercent: z.number().min(0).max(100)
    .refine(
      (fee) => Number(fee.toFixed(maxFeeDecimals)) === fee,
      `must have at most ${maxFeeDecimals} decimals`,
    )
    .describe("Charge for a call that such a key served, in per cent of the price of its model."),
});

/** Whether the gateway calls MCP servers of requests. */
export const mcpToolsStates = ["on", "off"] as const;

/** The schema of `gateway.json`. */
export const gatewayFileSchema = z.strictObject({
  $schema: z.string().optional(),
  listRate: z.int().positive().default(22_000)
    .describe("VND per US dollar of the published list price."),
  defaultModel: name.describe("Chat model that answers for unknown names."),
  webSearchModel: name.optional().describe(
    "Chat model that searches the web for models without a search of their own. A route of it allows `web_search`. " +
      "Default: none, and such searches are refused.",
  ),
  mcpTools: z.enum(mcpToolsStates).default("on").describe(
    "Whether the gateway calls the MCP servers of requests for models none of whose routes allows `mcp`.",
  ),
  wallet: walletSchema.prefault({}).describe(
    "What accounts may spend; see docs/operations/limits.md.",
  ),
  ownKeys: ownKeysSchema.optional().describe(
    "Lets organisations add keys of their own for the providers below, which their calls use first; see " +
      "docs/own-keys.md. Default: they cannot.",
  ),
  currencies: currenciesSchema,
  rateLimits: defaultRateLimitsSchema,
  providers: z.record(z.string().regex(/^[a-z][a-z0-9-]*$/), providerSchema),
  models: z.array(modelSchema).min(1).max(10_000),
});

/** Bounds of what accounts may spend beyond their balance. */
export type WalletRules = Readonly<z.infer<typeof walletSchema>>;
/** The contents of `gateway.json`, with defaults filled in. */
export type GatewayFile = z.infer<typeof gatewayFileSchema>;
/** A provider of `gateway.json`. */
export type ProviderEntry = z.infer<typeof providerSchema>;
/** A model of `gateway.json`. */
export type ModelEntry = z.infer<typeof modelSchema>;
