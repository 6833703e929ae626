/**
 * Names the functions of groups (`namespace` tools), in which agents send their own tools and those of MCP servers. Only
 * this style has groups; for the others each function gets a name that joins group and function.
 */
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { GroupedName } from "../../contract/contract.ts";
import { hashHex } from "../../../lib/hash/short_hash.ts";

/** Name of the function that replaces the caller's own search for tools, which has no name. */
export const searchToolName = "tool_search";

/** The identity of a tool among groups: its name and group. */
export interface ToolKey {
  readonly group?: string;
  readonly name: string;
}

/** Returns the name of a tool in a list without groups. */
export type NameOf = (key: ToolKey) => string;

/**
 * Names the tools of a request: those in a group by both names joined, with a hash of both if two names would be equal. A
 * pure function of the tools, so that calls of the history agree with them.
 *
 * The vendor returns calls of a function that its search loaded with the function's own name as their group, though the
 * function was offered without one: such a call is that function's.
 *
 * @example
 * ```ts
 * import { naming } from "./tool_groups.ts";
 * const nameOf = naming([{ group: "mcp__files", name: "read" }, { name: "read" }]);
 * if (nameOf({ group: "mcp__files", name: "read" }) !== "mcp__files__read") throw new Error("not joined");
 * if (nameOf({ group: "mcp__files__", name: "open" }) !== "mcp__files__open") throw new Error("joined twice");
 * if (nameOf({ name: "read" }) !== "read") throw new Error("changed");
 * const alike = naming([{ group: "a", name: "b__c" }, { group: "a__b", name: "c" }]);
 * if (!/^a__b__c_[0-9a-f]{8}$/.test(alike({ group: "a", name: "b__c" }))) throw new Error("taken for the other");
 * if (naming([{ name: "todo" }])({ group: "todo", name: "todo" }) !== "todo") throw new Error("not offered");
 * ```
 */
export function naming(tools: readonly ToolKey[]): NameOf {
  const claims = new Map<string, Set<string>>();
  const offered = new Set<string>();
  for (const key of tools) {
    const joined = joinedName(key);
    offered.add(keyText(key));
    claims.set(joined, (claims.get(joined) ?? new Set()).add(keyText(key)));
  }
  return (named) => {
    const { name } = named;
    const isOwnGroup = named.group === name && !offered.has(keyText(named)) &&
      offered.has(keyText({ name }));
    const key = isOwnGroup ? { name } : named;
    const joined = joinedName(key);
    const isAlone = (claims.get(joined)?.size ?? 0) < 2;
    return isAlone || !key.group ? joined : `${joined}_${hashHex(keyText(key)).slice(0, 8)}`;
  };
}

function joinedName({ group, name }: ToolKey): string {
  if (!group) return name;
  return group.endsWith("__") ? `${group}${name}` : `${group}__${name}`;
}

/** Builds a key that differs between tools. */
export function keyText({ group, name }: ToolKey): string {
  return stringifyExactly([group || null, name]);
}

/** Writes a call's name as members of an item, with its group if it has one. */
export function nameMembers(
  flat: string,
  groups: ReadonlyMap<string, GroupedName> | undefined,
): { readonly name: string; readonly namespace?: string } {
  const grouped = groups?.get(flat);
  return grouped === undefined ? { name: flat } : { name: grouped.name, namespace: grouped.group };
}
