/**
 * Reads a whole Messages answer.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-answer.
 *
 * - Folder `core/wire/messages/answer/`: whole answers of the Messages style, and the parts of an answer that streams
 *   have as well.
 * - In: answers of Messages servers, or answers in the typed form.
 * - Out: answers in the typed form, or for Messages clients; usage and tool uses.
 * - Never: reads or writes a request, or imports the folder of another style.
 */
import { GatewayError } from "../../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { ReadAnswer } from "../../stream/dialect.ts";
import type { Answer, AnswerBlock, Citation, ToolInput } from "../../conversation/mod.ts";
import { readMessagesStop } from "./answer_reading.ts";
import { readCitations } from "./cited_text.ts";
import { HostedCallReader } from "./hosted_calls.ts";
import { defined } from "../../../lib/base/defined.ts";

/** Reads a whole Messages answer. */
export function decodeMessagesAnswer(
  { body, reading }: ReadAnswer,
  memory: ConversionMemory,
): Answer {
  if (!Array.isArray(body.content)) {
    throw new GatewayError("upstream_unreachable", "The provider sent no answer");
  }
  const signer = memory.reasoningSigner ?? "messages";
  const blocks: AnswerBlock[] = [];
  const hosted = new HostedCallReader(body.content, "content");
  body.content.forEach((value, i) => {
    if (!isJsonObject(value)) return;
    const path = `content.${i}`;
    const block = hosted.call(value, path) ??
      (hosted.isTold(value) ? undefined : decodeBlock(value, path, signer));
    if (block !== undefined) blocks.push(block);
  });
  const hasCalls = blocks.some((block) => block.type === "tool_call");
  const tier = isJsonObject(body.usage) ? body.usage.service_tier : undefined;
  return {
    ...(typeof body.id === "string" ? { id: body.id } : {}),
    blocks,
    stop: readMessagesStop(body, hasCalls),
    ...defined({ usage: reading.usage }),
    ...(typeof tier === "string" ? { serviceTier: neutralTier(tier) } : {}),
  };
}

/** Translates the vendor's service tier into the values of the conversation. */
export function neutralTier(tier: string): string {
  return tier === "priority" ? "priority" : "default";
}

function decodeBlock(block: JsonObject, path: string, signer: string): AnswerBlock | undefined {
  const { type, text, thinking, signature, data, id, name } = block;
  switch (type) {
    case "text":
      if (typeof text !== "string" || text === "") return undefined;
      return { type, path, text, ...decodeCitations(block.citations) };
    case "thinking":
      return {
        type: "reasoning",
        path,
        text: typeof thinking === "string" ? thinking : "",
        ...(typeof signature === "string" && signature !== ""
          ? { proof: { kind: "signature", signer, signature } }
          : {}),
      };
    case "redacted_thinking":
      return {
        type: "reasoning",
        path,
        text: "",
        proof: { kind: "redacted", signer, data: typeof data === "string" ? data : "" },
      };
    case "tool_use":
      // No tool can answer a call without a name.
      if (typeof name !== "string" || name === "") return undefined;
      return {
        type: "tool_call",
        path,
        id: typeof id === "string" ? id : "",
        name,
        input: readInput(block.input),
      };
    default: {
      const kind = typeof type === "string" && type !== "" ? type : "unknown";
      const otherwise = ranInside(kind) ? "ignore" : "warn";
      return { type: "foreign", style: "messages", path, kind, raw: block, otherwise };
    }
  }
}

/**
 * Whether a block is of the provider's own work, of which the text has what came. Calls of other hosted tools must not look
 * like those of the caller's.
 */
export function ranInside(kind: string): boolean {
  return kind === "server_tool_use" || kind === "mcp_tool_use" || kind === "compaction" ||
    kind === "fallback" || kind.endsWith("_tool_result");
}

/** Reads the input of a call: an object, or the text of one, as a few servers send. */
function readInput(input: Json | undefined): ToolInput {
  if (isJsonObject(input)) return { kind: "object", value: input };
  const text = typeof input === "string" ? input : input ? stringifyExactly(input) : "";
  return { kind: "json_text", text };
}

function decodeCitations(
  citations: Json | undefined,
): { readonly citations?: readonly Citation[] } {
  const found = readCitations(citations);
  return found.length === 0 ? {} : { citations: found };
}
