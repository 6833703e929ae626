/** Reads how much a Chat client wants the model to think, in the three forms that clients of this style use. */
import type { JsonObject } from "../../../lib/json/json.ts";
import { readDisplay, readEffort } from "../../fields/common_fields.ts";
import type { Effort, ReasoningRequest } from "../../conversation/mod.ts";
import { isEmpty, optionalCount, optionalObject, optionalString } from "../../fields/fields.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { defined } from "../../../lib/base/defined.ts";

/**
 * Reads the vendor's `reasoning_effort`, the aggregators' `reasoning` and other vendors' `thinking` into one request.
 * Contradictions are named: to switch thinking off wins, and then the aggregators' form.
 */
export function decodeReasoning(
  body: JsonObject,
  warnings: Warnings,
): ReasoningRequest | undefined {
  const forms = [readReasoning(body, warnings), readThinking(body, warnings)]
    .filter((form) => form !== undefined);
  const [main, ...others] = forms.filter(asksToThink);
  for (const other of others) warnings.add(other.path);
  const display = forms.find((form) => form.display !== undefined)?.display;
  for (const form of forms) {
    if (form.display !== undefined && form.display !== display) warnings.add(form.display.path);
  }
  const path = "reasoning_effort";
  const effort = readEffort(optionalString(body, path, path), path);
  if (main === undefined && effort === undefined) {
    // Options for showing thinking do not switch it on.
    if (display !== undefined) warnings.add(display.path);
    return undefined;
  }
  const shown = display === undefined ? {} : { display };
  if (effort === undefined) return main === undefined ? undefined : { ...main, ...shown };
  if (main === undefined) return { effort, path, ...shown };
  warnOfContradictions(main, effort, warnings);
  return { ...main, ...shown, effort, effortPath: path };
}

function asksToThink({ mode, effort, budgetTokens }: ReasoningRequest): boolean {
  return mode !== undefined || effort !== undefined || budgetTokens !== undefined;
}

function warnOfContradictions(main: ReasoningRequest, effort: Effort, warnings: Warnings): void {
  if (main.effort !== undefined && main.effort !== effort) warnings.add(`${main.path}.effort`);
  if (main.mode === "off" && effort !== "none") warnings.add("reasoning_effort");
  if (main.mode !== undefined && main.mode !== "off" && effort === "none") warnings.add(main.path);
}

/** Reads the form of aggregators. */
function readReasoning(body: JsonObject, warnings: Warnings): ReasoningRequest | undefined {
  const path = "reasoning";
  const reasoning = optionalObject(body, path, path);
  if (reasoning === undefined) return undefined;
  const effort = readEffort(
    optionalString(reasoning, "effort", `${path}.effort`),
    `${path}.effort`,
  );
  const budgetTokens = optionalCount(reasoning, "max_tokens", `${path}.max_tokens`, 1);
  const says = effort !== undefined || budgetTokens !== undefined;
  if (says && reasoning.enabled === false) warnings.add(`${path}.enabled`);
  const mode = budgetTokens !== undefined
    ? "on"
    : reasoning.enabled === true
    ? "adaptive"
    : reasoning.enabled === false && !says
    ? "off"
    : undefined;
  return {
    ...defined({ mode, effort, budgetTokens }),
    ...readDisplay(reasoning, "summary", path),
    path,
  };
}

const modes: ReadonlyMap<string, "off" | "adaptive"> = new Map([
  ["disabled", "off"],
  ["enabled", "adaptive"],
  ["adaptive", "adaptive"],
]);

/** Reads the form of the Messages vendor, which several vendors of this style share. */
function readThinking(body: JsonObject, warnings: Warnings): ReasoningRequest | undefined {
  const path = "thinking";
  const thinking = optionalObject(body, path, path);
  if (thinking === undefined || isEmpty(thinking)) return undefined;
  const mode = typeof thinking.type === "string" ? modes.get(thinking.type) : undefined;
  if (mode === undefined) {
    warnings.add(path);
    return undefined;
  }
  const display = readDisplay(thinking, "display", path);
  if (mode === "off") return { mode, ...display, path };
  const budgetTokens = optionalCount(thinking, "budget_tokens", `${path}.budget_tokens`, 1);
  return budgetTokens === undefined
    ? { mode, ...display, path }
    : { mode: thinking.type === "enabled" ? "on" : mode, budgetTokens, ...display, path };
}
