/** Usage numbers that triggers falsify. */
import type { Triggers } from "./triggers.ts";

/** Returns a count as the triggers want it reported: unchanged, negative, or beyond every limit. */
export function reported(count: number, triggers: Triggers): number {
  if (triggers.usage === "absurd") return -count - 1;
  return triggers.usage === "huge" ? count + 1_000_000_000_000 : count;
}
