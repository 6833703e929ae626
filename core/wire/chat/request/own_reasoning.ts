/**
 * Removes from a native Chat request the reasoning that the gateway wrote for the client on behalf of models of other
 * styles: servers refuse fields that they do not know, and proofs that they did not make.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { resolveCapabilities } from "../../contract/capabilities.ts";
import type { RouteCapabilities } from "../../contract/contract.ts";
import type { ReasoningBlock } from "../../conversation/mod.ts";
import { sealPrefix } from "../../fields/reasoning_seal.ts";
import { ownDetailId, readDetail, replayReasoning } from "../answer/reasoning_details.ts";

/**
 * Returns the messages with such reasoning in the form that the route wants back, or without it; `undefined` if there is
 * none. Callers search the bytes for {@linkcode ownDetailId} first.
 *
 * @example
 * ```ts
 * import { withoutOwnReasoning } from "./own_reasoning.ts";
 * const detail = { type: "reasoning.text", id: "ugw1", text: "Hm.", index: 0 };
 * const message = { role: "assistant", content: "a", reasoning_content: "Hm.", reasoning_details: [detail] };
 * const [own] = withoutOwnReasoning([message], {}) ?? [];
 * if (JSON.stringify(own) !== '{"role":"assistant","content":"a"}') throw new Error(JSON.stringify(own));
 * ```
 */
export function withoutOwnReasoning(
  messages: Json | undefined,
  capabilities: RouteCapabilities,
): readonly Json[] | undefined {
  if (!Array.isArray(messages)) return undefined;
  const kept = messages.map((message) => replayed(message, capabilities));
  return kept.every((message, i) => message === messages[i]) ? undefined : kept;
}

function replayed(message: Json, given: RouteCapabilities): Json {
  if (!isJsonObject(message)) return message;
  const { reasoning_details: details, reasoning_content: _text, ...rest } = message;
  if (!Array.isArray(details) || !details.some(isOwn)) return message;
  const capabilities = resolveCapabilities("chat", given);
  const blocks = details.flatMap((detail): ReasoningBlock[] => {
    const reading = readDetail(detail, capabilities.reasoning_signer);
    return reading === undefined ? [] : [{ type: "reasoning", path: "", ...reading }];
  });
  const hasCalls = Array.isArray(rest["tool_calls"]) && rest["tool_calls"].length > 0;
  const back = replayReasoning(blocks, hasCalls, capabilities);
  return back === undefined ? rest : { ...rest, [back.field]: back.value };
}

function isOwn(detail: Json): boolean {
  return isJsonObject(detail) &&
    (startsWith(detail, "id", ownDetailId) || startsWith(detail, "signature", sealPrefix));
}

function startsWith(detail: JsonObject, name: string, start: string): boolean {
  const value = detail[name];
  return typeof value === "string" && value.startsWith(start);
}
