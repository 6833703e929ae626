/** What a provider charges for a route, as the operator writes it: the forms of prices, in the provider's currency. */
import type { CountedTool } from "./usage/hosted_tools.ts";
import type { TierPrices } from "./service_tiers.ts";

/** An amount of the provider's currency: a number, or a decimal text such as `"0.075"`. */
export type WrittenCost = number | string;

/** Rates of tokens, per 1,000,000. */
export interface CostRates {
  /** Input and output alike unless the next members differ. */
  readonly perMtok: WrittenCost;
  readonly outputPerMtok?: WrittenCost | undefined;
  readonly cacheReadPerMtok?: WrittenCost | undefined;
  readonly cacheWritePerMtok?: WrittenCost | undefined;
  /** Absent: as other cache writes. */
  readonly cacheWriteHourPerMtok?: WrittenCost | undefined;
  /** Absent: as text. So are the next three. */
  readonly inputAudioPerMtok?: WrittenCost | undefined;
  readonly inputImagePerMtok?: WrittenCost | undefined;
  readonly outputAudioPerMtok?: WrittenCost | undefined;
  readonly outputImagePerMtok?: WrittenCost | undefined;
}

/** The fee of a hosted tool: for each use, or once for a call that uses it at all. */
export type ToolCost = { readonly perUse: WrittenCost } | { readonly perCall: WrittenCost };

/** The fees of hosted tools. */
export type ToolCosts = Readonly<Partial<Record<CountedTool, ToolCost | undefined>>>;

/** The cost of a route. */
export type RouteCost =
  | CostRates & {
    readonly unit: "token";
    readonly longPrompt?: CostRates & { readonly aboveTokens: number } | undefined;
    /** Factors on all rates, by tier of service. */
    readonly serviceTiers?: TierPrices | undefined;
    readonly hostedTools?: ToolCosts | undefined;
  }
  | {
    readonly unit: "request";
    readonly amount: WrittenCost;
    readonly hostedTools?: ToolCosts | undefined;
  }
  | { readonly unit: "image" | "search"; readonly amount: WrittenCost }
  /** Sound, and videos that are paid by their length. */
  | { readonly unit: "second"; readonly perMinute: WrittenCost }
  | {
    readonly unit: "video";
    readonly tiers: readonly {
      readonly fromSeconds: number;
      readonly toSeconds: number;
      readonly amount: WrittenCost;
    }[];
  };
