/**
 * One table between the two ways to say how much a model shall think: a word (`reasoning_effort`) and a budget of
 * tokens (`thinking.budget_tokens`). Both ways round agree: the budget of a word falls back into the same word, but for
 * the two ends: `minimal` has the budget of `low`, and `max` comes back as `xhigh`, since not every vendor knows them.
 */
import type { Effort, ReasoningRequest } from "../conversation/mod.ts";
import type { Warnings } from "../warnings.ts";

/** From little to much; `none` stands apart. */
const ladder = ["minimal", "low", "medium", "high", "xhigh", "max"] as const satisfies Effort[];

const budgets = {
  minimal: 1_024,
  low: 1_024,
  medium: 4_096,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
} as const;

/** Messages vendors refuse less than this. */
export const leastBudgetTokens = 1_024;

/** The budget that stands for a word. */
export function budgetOf(effort: Exclude<Effort, "none">): number {
  return budgets[effort];
}

/**
 * The word for what the client asked; `undefined` leaves it to the vendor (adaptive, with no word of its own).
 *
 * @example
 * ```ts
 * import { budgetOf, effortOf } from "./effort.ts";
 * const requested = { mode: "on", budgetTokens: budgetOf("medium"), path: "thinking" } as const;
 * if (effortOf(requested) !== "medium") throw new Error("the table does not agree with itself");
 * ```
 */
export function effortOf(requested: ReasoningRequest): Effort | undefined {
  if (requested.mode === "off") return "none";
  if (requested.effort !== undefined) return requested.effort;
  if (requested.budgetTokens === undefined) return undefined;
  if (requested.budgetTokens <= 1_024) return "low";
  if (requested.budgetTokens < 8_192) return "medium";
  return requested.budgetTokens < 24_576 ? "high" : "xhigh";
}

/** Names a request that cannot be carried, wherever its parts stood. */
export function noteReasoning(
  { path, effortPath, display }: ReasoningRequest,
  warnings: Warnings,
): void {
  for (const part of [path, effortPath, display?.path]) {
    if (part !== undefined) warnings.add(part);
  }
}

/**
 * The nearest word that a route takes; of two equally near ones the lesser, which costs less. No reasoning at all
 * becomes the least that the route knows. `undefined`: the route takes no word.
 *
 * @example
 * ```ts
 * import { nearestEffort } from "./effort.ts";
 * if (nearestEffort("max", ["low", "medium", "high"]) !== "high") throw new Error("wrong word");
 * if (nearestEffort("none", ["low", "medium", "high"]) !== "low") throw new Error("wrong word");
 * ```
 */
export function nearestEffort(effort: Effort, known: readonly Effort[]): Effort | undefined {
  if (known.includes(effort)) return effort;
  if (effort === "none") {
    return known.includes("minimal") ? "minimal" : known.includes("low") ? "low" : undefined;
  }
  const wanted = ladder.indexOf(effort);
  let best: Effort | undefined;
  let distance = Infinity;
  ladder.forEach((word, i) => {
    const away = Math.abs(i - wanted);
    if (known.includes(word) && away < distance) {
      best = word;
      distance = away;
    }
  });
  return best;
}
