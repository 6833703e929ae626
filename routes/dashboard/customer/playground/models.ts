/** What the playground has to know of each model: prices, abilities, and the values of its form. */
import type { Catalog, Model } from "../../../../core/catalog/catalog.ts";
import { modelAbilities } from "../../../../core/catalog/model_abilities.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { microVndOf } from "../../../../core/billing/money/written_vnd.ts";
import { videoRulesOf } from "../../../../core/catalog/entries/video_model_rules.ts";
import type { Locale } from "../../text/i18n.ts";
import { priceLines } from "../../text/model_prices.ts";

/** The kinds of models that the playground can call. */
export const playgroundKinds = ["chat", "image", "speech", "video"] as const;
export type PlaygroundKind = typeof playgroundKinds[number];

/** Prices as numbers, for estimates only: receipts have the exact sums. */
type Estimate =
  | { readonly unit: "token"; readonly input: number; readonly output: number }
  | { readonly unit: "each"; readonly each: number }
  | {
    readonly unit: "length";
    readonly tiers: readonly {
      readonly from: number;
      readonly to: number;
      readonly each: number;
    }[];
  };

/** One model of the playground; the page's script reads it. */
export interface PlaygroundModel {
  readonly id: string;
  readonly name: string;
  readonly kind: PlaygroundKind;
  readonly vision: boolean;
  readonly maxOutput: number;
  readonly efforts: readonly string[];
  readonly temperature: boolean;
  /** The price in words. */
  readonly price: string;
  /** In VND. */
  readonly estimate: Estimate;
  /** Lengths in seconds and sizes; empty for other models than those of video. */
  readonly seconds: readonly number[];
  readonly sizes: readonly string[];
}

/** Lengths that the form offers of a range; all of a range of thirty seconds would be a long list. */
const shownLengths = 12;

function vnd(microVnd: bigint): number {
  return Number(microVnd) / 1e6;
}

function estimateOf({ price }: Model): Estimate {
  if (price.unit === "video") {
    const tiers = price.tiers.map(({ fromSeconds: from, toSeconds: to, vnd: written }) => ({
      from,
      to,
      each: vnd(microVndOf(written)),
    }));
    return { unit: "length", tiers };
  }
  const applied = applyPrice(price);
  return applied.unit === "token"
    ? {
      unit: "token",
      input: vnd(applied.inputPerMtokMicroVnd) / 1e6,
      output: vnd(applied.outputPerMtokMicroVnd) / 1e6,
    }
    : { unit: "each", each: vnd(applied.perUnitMicroVnd) };
}

function videoChoices(model: Model): Pick<PlaygroundModel, "seconds" | "sizes"> {
  if (model.kind !== "video") return { seconds: [], sizes: [] };
  const rules = videoRulesOf(model);
  const seconds = rules.seconds.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at)
  );
  return {
    seconds: seconds.slice(0, shownLengths),
    sizes: rules.sizes.map(({ size }) => size),
  };
}

function isPlaygroundKind(kind: Model["kind"]): kind is PlaygroundKind {
  return playgroundKinds.some((one) => one === kind);
}

/** Lists the models that the playground can call, in the order of the catalogue. */
export function playgroundModels(
  { models, listRate }: Pick<Catalog, "models" | "listRate">,
  locale: Locale,
): PlaygroundModel[] {
  return models.flatMap((model): PlaygroundModel[] => {
    const { kind } = model;
    if (!isPlaygroundKind(kind)) return [];
    const { efforts, takesTemperature } = modelAbilities(model);
    return [{
      id: model.id,
      name: model.displayName,
      kind,
      vision: model.vision,
      maxOutput: model.maxOutputTokens,
      efforts,
      temperature: takesTemperature,
      price: priceLines(model.price, listRate, locale)
        .map(({ amount, unit }) => `${amount} ${unit}`).join(" · "),
      estimate: estimateOf(model),
      ...videoChoices(model),
    }];
  });
}
