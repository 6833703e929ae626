/** Chooses and orders the models of the list. */
import type { Catalog, Model, ModelKind } from "../../../../core/catalog/catalog.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { microVndOf } from "../../../../core/billing/money/written_vnd.ts";

/** The kinds, in the order in which the page offers them. */
export const listedKinds: readonly ModelKind[] = [
  "chat",
  "image",
  "speech",
  "video",
  "embedding",
  "transcription",
  "rerank",
  "moderation",
  "completion",
];

/** The orders of the list; the empty one is that of the catalogue. */
export const sorts = ["", "price", "context", "speed"] as const;
export type Sort = typeof sorts[number];

/** What the visitor asked for. */
export interface ModelChoice {
  readonly search: string;
  readonly kind: ModelKind | "";
  readonly sort: Sort;
}

/** Characters of a search: longer than the longest name. */
const maxSearchChars = 100;

/** Reads a choice; what is unknown counts as not given. */
export function readChoice(query: (name: string) => string | undefined): ModelChoice {
  return {
    search: (query("q") ?? "").slice(0, maxSearchChars),
    kind: listedKinds.find((name) => name === query("kind")) ?? "",
    sort: sorts.find((name) => name === query("sort")) ?? "",
  };
}

function fits(model: Model, words: readonly string[], kind: string): boolean {
  if (kind !== "" && model.kind !== kind) return false;
  const text = [model.id, model.displayName, model.family, ...model.aliases].join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The price by which models of one kind compare: input and output together, or the lowest of a unit. */
function comparedMicroVnd({ price }: Model): bigint {
  if (price.unit === "video") {
    const tiers = price.tiers.map(({ vnd }) => microVndOf(vnd));
    return tiers.reduce((lowest, one) => one < lowest ? one : lowest);
  }
  const applied = applyPrice(price);
  return applied.unit === "token"
    ? applied.inputPerMtokMicroVnd + applied.outputPerMtokMicroVnd
    : applied.perUnitMicroVnd;
}

function byPrice(one: Model, other: Model): number {
  // Prices of different kinds and units do not compare.
  const kinds = listedKinds.indexOf(one.kind) - listedKinds.indexOf(other.kind);
  if (kinds !== 0) return kinds;
  const isToken = ({ price }: Model) => price.unit === "token" ? 0 : 1;
  const units = isToken(one) - isToken(other);
  if (units !== 0) return units;
  const difference = comparedMicroVnd(one) - comparedMicroVnd(other);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function contextOf({ kind, contextWindow }: Model): number {
  return kind === "chat" ? contextWindow : -1;
}

/**
 * Lists the chosen models in the chosen order.
 *
 * @param speedOf milliseconds to the first output; models without calls come last
 */
export function chooseModels(
  { models }: Pick<Catalog, "models">,
  { search, kind, sort }: ModelChoice,
  speedOf: (model: Model) => number | undefined,
): readonly Model[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const chosen = models.filter((model) => fits(model, words, kind));
  switch (sort) {
    case "":
      return chosen;
    case "price":
      return chosen.toSorted(byPrice);
    case "context":
      return chosen.toSorted((one, other) => contextOf(other) - contextOf(one));
    case "speed":
      return chosen.toSorted((one, other) =>
        (speedOf(one) ?? Number.MAX_SAFE_INTEGER) - (speedOf(other) ?? Number.MAX_SAFE_INTEGER)
      );
  }
}
