/**
 * Facts that vendors publish about how their models think, by the vendor's name of the model. Operators need not write
 * it; what they write comes before it.
 */
import type { ProviderStyle, RouteCapabilities } from "../../wire/contract/contract.ts";
import type { RouteStyle } from "../entries/model.ts";

interface ModelFacts {
  /** The name of the model, also behind the path of a cloud or an aggregator. */
  readonly name: RegExp;
  readonly facts: Partial<Readonly<Record<ProviderStyle, RouteCapabilities>>>;
  readonly source: string;
}

const geminiThinking = "https://ai.google.dev/gemini-api/docs/thinking";
const claudeThinking = "https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking";

function budget(min: number, max: number, more: RouteCapabilities = {}): ModelFacts["facts"] {
  const bounds = { thinking_budget_min: min, thinking_budget_max: max };
  return { gemini: { thinking: "budget", ...bounds, ...more } };
}

function thinkingOff(form: NonNullable<RouteCapabilities["thinking_off"]>): ModelFacts["facts"] {
  return { messages: { thinking_off: form }, converse: { thinking_off: form } };
}

/** The first that matches counts. */
const known: readonly ModelFacts[] = [
  {
    name: /gemini-2\.5-pro/,
    facts: budget(128, 32_768, { thinking_off: "no" }),
    source: geminiThinking,
  },
  { name: /gemini-2\.5-flash-lite/, facts: budget(512, 24_576), source: geminiThinking },
  { name: /gemini-2\.5-flash/, facts: budget(1, 24_576), source: geminiThinking },
  { name: /claude-sonnet-5-5/, facts: thinkingOff("between_tools"), source: claudeThinking },
  { name: /claude-opus-5-5/, facts: thinkingOff("no"), source: claudeThinking },
];

/**
 * Returns the capabilities of a model that its vendor publishes.
 *
 * @example
 * ```ts
 * import { modelFacts } from "./model_facts.ts";
 * const { thinking_budget_max } = modelFacts("gemini", "models/gemini-2.5-pro-preview");
 * if (thinking_budget_max !== 32_768) throw new Error("not the figure of the vendor");
 * if (Object.keys(modelFacts("gemini", "gemini-3-pro")).length > 0) throw new Error("made up");
 * ```
 */
export function modelFacts(style: RouteStyle, upstreamModel: string): RouteCapabilities {
  const facts: Partial<Record<RouteStyle, RouteCapabilities>> =
    known.find(({ name }) => name.test(upstreamModel))?.facts ?? {};
  return facts[style] ?? {};
}
