/** Writes the requested format of an answer: as a field of the style, or as an instruction. */
import type { JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type {
  Conversation,
  Effort,
  OutputFormat,
  ReasoningRequest,
  TextBlock,
} from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { Warnings } from "../contract/warnings.ts";
import { refuse } from "./fields.ts";

// Converts between the two ways to limit thinking: a level of effort (`reasoning_effort`) and a budget of tokens
// (`thinking.budget_tokens`). A level converted to a budget and back stays the same, except at the two ends: `minimal`
// has the budget of `low`, and `max` comes back as `xhigh`, since not every vendor has these levels.

/** The levels in rising order, without `none`. */
const ladder = ["minimal", "low", "medium", "high", "xhigh", "max"] as const satisfies Effort[];

const budgets = {
  minimal: 1_024,
  low: 1_024,
  medium: 4_096,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
} as const;

/** The smallest budget in tokens that Messages vendors accept. */
export const leastBudgetTokens = 1_024;

/** Returns the budget of a level in tokens, as far as the model takes it. */
export function budgetOf(
  effort: Exclude<Effort, "none">,
  bounds: BudgetBounds = {},
): number {
  return bounded(budgets[effort], bounds);
}

type BudgetBounds = Pick<ResolvedCapabilities, "thinking_budget_min" | "thinking_budget_max">;

function bounded(
  budget: number,
  { thinking_budget_min: min = 0, thinking_budget_max: max = Infinity }: BudgetBounds,
): number {
  return Math.max(min, Math.min(budget, max));
}

/**
 * Returns the budget of a request in tokens, as far as the model takes it; warns where the client named another.
 *
 * @param wanted the level, for a client that named no budget
 */
export function carriedBudget(
  reasoning: ReasoningRequest,
  wanted: Exclude<Effort, "none">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): number {
  const { budgetTokens: named } = reasoning;
  if (named === undefined) return budgetOf(wanted, capabilities);
  const carried = bounded(named, capabilities);
  if (carried !== named) warnOfReasoning(reasoning, warnings);
  return carried;
}

/**
 * Returns the requested level; `undefined` leaves it to the vendor (adaptive thinking without a level).
 *
 * @example
 * ```ts
 * import { budgetOf, effortOf } from "./output_format.ts";
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

/**
 * Returns the level for a route that thinks only by level. Where the client leaves the amount to the model, it is the
 * middle one, which most models have by default: without a level, some do not think at all.
 */
export function levelOf(requested: ReasoningRequest): Effort | undefined {
  return effortOf(requested) ?? (requested.mode === "adaptive" ? "medium" : undefined);
}

/** Warns where a request to switch thinking off became the lowest level of a route that cannot. */
export function warnOfLoweredThinking(
  reasoning: ReasoningRequest,
  written: Effort | undefined,
  warnings: Warnings,
): void {
  const isLowered = effortOf(reasoning) === "none" && written !== undefined && written !== "none";
  if (isLowered) warnOfReasoning(reasoning, warnings);
}

/** Warns of each field of a reasoning request that cannot be carried. */
export function warnOfReasoning(
  { path, effortPath, display }: ReasoningRequest,
  warnings: Warnings,
): void {
  for (const part of [path, effortPath, display?.path]) {
    if (part !== undefined) warnings.add(part);
  }
}

/**
 * Returns the nearest level that a route takes; of two equally near ones the lower, which costs less. `none` becomes
 * the lowest level of the route. `undefined`: the route takes no level.
 *
 * @example
 * ```ts
 * import { nearestEffort } from "./output_format.ts";
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

// Checks a trailing assistant message, which the client wants the model to continue.

/**
 * Refuses a trailing assistant message for a model that cannot continue it and would begin a new answer.
 *
 * @throws {GatewayError} `conversion_refused` naming the message
 */
export function requirePrefill(path: string, capabilities: ResolvedCapabilities): void {
  if (capabilities.prefill === "no") {
    refuse(path, "this model does not continue an assistant message; end with a user message");
  }
}

/** A request for an answer that matches a schema. */
export type SchemaFormat = Extract<OutputFormat, { readonly type: "json_schema" }>;

/** The fields of a request that set the format of its answer. */
export interface EncodedFormat {
  readonly field?: JsonObject;
  /** An instruction for routes without a field for the format. */
  readonly instructions: readonly string[];
}

/** The style's own part of {@linkcode encodeOutputFormat}. */
export interface FormatStyle {
  /** The field for a schema. */
  readonly encodeSchema: (format: SchemaFormat) => JsonObject;
  /** Whether the mode `json_object` needs no instruction that asks for JSON. */
  readonly modeIsEnough: () => boolean;
}

/**
 * Chat and Responses: writes the requested format as a field if the route has one, else as an instruction. The mode
 * `json_object` has no schema, so a schema that is sent as this mode also becomes an instruction.
 */
export function encodeOutputFormat(
  output: OutputFormat | undefined,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  style: FormatStyle,
): EncodedFormat {
  if (output === undefined) return { instructions: [] };
  const isSchema = output.type === "json_schema";
  if (isSchema && capabilities.structured === "format") {
    return { field: style.encodeSchema(output), instructions: [] };
  }
  const hasMode = capabilities.structured === "format" || capabilities.structured === "json_object";
  if (isSchema || !hasMode) warnings.add(output.path);
  if (!hasMode) return { instructions: [formatInWords(output)] };
  const isEnough = !isSchema && style.modeIsEnough();
  return {
    field: { type: "json_object" },
    instructions: isEnough ? [] : [formatInWords(output)],
  };
}

/** Whether the conversation mentions JSON, which the vendor of Chat and Responses requires for `json_object`. */
export function mentionsJson({ system, turns }: Pick<Conversation, "system" | "turns">): boolean {
  const says = (text: string): boolean => /json/i.test(text);
  return system.some((block) => says(block.text)) ||
    turns.some(({ blocks }) => blocks.some((block) => block.type === "text" && says(block.text)));
}

/** Characters of the name of a format, which Chat and Responses require. */
const formatNameChars = 64;

/** Returns the name of a format as Chat and Responses take it. */
export function formatName(name: string | undefined): string {
  const legal = (name ?? "").replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, formatNameChars);
  return legal === "" ? "output" : legal;
}

/** Writes the requested format as an instruction, for a route without a field for it. */
export function formatInWords(output: OutputFormat): string {
  if (output.type === "json_object") return "Answer with one JSON object and with nothing else.";
  return "Answer with one JSON value that matches this JSON Schema, and with nothing else:\n" +
    stringifyExactly(output.schema);
}

/** Appends the gateway's instructions to those of a conversation. */
export function withInstructions(
  system: readonly TextBlock[],
  more: readonly string[],
): TextBlock[] {
  return [...system, ...more.map((text): TextBlock => ({ type: "text", text, path: "system" }))];
}
