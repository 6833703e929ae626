/**
 * Groups of functions (`namespace` tools): agents send their own and those of MCP servers this way. Only this style
 * has them, so for the others each function stands by itself under one name made of both.
 */
import type { GroupedName } from "../contract.ts";

/**
 * The name of a function of a group where there are no groups. A pure function of both, so that calls of the history
 * and the tools of the request agree.
 *
 * @example
 * ```ts
 * import { flatName } from "./tool_groups.ts";
 * if (flatName("mcp__files", "read") !== "mcp__files__read") throw new Error("not joined");
 * if (flatName("mcp__files__", "read") !== "mcp__files__read") throw new Error("joined twice");
 * if (flatName(undefined, "read") !== "read") throw new Error("changed");
 * ```
 */
export function flatName(group: string | undefined, name: string): string {
  if (group === undefined || group === "") return name;
  return group.endsWith("__") ? `${group}${name}` : `${group}__${name}`;
}

/** A call's name as members of an item, with its group where it has one. */
export function nameMembers(
  flat: string,
  groups: ReadonlyMap<string, GroupedName> | undefined,
): { readonly name: string; readonly namespace?: string } {
  const grouped = groups?.get(flat);
  return grouped === undefined ? { name: flat } : { name: grouped.name, namespace: grouped.group };
}
