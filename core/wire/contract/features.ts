import type { Outline } from "../../lib/json/json.ts";

const hostedTools = [
  "web_search",
  "web_fetch",
  "code_execution",
  "file_search",
  "image_generation",
  "mcp",
  "other_tools",
  "plugins",
] as const;

/** Features that providers charge for beyond tokens, or at higher token rates: the closed set of `routes[].allow`. */
export const billableFeatures = [
  ...hostedTools,
  "other_models",
  "fallbacks",
  "service_tier",
  "fast_mode",
  "inference_geo",
  "long_context",
  "media_output",
] as const;

/** The name of a billable feature, as in `routes[].allow`. */
export type BillableFeature = typeof billableFeatures[number];

/** Hosted tools: the provider reads the prompt again after each round, so one call may fill its context many times. */
export const hostedToolFeatures: ReadonlySet<BillableFeature> = new Set(hostedTools);

/** The feature in a refusal: the subject of "costs extra at the provider". */
export const billableFeatureWords: Readonly<Record<BillableFeature, string>> = {
  web_search: "searching the web",
  web_fetch: "fetching web pages",
  code_execution: "running code on the provider's machines",
  file_search: "searching files on the provider's machines",
  image_generation: "making pictures inside a chat",
  mcp: "an MCP server that the provider calls",
  other_tools: "a tool that the provider runs",
  plugins: "a plugin of the provider",
  other_models: "choosing other models or hosts at the provider",
  fallbacks: "another model when this one declines",
  service_tier: "this service tier",
  fast_mode: "the fast mode",
  inference_geo: "choosing where the model runs",
  long_context: "the long context",
  media_output: "an answer that is not text",
};

/** One place of a request that costs more than tokens. */
export interface AskedFeature {
  readonly feature: BillableFeature;
  /** Its path, e.g. `tools.2`, made of known names and numbers only. */
  readonly path: string;
  /** Whether it matters only if the model declines: without it the caller gets the refusal. Always a top-level field. */
  readonly spare: boolean;
  /** The caller's own bound on the uses of a tool (`max_uses`), as it stands in the request. */
  readonly mostUses?: Outline | undefined;
}
