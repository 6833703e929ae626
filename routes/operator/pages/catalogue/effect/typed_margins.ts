/** Computes the margin of each route of a model as a form has it, by the place of the route in the form. */
import type { Model } from "../../../../../core/catalog/catalog.ts";
import { comparedRates, type RateComparison } from "../../../../../core/catalog/underpriced.ts";
import type { JsonObject } from "../../../../../core/lib/json/json.ts";
import { listOf, objectOf } from "../fields/reading.ts";

/** Margins that the prices and costs of a form come to. */
export interface TypedMargins {
  /** By the place of the route in the form; those whose cost is not known have no rates. */
  readonly routes: ReadonlyMap<number, readonly RateComparison[]>;
  /** The first thing that is wrong, without which there are no margins. */
  readonly problem?: string;
}

/**
 * Compares what customers would pay with what each route would cost.
 *
 * @param model as the catalogue makes it of the entry
 * @param places where the routes of the entry stand in the form, which has empty and removed ones too
 */
export function typedMargins(
  model: Model,
  entry: JsonObject,
  places: readonly number[],
): TypedMargins {
  const routes = new Map<number, readonly RateComparison[]>();
  let next = 0;
  for (const [i, written] of listOf(entry["routes"]).entries()) {
    // A route of the entry is one of the model for each of its styles, which cost the same.
    const { style } = objectOf(written);
    const route = model.routes[next];
    next += Array.isArray(style) ? style.length : 1;
    if (route !== undefined) routes.set(places[i] ?? i, comparedRates(model, route));
  }
  return { routes };
}
