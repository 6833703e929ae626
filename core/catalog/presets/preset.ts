/** Presets: the facts of a provider before an operator writes anything. */
import type { ProviderStyle, RouteCapabilities } from "../../wire/contract/contract.ts";
import type { Cloud, ProviderAuth } from "../entries/cloud_schema.ts";
import type { RouteStyle } from "../entries/model.ts";
import type { Json } from "../../lib/json/json.ts";

/** The parts of addresses that only the operator knows, as fields of a provider. */
export const presetPlaces = ["region", "project", "resource", "account"] as const;
/** A field of a provider that fills a place in the address of a preset. */
export type PresetPlace = typeof presetPlaces[number];
/** Values that an operator wrote for the places of a preset. */
export type FilledPlaces = Readonly<Partial<Record<PresetPlace, string | undefined>>>;

/** Prepaid credit that is left, as the provider counts it. */
export interface ProviderCredit {
  /** Three capital letters. */
  readonly currency: string;
  readonly amount: number;
}

/** Address at which a provider tells the credit of a key. */
export interface CreditSource {
  /** Path behind the base address. */
  readonly path: string;
  /** Reads an answer; what cannot be read is left out. */
  readonly read: (answer: Json) => readonly ProviderCredit[];
}

/** Facts of what a provider does with prompts and answers; an absent one is not known. */
export interface DataPolicy {
  /** Whether it may train on them. */
  readonly trains?: boolean | undefined;
  /** Whether it keeps them after the call. */
  readonly retains?: boolean | undefined;
}

/** A server of the operator's own that passes nothing on (Ollama does, for models in its cloud). */
export const ownServer: DataPolicy = { trains: false, retains: false };

/** A provider that operators need not describe. */
export interface Preset {
  /** The name as the provider writes it. */
  readonly title: string;
  /** May hold places: `{region}`. */
  readonly baseUrl: string;
  /** The places of address, `auth` and `cloud`. */
  readonly places?: readonly PresetPlace[];
  /** Way to send the key; absent: as a bearer. */
  readonly auth?: ProviderAuth | ((places: FilledPlaces) => ProviderAuth);
  readonly cloud?: (places: FilledPlaces) => Cloud;
  /** Styles that it serves. The first chat style is that of routes that name none. */
  readonly styles: readonly RouteStyle[];
  readonly paths?: Partial<Readonly<Record<RouteStyle, string>>>;
  /** Differences of its servers from those of the vendor that defined the style. */
  readonly facts?: Partial<Readonly<Record<ProviderStyle, RouteCapabilities>>>;
  readonly timeouts?: { readonly connectMs?: number; readonly idleMs?: number };
  /** It counts tokens of the Messages and Gemini styles. */
  readonly countTokens?: boolean;
  /** The provider compacts conversations of the Responses style. */
  readonly compactResponses?: boolean;
  /** Facts that hold for every account; what depends on a contract is the operator's to write. */
  readonly dataPolicy?: DataPolicy;
  /** It is usually called without a key. */
  readonly isKeyless?: boolean;
  readonly credit?: CreditSource;
  /** Source of address, paths and facts. */
  readonly source: string;
  /** Note for operators, in a few words. */
  readonly note?: string;
}

/**
 * Chat servers of other vendors than the one that defined the style: they know `max_tokens`, and may refuse fields that
 * only that vendor has.
 */
export const compatibleChat: RouteCapabilities = {
  max_tokens_field: "max_tokens",
  // The bound of 40 characters is that of one vendor: vLLM's own ids have 46.
  tool_id: "any",
  shared_fields: [],
};

/** The same, with the model's thinking in `reasoning_content`, which such servers want back within a turn. */
export const reasoningChat: RouteCapabilities = {
  ...compatibleChat,
  reasoning_replay: "reasoning_content",
};

/** Messages servers of other vendors: their models take no effort or adaptive thinking unless they say so. */
export const compatibleMessages: RouteCapabilities = {
  thinking: "budget",
  efforts: [],
  billing_line: false,
  tool_id: "any",
};
