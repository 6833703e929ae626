/** Finds prices of a catalogue that are written so that a point may group thousands or begin a fraction. */
import { priceProblem } from "../billing/money/read_amount.ts";
import { isJsonObject, type Json } from "../lib/json/json.ts";

/** Members of a catalogue whose texts are amounts of money. */
const amountMembers: ReadonlySet<string> = new Set(["price", "cost", "currencies"]);

/** Levels of a catalogue below which there is no price: deeper ones are refused by its schema. */
const maxLevels = 16;

/**
 * Lists texts such as `"40.000"` among prices and costs, with both readings. They are refused where a catalogue is
 * written, not where the store has one that an earlier release took.
 *
 * @example
 * ```ts
 * import { ambiguousPrices } from "./ambiguous_prices.ts";
 * const [problem] = ambiguousPrices({ models: [{ price: { unit: "request", vnd: "40.000" } }] });
 * if (problem !== 'models.0.price.vnd: "40.000" is ambiguous: write 40000 or 40') throw new Error(problem);
 * ```
 */
export function ambiguousPrices(contents: Json): string[] {
  const problems: string[] = [];
  const walk = (value: Json, path: readonly string[], isMoney: boolean) => {
    if (typeof value === "string") {
      const problem = isMoney ? priceProblem(value) : undefined;
      if (problem !== undefined) problems.push(`${path.join(".")}: ${problem}`);
    } else if (path.length >= maxLevels) {
      return;
    } else if (Array.isArray(value)) {
      value.forEach((item, at) => walk(item, [...path, String(at)], isMoney));
    } else if (isJsonObject(value)) {
      for (const [name, item] of Object.entries(value)) {
        if (item !== undefined) walk(item, [...path, name], isMoney || amountMembers.has(name));
      }
    }
  };
  walk(contents, [], false);
  return problems;
}
