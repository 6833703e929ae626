/** Finds what an operator has to confirm a second time: prices that fall below a cost, and great changes. */
import type { Catalog } from "../../../../../core/catalog/catalog.ts";
import type { CatalogChange } from "../../../../../core/catalog/diff.ts";
import { type Underpriced, underpricedRoutes } from "../../../../../core/catalog/underpriced.ts";

/** A price that changes by more than this part of itself asks twice: a slip of a digit is a factor of ten. */
const maxChange = 0.5;

/** The change of a number as a part of what it was; `undefined` for what is no number, or was 0. */
export function changeShare({ before, after }: CatalogChange): number | undefined {
  const [from, to] = [Number(before), Number(after)];
  const areNumbers = typeof before !== "object" && typeof after !== "object" &&
    before !== undefined && after !== undefined && before !== "" && after !== "";
  return areNumbers && Number.isFinite(from) && Number.isFinite(to) && from !== 0
    ? to / from - 1
    : undefined;
}

/** Whether a change is one of a price. */
function isPriceChange({ part, path }: CatalogChange): boolean {
  return part === "model" && path.startsWith("price.");
}

/** Changes that ask for a second confirmation. */
export interface PriceStops {
  /** Routes that cost more than customers would pay, and did not before. */
  readonly belowCost: readonly Underpriced[];
  readonly great: readonly CatalogChange[];
}

/** Whether there is anything to confirm. */
export function hasStops({ belowCost, great }: PriceStops): boolean {
  return belowCost.length > 0 || great.length > 0;
}

/** Finds it in the difference between two catalogues. */
export function priceStops(
  changes: readonly CatalogChange[],
  before: Pick<Catalog, "models">,
  after: Pick<Catalog, "models">,
): PriceStops {
  const known = new Set(underpricedRoutes(before).map(nameOf));
  return {
    belowCost: underpricedRoutes(after).filter((one) => !known.has(nameOf(one))),
    great: changes.filter((change) =>
      isPriceChange(change) && Math.abs(changeShare(change) ?? 0) > maxChange
    ),
  };
}

/** A route that loses more than before is asked about again. */
function nameOf({ model, route, bucket, priceMicroVnd, costMicroVnd }: Underpriced): string {
  return `${model} ${route} ${bucket} ${priceMicroVnd} ${costMicroVnd}`;
}
