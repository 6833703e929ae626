/**
 * Keeps customers' prompts and answers out of the operator's account at the provider, where every customer's would lie
 * beside the others'. Responses vendors store unless they are told not to, Chat vendors where they are asked to.
 */
import type { RouteCapabilities, Style } from "../../wire/contract.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";

const encryptedReasoning = "reasoning.encrypted_content";

/** Changes to a native body, and the fields among them that the client asked for. */
export interface UnstoredBody {
  readonly changes: JsonObject;
  readonly dropped: readonly string[];
}

const unchanged: UnstoredBody = { changes: {}, dropped: [] };

/**
 * What a native request must say so that its answer is not stored.
 *
 * A client that relied on the store gets its reasoning encrypted, as an unstored answer needs it to be sent back; but
 * only where there is reasoning, since vendors refuse the request for models without.
 *
 * @example
 * ```ts
 * import { withoutStore } from "./stored_answers.ts";
 * const { changes, dropped } = withoutStore("responses", { model: "m", input: "Hi", store: true }, {});
 * if (changes["store"] !== false || dropped.join() !== "store") throw new Error("stored");
 * ```
 */
export function withoutStore(
  style: Style,
  body: JsonObject,
  capabilities: RouteCapabilities,
): UnstoredBody {
  const { store } = body;
  const dropped = store === true ? ["store"] : [];
  if (style === "responses" && store !== false) {
    const changes: JsonObject = { store: false };
    const reasons = isJsonObject(body["reasoning"]) || (capabilities.efforts ?? []).length > 0;
    const include = body["include"] ?? [];
    if (reasons && Array.isArray(include) && !include.includes(encryptedReasoning)) {
      changes["include"] = [...include, encryptedReasoning];
    }
    return { changes, dropped };
  }
  if (style !== "chat" || store !== true) return unchanged;
  // The vendor takes metadata for stored answers only.
  const { metadata } = body;
  return metadata === undefined || metadata === null
    ? { changes: { store: false }, dropped }
    : { changes: { store: false, metadata: null }, dropped: [...dropped, "metadata"] };
}
