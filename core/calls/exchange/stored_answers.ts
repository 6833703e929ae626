/**
 * Keeps providers from storing prompts and answers in the operator's account, which all customers share. Responses
 * vendors store unless the request says no, Chat vendors only if the request says so.
 */
import type { RouteCapabilities, Style } from "../../wire/contract/contract.ts";
import { isJsonObject, type JsonObject, type OutlineObject } from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";

const encryptedReasoning = "reasoning.encrypted_content";

/** Changes to a native body, and the changed fields that the client had set. */
export interface UnstoredBody {
  readonly changes: JsonObject;
  readonly dropped: readonly string[];
}

/** No changes. */
export const unchangedStore: UnstoredBody = { changes: {}, dropped: [] };

/**
 * Computes the changes to a native request that keep its answer from being stored.
 *
 * A client that relied on the store gets encrypted reasoning, which it can send back. It is requested only from
 * models that reason, since vendors refuse it for others.
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
  body: OutlineObject,
  capabilities: RouteCapabilities,
): UnstoredBody {
  const { store } = body;
  const dropped = store === true ? ["store"] : [];
  if (style === "responses" && store !== false) {
    const changes: JsonObject = { store: false };
    const reasons = isJsonObject(body["reasoning"]) || (capabilities.efforts ?? []).length > 0;
    const include = body["include"] ?? [];
    if (reasons && Array.isArray(include) && !include.includes(encryptedReasoning)) {
      changes["include"] = [...include.map(wholeOf), encryptedReasoning];
    }
    return { changes, dropped };
  }
  if (style !== "chat" || store !== true) return unchangedStore;
  // The vendor accepts metadata for stored answers only.
  const { metadata } = body;
  return metadata === undefined || metadata === null
    ? { changes: { store: false }, dropped }
    : { changes: { store: false, metadata: null }, dropped: [...dropped, "metadata"] };
}
