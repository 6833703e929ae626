import type { Triggers } from "./triggers.ts";

/** A count as the triggers want it reported: as it is, negative, or beyond every limit. */
export function told(count: number, triggers: Triggers): number {
  if (triggers.usage === "absurd") return -count - 1;
  return triggers.usage === "huge" ? count + 1_000_000_000_000 : count;
}
