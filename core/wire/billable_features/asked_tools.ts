/** Finds which hosted tools a request asks for, and how often they may run by the caller's own bounds. */
import type { AskedTool } from "../../billing/usage/hosted_tools.ts";
import type { Outline, OutlineObject } from "../../lib/json/json.ts";
import type { Style } from "../contract/contract.ts";
import { findBillableFeatures, mergedField } from "./asked_for.ts";
import { hostedToolFeatures } from "../contract/features.ts";

/** Options of a request that make a search part of every answer; at others the model decides. */
const searchOptions: ReadonlySet<string> = new Set([
  "web_search_options",
  "enable_search",
  "search_parameters",
]);

/** Reads a bound of uses; `undefined` for anything else. */
function boundOf(value: Outline | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Returns the hosted tools of a request, each once. Tools of one kind share their fee, so their bounds add up; the bound
 * of Responses on all calls of tools holds for each kind.
 *
 * @example
 * ```ts
 * import { askedTools } from "./asked_tools.ts";
 * const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }];
 * const [search] = askedTools("messages", { model: "m", messages: [], tools });
 * if (search?.tool !== "web_search" || search.mostUses !== 3) throw new Error("not bounded");
 * ```
 */
export function askedTools(style: Style, body: OutlineObject): readonly AskedTool[] {
  const tools = new Map<string, AskedTool>();
  const bound = style === "responses" ? boundOf(body["max_tool_calls"]) : undefined;
  for (const { feature, path, mostUses } of findBillableFeatures(style, body)) {
    if (!hostedToolFeatures.has(feature)) continue;
    const own = boundOf(mostUses);
    const former = tools.get(feature);
    const sum = former === undefined
      ? own
      : own === undefined || former.mostUses === undefined
      ? undefined
      : own + former.mostUses;
    const most = bound === undefined ? sum : Math.min(bound, sum ?? bound);
    const alwaysRuns = searchOptions.has(path.replace(`${mergedField}.`, "")) ||
      former?.alwaysRuns === true;
    tools.set(feature, {
      tool: feature,
      alwaysRuns,
      ...(most === undefined ? {} : { mostUses: most }),
    });
  }
  return [...tools.values()];
}
