/**
 * Writes a whole answer for a Chat client.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-answer and docs/conversion.md#answers.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import { answerId, CallIds } from "../../fields/answer_ids.ts";
import type { ConversionMemory, PipeContext } from "../../contract/contract.ts";
import type {
  Answer,
  AnswerBlock,
  AnswerText,
  Choice,
  ReasoningBlock,
  ToolCallBlock,
} from "../../conversation/mod.ts";
import { chatModeration, knownTier } from "../../content/citations.ts";
import { writeAnnotation } from "./sources.ts";
import { imagePart } from "../../fields/pictures.ts";
import { argumentsText } from "../../tools/tool_fields.ts";
import { writeFinishReason } from "./decode_answer.ts";
import { detailFor } from "./reasoning_details.ts";
import { writeChatUsage } from "./answer_reading.ts";

/** Writes a whole Chat answer. */
export function encodeChatAnswer(
  answer: Answer,
  context: PipeContext,
  memory: ConversionMemory,
): JsonObject {
  const legacy = memory.legacyFunctions === true;
  const choices = [answer, ...answer.others ?? []].map((choice) => ({
    index: choice.index ?? 0,
    message: encodeMessage(choice, context, legacy),
    logprobs: encodeLogprobs(choice),
    finish_reason: writeFinishReason(choice.stop, {
      legacyFunctions: legacy,
      refusalText: choice.blocks.some((block) => block.type === "text" && block.refusal === true),
    }),
  }));
  return {
    id: answerId("chatcmpl-", context.requestId),
    object: "chat.completion",
    created: context.nowSeconds,
    model: context.clientModel,
    choices,
    ...(answer.usage === undefined ? {} : { usage: writeChatUsage(answer.usage) }),
    ...writeTier(answer.serviceTier),
    ...(answer.moderation === undefined ? {} : { moderation: chatModeration(answer.moderation) }),
  };
}

/** Writes the service tier of an answer in the style's values, as an object to spread. */
export function writeTier(given: string | undefined): { readonly service_tier?: string } {
  const tier = given === undefined ? undefined : knownTier(given);
  return tier === undefined ? {} : { service_tier: tier };
}

function encodeLogprobs({ blocks }: Choice): JsonObject | null {
  const content = blocks.flatMap((block) => block.type === "text" ? block.logprobs ?? [] : []);
  return content.length === 0 ? null : { content, refusal: null };
}

function encodeMessage(answer: Choice, context: PipeContext, legacy: boolean): JsonObject {
  const texts = answer.blocks.filter((block) => block.type === "text");
  const said = texts.filter((block) => block.refusal !== true);
  const content = said.map((block) => block.text).join("");
  const refusal = texts.filter((block) => block.refusal === true).map((b) => b.text).join("") ||
    (answer.stop.reason === "refusal" ? answer.stop.explanation : undefined);
  return {
    role: "assistant",
    content: content === "" ? null : content,
    refusal: refusal ?? null,
    annotations: encodeAnnotations(said),
    ...encodePictures(answer.blocks),
    ...encodeReasoning(answer.blocks.filter((block) => block.type === "reasoning")),
    ...encodeCalls(answer.blocks.filter((block) => block.type === "tool_call"), context, legacy),
  };
}

function encodePictures(blocks: readonly AnswerBlock[]): JsonObject {
  const pictures = blocks.filter((block) => block.type === "picture");
  return pictures.length === 0
    ? {}
    : { images: pictures.map((block, index) => imagePart(block.url, index)) };
}

/** Writes web sources with their ranges in the text. */
function encodeAnnotations(texts: readonly AnswerText[]): JsonObject[] {
  const annotations: JsonObject[] = [];
  let offset = 0;
  for (const { text, citations } of texts) {
    for (const citation of citations ?? []) {
      annotations.push(writeAnnotation(citation, offset, offset + text.length));
    }
    offset += text.length;
  }
  return annotations;
}

/** Writes reasoning: its text in the most common field, its proofs in the field that clients send back. */
function encodeReasoning(blocks: readonly ReasoningBlock[]): JsonObject {
  if (blocks.length === 0) return {};
  const text = blocks.map((block) => block.text).join("");
  return {
    ...(text === "" ? {} : { reasoning_content: text }),
    reasoning_details: blocks.map((block, i) => detailFor(block.text, block.proof, i)),
  };
}

function encodeCalls(
  blocks: readonly ToolCallBlock[],
  context: PipeContext,
  legacy: boolean,
): JsonObject {
  const [first] = blocks;
  if (first === undefined) return {};
  if (legacy) return { function_call: { name: first.name, arguments: argumentsText(first) } };
  const ids = new CallIds(context.requestId, "call_", (id) => id);
  return { tool_calls: blocks.map((block) => encodeCall(block, ids.next(block.id))) };
}

function encodeCall(block: ToolCallBlock, id: string): JsonObject {
  return block.input.kind === "text"
    ? { id, type: "custom", custom: { name: block.name, input: block.input.text } }
    : { id, type: "function", function: { name: block.name, arguments: argumentsText(block) } };
}
