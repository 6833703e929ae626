/**
 * Removes reasoning and sources that the gateway converted for a client from requests to vendors that did not sign
 * them.
 */
import { resolveCapabilities } from "../../wire/contract/capabilities.ts";
import type { RouteCapabilities, Style } from "../../wire/contract/contract.ts";
import {
  mixesStylesInLoop,
  sealPrefix,
  thinkingOffInMixedLoop,
  unsignedCall,
  withoutForeignBlocks,
  withoutForeignSignatures,
  withoutOwnReasoning,
  withoutSealedReasoning,
  wrappedPrefix,
} from "../../wire/mod.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { JsonBody } from "../body/json_body.ts";

/** The common prefix of our seals and ids: the seal without its dot. */
const seal = sealPrefix.slice(0, -1);

/**
 * Returns the fields to replace in a native body with reasoning or sources from a model of another
 * style.
 *
 * Such a body occurs if the client switched models in mid-conversation, or a call moved to another
 * route. The vendor would refuse a proof that it did not make, and a budget for thinking in a tool
 * loop that lacks it.
 *
 * @example
 * ```ts
 * import { withoutForeignReasoning } from "./foreign_reasoning.ts";
 * import { parseJsonBody } from "../body/json_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{"messages":[]}'));
 * if (Object.keys(withoutForeignReasoning("messages", body, {})).length > 0) throw new Error("changed");
 * ```
 */
export function withoutForeignReasoning(
  style: Style,
  body: JsonBody,
  capabilities: RouteCapabilities,
): JsonObject {
  if (style === "chat") {
    const messages = body.mayHold(seal)
      ? withoutOwnReasoning(body.value["messages"], capabilities)
      : undefined;
    return messages === undefined ? {} : { messages: [...messages] };
  }
  if (style === "gemini") return ownContents(body, capabilities);
  const repair = style === "messages" && mixesStylesInLoop(body.outline)
    ? thinkingOffInMixedLoop(body.value) ?? {}
    : {};
  if (!body.mayHold(seal)) return repair;
  if (style === "messages") {
    const stripped = withoutForeignBlocks({ ...body.value, ...repair });
    return stripped === undefined ? repair : { ...repair, messages: stripped["messages"] };
  }
  const stripped = withoutSealedReasoning(body.value);
  return stripped === undefined ? {} : { input: stripped["input"] };
}

function ownContents(body: JsonBody, capabilities: RouteCapabilities): JsonObject {
  // Models that think by budget check no signatures.
  const checks = resolveCapabilities("gemini", capabilities).thinking === "adaptive";
  // The beginning of our seals in the Gemini style, whose signatures are base64.
  const mayHold = body.mayHold(wrappedPrefix) || body.mayHold(unsignedCall);
  const contents = mayHold ? withoutForeignSignatures(body.value["contents"], checks) : undefined;
  return contents === undefined ? {} : { contents: [...contents] };
}

/** Fields of the request itself, not of its history, that {@linkcode withoutForeignReasoning} replaces. */
const fields = ["thinking", "context_management"] as const;

/** Lists the replaced fields that the client has to know of. */
export function droppedReasoningFields(replaced: JsonObject): string[] {
  return fields.filter((name) => replaced[name] !== undefined);
}
