/**
 * The receipt of a call: what it used, at which prices, how each attempt ended, and what was charged.
 *
 * - Folder `core/billing/usage/`: the record of a call: tokens, uses of hosted tools, failures, and the receipt that
 *   holds them.
 * - In: a provider's report, and what the gateway counted itself.
 * - Out: usage that can be believed, fees for hosted tools, receipts, and words for their failure codes.
 * - Never: keeps a provider's message, which may repeat the prompt, or applies the prices of a whole call:
 *   `core/billing/` does.
 */
import type { AccountId, ApiKeyId, RequestId } from "../../lib/ids/ids.ts";
import type { CallTags } from "./call_tags.ts";
import type { ToolCharge } from "./hosted_tools.ts";
import type { TokenUsage } from "../tokens/token_bounds.ts";

/**
 * Outcome of a call, which decides the charge: see docs/behaviour.md#who-pays-for-what and
 * `core/billing/outcome.ts`.
 */
export type Outcome =
  /** The whole answer was delivered. */
  | "completed"
  /** The answer was complete, but empty and without usage: free. */
  | "empty"
  /** The provider refused or every route failed: free. */
  | "failed"
  /** The stream broke upstream after output began: what was produced is charged. */
  | "broken"
  /** The client left: what was produced is charged. */
  | "client_gone"
  /**
   * The gateway ended the stream, e.g. because the wallet could not pay for more: what was produced
   * is charged.
   */
  | "cut"
  /** The answer was whole, but the client was refused it, since the store did not confirm the receipt in time: free. */
  | "withheld";

/** One attempt on one route. Metadata only. */
export interface Attempt {
  readonly route: string;
  readonly outcome: string;
  readonly ms: number;
  /** The region of the route, where the operator has named it. */
  readonly region?: string;
  /** With a provider key of the organisation. */
  readonly ownKey?: true;
}

/** Charge of a call that a provider key of the organisation served. */
export interface OwnKeyCharge {
  /** The price of the call, at `price`: the organisation has paid its provider, too. */
  readonly priceMicroVnd: bigint;
  /** The part of it that was charged, in hundredths of a per cent. */
  readonly fee: number;
}

/** Call of a tool of an MCP server that the gateway made. Neither its arguments nor its result are kept. */
export interface McpCallRecord {
  /** Host of the server. */
  readonly server: string;
  readonly tool: string;
  readonly failed: boolean;
  readonly ms: number;
}

/** Charge of the provider that answered, to the operator. */
export type ProviderCost =
  | {
    readonly kind: "known";
    /** The id of the rate card; see `core/billing/rate_card.ts`. */
    readonly card: string;
    /** By bucket of the card. */
    readonly units: Readonly<Record<string, number>>;
    readonly costMicroVnd: bigint;
  }
  /** The route has no rates, while others of the catalogue have. */
  | { readonly kind: "unknown" };

/** Prices of tokens, in µVND per 1,000,000 tokens. */
export interface TokenRates {
  readonly inputPerMtokMicroVnd: bigint;
  readonly outputPerMtokMicroVnd: bigint;
  readonly cacheReadPerMtokMicroVnd: bigint;
  readonly cacheWritePerMtokMicroVnd: bigint;
  /** Of tokens that a cache keeps for an hour; absent: as other cache writes. */
  readonly cacheWriteHourPerMtokMicroVnd?: bigint;
  /** Of prompt tokens that are sound and not cached; absent: as text. So are the next three. */
  readonly inputAudioPerMtokMicroVnd?: bigint;
  readonly inputImagePerMtokMicroVnd?: bigint;
  readonly outputAudioPerMtokMicroVnd?: bigint;
  readonly outputImagePerMtokMicroVnd?: bigint;
}

/** Other rates for a whole call whose prompt is long. */
export interface LongPromptRates extends TokenRates {
  /** They apply if more tokens than these are billed as input. */
  readonly aboveTokens: number;
}

/**
 * The applied unit prices, in µVND per unit: fixed at admission, whatever the catalogue says later. On a receipt, the
 * rates that were charged, without `long` and `tiers`.
 */
export type AppliedPrice =
  | TokenRates & {
    readonly unit: "token";
    readonly long?: LongPromptRates;
    /** Factors on the rates, in hundredths, by tier of service. */
    readonly tiers?: Readonly<Record<string, bigint>>;
  }
  | {
    readonly unit: "request" | "image" | "video" | "second" | "search";
    readonly perUnitMicroVnd: bigint;
  };

/**
 * The record of one call that reached a provider. Written once, in the same commit as the debit; never changed.
 * Metadata only: prompts and completions are never stored.
 */
export interface Receipt {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
  readonly kind:
    | "chat"
    | "image"
    | "speech"
    | "video"
    | "embedding"
    | "transcription"
    | "rerank"
    | "moderation"
    | "completion";
  /** The model that processed the call (catalogue id). */
  readonly model: string;
  /** The name that was sent, if it was mapped. */
  readonly mappedFrom?: string;
  /**
   * Endpoint style of the caller: `messages`, `chat`, `responses`, `images`, `speech`, `videos`, `embeddings`,
   * `transcriptions`, `rerank`, `moderations`, `completions`.
   */
  readonly style: string;
  /** `provider/model` that answered; absent if every route failed. */
  readonly route?: string;
  /** The region of the gateway that served the call, where it has one and tried a route. */
  readonly region?: string;
  readonly startedAtMs: number;
  readonly latencyMs: number;
  /** Time to the first real output. */
  readonly firstOutputMs?: number;
  /** HTTP status that the client saw. */
  readonly status: number;
  readonly stream: boolean;
  readonly outcome: Outcome;
  readonly usage?: TokenUsage;
  /** Whether the gateway counted the tokens because the provider reported none (or nonsense). */
  readonly estimated: boolean;
  /** Units for per-unit prices: calls, images, videos, seconds of audio, searches. */
  readonly units: number;
  readonly price: AppliedPrice;
  /**
   * End of a stream that was not whole, as `call_failure.ts` explains it. Absent: the answer was whole, its client
   * left, or the receipt is of an earlier release.
   */
  readonly endCode?: string;
  /** The tier of service whose factor the rates contain; absent: the usual one. */
  readonly serviceTier?: string;
  /** Fees of hosted tools, which the price contains, and `costMicroVnd` without `ownKey`. Absent: there were none. */
  readonly toolCharges?: readonly ToolCharge[];
  /** Calls of tools of MCP servers that the gateway made. Absent: none. */
  readonly mcpCalls?: readonly McpCallRecord[];
  /**
   * The version of the catalogue whose price and routes the call had; absent on receipts of earlier releases, and
   * without an attempt.
   */
  readonly catalogVersion?: number;
  /** Tags of the caller; absent: none, or the receipt is of an earlier release. */
  readonly tags?: CallTags;
  /** The amount that was debited. */
  readonly costMicroVnd: bigint;
  /** The part of the price that the wallet could not cover; never makes it negative. */
  readonly shortfallMicroVnd: bigint;
  /**
   * Reservation of the wallet for the call, with what it was extended by while it ran. Absent on receipts of
   * earlier releases, and without an attempt.
   */
  readonly heldMicroVnd?: bigint;
  /**
   * Use that the provider reported beyond what was charged, at this price, which the operator may
   * claim. More than 0.
   */
  readonly claimMicroVnd?: bigint;
  /** Set if a provider key of the organisation served the call: what was charged is a fee. */
  readonly ownKey?: OwnKeyCharge;
  /** Cost of the call to the operator, for the operator only. Absent: the catalogue names no costs. */
  readonly providerCost?: ProviderCost;
  readonly attempts: readonly Attempt[];
}

/**
 * Returns the region of the route that answered, where the operator has named it.
 *
 * @example
 * ```ts
 * import { answeringRegion } from "./receipt.ts";
 * const attempts = [
 *   { route: "near/m", outcome: "upstream_unreachable", ms: 3, region: "vn" },
 *   { route: "far/m", outcome: "ok", ms: 90, region: "sg" },
 * ];
 * if (answeringRegion({ route: "far/m", attempts }) !== "sg") throw new Error("another region");
 * ```
 */
export function answeringRegion(
  { route, attempts }: Pick<Receipt, "route" | "attempts">,
): string | undefined {
  return attempts.findLast((attempt) => attempt.route === route)?.region;
}
