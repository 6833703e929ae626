/**
 * The types of the catalogue's entries: a model and the routes to it.
 *
 * - Folder `core/catalog/entries/`: the shapes of the catalogue's entries: models, routes, prices, costs, rate
 *   limits, video rules, ways to authenticate.
 * - In: parts of `gateway.json`.
 * - Out: their schemas and types, and what is wrong within one entry.
 * - Never: checks one entry against another (`core/catalog/` does), or contains the price or the model of an
 *   operator.
 */
import type { CataloguePrice } from "../../billing/price.ts";
import type { RateCard } from "../../billing/rate_card.ts";
import type { BillableFeature } from "../../wire/contract/features.ts";
import type { ProviderStyle, RouteCapabilities } from "../../wire/contract/contract.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { ModelRateLimits } from "../../limits/rate_limits.ts";

/** Milliseconds without output after which a streaming route is slow and the next one starts beside it. */
export const defaultFirstOutputMs = 30_000;

/** The kinds of models; each has its own endpoints. */
export const modelKinds = [
  "chat",
  "image",
  "speech",
  "video",
  "embedding",
  "transcription",
  "rerank",
  "moderation",
  "completion",
] as const;

/** Kind of a model, by what it does. */
export type ModelKind = typeof modelKinds[number];

/** The styles in which routes are called: the wire styles of chat and the media endpoints. */
export type RouteStyle =
  | ProviderStyle
  | "images"
  | "speech"
  | "videos"
  | "embeddings"
  | "transcriptions"
  | "rerank"
  | "moderations"
  | "completions";

/** One way to reach a model. */
export interface Route {
  /** `provider/model`, with `#style` if the provider speaks several: stable, shown to operators. */
  readonly id: string;
  readonly provider: string;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  readonly style: RouteStyle;
  readonly region: string | undefined;
  readonly priority: number;
  readonly weight: number;
  readonly countTokens: boolean;
  /** The provider compacts conversations of the Responses style. */
  readonly compactsResponses?: boolean;
  /** Charges of the provider; `undefined`: not known. */
  readonly rateCard?: RateCard | undefined;
  /** The billable features that the operator allows on this route. */
  readonly allow: ReadonlySet<BillableFeature>;
  /**
   * Set of a route with a provider key of the calling organisation; no catalogue has such a route. Words an error about
   * the key for its owner.
   */
  readonly ownKey?: (error: GatewayError) => GatewayError;
  readonly capabilities: RouteCapabilities & {
    readonly videoAdapter?: unknown;
    readonly image_edits?: "form" | "json" | undefined;
  };
}

/** One model that customers call, with its price and its routes. */
export interface Model {
  readonly id: string;
  readonly kind: ModelKind;
  readonly family: string;
  readonly displayName: string;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly vision: boolean;
  readonly aliases: readonly string[];
  readonly price: CataloguePrice;
  readonly routes: readonly Route[];
  readonly hedge: boolean;
  /** Time to the first output; `undefined`: not known for this kind of model. */
  readonly slowAfterMs: number | undefined;
  readonly videoRules: Readonly<Record<string, unknown>> | undefined;
  /** Rate limits of this model; absent: none. */
  readonly rateLimits?: ModelRateLimits | undefined;
}
