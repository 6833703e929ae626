/**
 * Maps tool names to the form that a vendor takes: `[a-zA-Z0-9_-]`, with a limit on the length. Names of MCP tools
 * (`server.tool/with path`) often break both rules.
 */
import { hashHex } from "../../lib/hash/short_hash.ts";

/**
 * Returns a legal name for a tool: the name itself, or its beginning with an 8-digit hash of the
 * whole. A pure function, so tools, tool choice and history agree, also between requests.
 *
 * @example
 * ```ts
 * import { toolNameFor } from "./tool_names.ts";
 * if (toolNameFor("get_weather", 64) !== "get_weather") throw new Error("legal names must pass");
 * if (!/^a_b_c_[0-9a-f]{8}$/.test(toolNameFor("a.b/c", 64))) throw new Error("not shortened");
 * ```
 */
export function toolNameFor(name: string, maxChars: number): string {
  if (name.length <= maxChars && /^[a-zA-Z0-9_-]+$/.test(name)) return name;
  return `${name.slice(0, maxChars - 9).replace(/[^a-zA-Z0-9_-]/g, "_")}_${
    hashHex(name).slice(0, 8)
  }`;
}
