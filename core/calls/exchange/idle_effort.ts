/**
 * Removes an effort beside thinking that is switched off, for Messages servers whose models take no effort: they refuse
 * both together. Agents send both when their user switches thinking off.
 */
import { resolveCapabilities } from "../../wire/contract/capabilities.ts";
import type { RouteCapabilities, Style } from "../../wire/contract/contract.ts";
import { isJsonObject, type JsonObject, type OutlineObject } from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";

/** Changes to a native body, and the changed fields that the client had set. */
interface IdleEffort {
  readonly changes: JsonObject;
  readonly dropped: readonly string[];
}

/**
 * Computes the changes to a native request of the style.
 *
 * @example
 * ```ts
 * import { withoutIdleEffort } from "./idle_effort.ts";
 * const body = { thinking: { type: "disabled" }, output_config: { effort: "high" } };
 * const { dropped } = withoutIdleEffort("messages", body, { efforts: [] });
 * if (dropped.join() !== "output_config.effort") throw new Error("refused by the vendor");
 * if (withoutIdleEffort("messages", body, {}).dropped.length > 0) throw new Error("lost");
 * ```
 */
export function withoutIdleEffort(
  style: Style,
  body: OutlineObject,
  capabilities: RouteCapabilities,
): IdleEffort {
  const { thinking, output_config: config } = body;
  const isOff = isJsonObject(thinking) && thinking["type"] === "disabled";
  const hasEffort = isJsonObject(config) && typeof config["effort"] === "string";
  const takesEffort = resolveCapabilities(style, capabilities).efforts.length > 0;
  if (style !== "messages" || !isOff || !hasEffort || takesEffort) {
    return { changes: {}, dropped: [] };
  }
  const { effort: _, ...rest } = config;
  return { changes: { output_config: wholeOf(rest) }, dropped: ["output_config.effort"] };
}
