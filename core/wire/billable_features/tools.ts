/** Separates tools that the provider runs and charges for from those that the caller runs, which cost only tokens. */
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import type { BillableFeature } from "../contract/features.ts";

/** Types of tools that the caller runs. */
const runByCaller: ReadonlySet<string> = new Set([
  "function",
  "custom",
  "local_shell",
  "apply_patch",
  "computer",
  "computer_use_preview",
  "tool_search",
  // A group: its tools are judged one by one.
  "namespace",
]);
/** Types of Messages tools that the caller runs, and the vendor's search among the caller's tools, which is free. */
const runByCallerDated =
  /^(?:(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d{8}|tool_search_tool_\w+)$/;

/** Dates and versions follow the name; aggregators put their own name before it. */
const runByProvider: readonly (readonly [RegExp, BillableFeature])[] = [
  [/^(?:\w+:)?(?:web_search|x_search|live_search|google_search)/, "web_search"],
  [/^(?:\w+:)?(?:web_fetch|url_context)/, "web_fetch"],
  [/^(?:\w+:)?(?:code_execution|code_interpreter|programmatic_tool_calling)/, "code_execution"],
  [/^(?:\w+:)?file_search/, "file_search"],
  [/^(?:\w+:)?image_generation/, "image_generation"],
  [/^mcp(?:_toolset)?$/, "mcp"],
];

/** Whether a tool without a type is a function, in the form of any style. */
function isPlainFunction(tool: OutlineObject): boolean {
  return typeof tool["name"] === "string" || isJsonObject(tool["function"]);
}

/** Some servers match names without regard to case: `Type` would win over `type` there. */
function hidesType(tool: OutlineObject): boolean {
  for (const key in tool) {
    if (key.length === 4 && key !== "type" && key.toLowerCase() === "type") return true;
  }
  return false;
}

/**
 * Returns the feature that the provider charges for if it gets this entry of `tools`; `undefined`: none. An unknown kind
 * counts as one that the provider runs.
 *
 * @example
 * ```ts
 * import { billableFeatureOfTool } from "./tools.ts";
 * if (billableFeatureOfTool({ type: "web_search_20250305", name: "s" }) !== "web_search") throw new Error("free");
 * if (billableFeatureOfTool({ type: "bash_20250124", name: "bash" }) !== undefined) throw new Error("billable");
 * ```
 */
export function billableFeatureOfTool(tool: Outline): BillableFeature | undefined {
  if (!isJsonObject(tool)) return "other_tools";
  if (hidesType(tool)) return "other_tools";
  const type = tool["type"];
  if (type === undefined || type === null) return isPlainFunction(tool) ? undefined : "other_tools";
  if (typeof type !== "string") return "other_tools";
  if (runByCaller.has(type) || runByCallerDated.test(type)) return undefined;
  if (type === "shell") return isLocalShell(tool["environment"]) ? undefined : "code_execution";
  return runByProvider.find(([kind]) => kind.test(type))?.[1] ?? "other_tools";
}

/** Whether a shell runs at the caller: it does, unless a container of the provider is requested. */
function isLocalShell(environment: Outline | undefined): boolean {
  if (environment === undefined || environment === null) return true;
  return isJsonObject(environment) && environment["type"] === "local";
}
