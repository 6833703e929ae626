/**
 * Writes a whole answer for a Chat client.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-answer and docs/conversion.md#answers.
 */
import {
  count,
  listOf,
  maybeText,
  orNull,
  text,
  type Written,
  writtenSchema,
} from "../../../lib/json/schemas.ts";
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
import { writeAnnotation, writeFinishReason } from "./decode_answer.ts";
import { imagePart } from "../../fields/pictures.ts";
import { formatOfSound } from "../../fields/sound.ts";
import { joinedBase64 } from "../../content/base64.ts";
import { argumentsText } from "../../tools/tool_fields.ts";
import { detailFor } from "./reasoning_details.ts";
import { chatUsageMembers, writeChatUsage } from "./answer_reading.ts";

const messageMembers = {
  role: { const: "assistant" },
  content: maybeText,
  refusal: maybeText,
  annotations: { ...listOf({ type: "object" }), description: "Sources of the text." },
  images: { ...listOf({ type: "object" }), description: "Pictures that the model made." },
  audio: { type: "object", description: "Sound that the model made." },
  reasoning_content: maybeText,
  reasoning_details: listOf({ type: "object" }),
  function_call: orNull({ type: "object" }),
  tool_calls: orNull(listOf({ type: "object" })),
};

type Message = Written<typeof messageMembers>;

const choiceMembers = {
  index: count,
  message: writtenSchema("What the model says.", messageMembers, ["role"]),
  logprobs: orNull({ type: "object" }),
  finish_reason: maybeText,
};

/** The members of an answer. */
export const chatAnswerMembers = {
  id: text,
  object: { const: "chat.completion" },
  created: { type: "integer" },
  model: { ...text, description: "The name that you sent." },
  choices: listOf(
    writtenSchema("An answer.", choiceMembers, ["index", "message", "finish_reason"]),
  ),
  usage: writtenSchema(
    "Tokens.",
    chatUsageMembers,
    ["prompt_tokens", "completion_tokens", "total_tokens"],
  ),
  service_tier: maybeText,
  system_fingerprint: maybeText,
  moderation: orNull({ type: "object" }),
};

/** Writes a whole Chat answer. */
export function encodeChatAnswer(
  answer: Answer,
  context: PipeContext,
  memory: ConversionMemory,
): Written<typeof chatAnswerMembers> {
  const legacy = memory.legacyFunctions === true;
  const choices = [answer, ...answer.others ?? []].map((choice): Written<typeof choiceMembers> => ({
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
    // OpenRouter's SDK refuses answers without it.
    system_fingerprint: null,
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

function encodeMessage(answer: Choice, context: PipeContext, legacy: boolean): Message {
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
    ...encodeSound(answer, context),
    ...encodeReasoning(answer.blocks.filter((block) => block.type === "reasoning")),
    ...encodeCalls(answer.blocks.filter((block) => block.type === "tool_call"), context, legacy),
  };
}

function encodePictures(blocks: readonly AnswerBlock[]): Message {
  const pictures = blocks.filter((block) => block.type === "picture");
  return pictures.length === 0
    ? {}
    : { images: pictures.map((block, index) => imagePart(block.url, index)) };
}

function encodeSound({ blocks, index }: Choice, context: PipeContext): Message {
  const sounds = blocks.filter((block) => block.type === "sound");
  return sounds.length === 0 ? {} : { audio: audioOf(sounds, context, index) };
}

/**
 * Writes sound as the vendor does. The client cannot name it in its next request, since nothing of it is kept: so it has
 * expired when it comes.
 */
export function audioOf(
  sounds: readonly { readonly mediaType: string; readonly data: string }[],
  context: PipeContext,
  index = 0,
): JsonObject {
  return {
    id: `${answerId("audio_", context.requestId)}_${index}`,
    data: joinedBase64(sounds.map(({ data }) => data)),
    format: formatOfSound(sounds[0]?.mediaType ?? ""),
    transcript: "",
    expires_at: context.nowSeconds,
  };
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
function encodeReasoning(blocks: readonly ReasoningBlock[]): Message {
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
): Message {
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
