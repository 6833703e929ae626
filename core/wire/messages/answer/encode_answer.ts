/**
 * Writes a whole answer for a Messages client.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-answer and docs/conversion.md#answers.
 */
import { listOf, orNull, text, type Written, writtenSchema } from "../../../lib/json/schemas.ts";
import { pictureNote } from "../../fields/pictures.ts";
import { answerId, CallIds } from "../../fields/answer_ids.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type {
  Answer,
  AnswerBlock,
  AnswerText,
  HostedCallBlock,
  ReasoningBlock,
} from "../../conversation/mod.ts";
import { sealProof } from "../../fields/reasoning_seal.ts";
import { answerArguments } from "../../tools/tool_fields.ts";
import { clientWordId } from "../../tools/tool_preparation.ts";
import { divideAtSources, writeCitation } from "./cited_text.ts";
import { hostedBlockMembers, hostedUse, writeHostedCall } from "./hosted_calls.ts";
import {
  messagesStopMembers,
  messagesUsageMembers,
  writeMessagesStop,
  writeMessagesTier,
  writeMessagesUsage,
} from "./answer_reading.ts";

/** The members of a block of content; the type decides which it has. */
const blockMembers = {
  ...hostedBlockMembers,
  text,
  citations: orNull(listOf({ type: "object" })),
  thinking: text,
  signature: text,
  data: text,
};

type Block = Written<typeof blockMembers>;

/** The members of an answer. */
export const messageMembers = {
  id: text,
  type: { const: "message" },
  role: { const: "assistant" },
  model: { ...text, description: "The name that you sent." },
  content: listOf(
    writtenSchema(
      "A block of type `text`, `thinking`, `tool_use` or others.",
      blockMembers,
      ["type"],
    ),
  ),
  ...messagesStopMembers,
  usage: writtenSchema("Tokens.", messagesUsageMembers, ["input_tokens", "output_tokens"]),
};

/** Writes a whole Messages answer. */
export function encodeMessagesAnswer(
  answer: Answer,
  context: PipeContext,
): Written<typeof messageMembers> {
  const ids = new CallIds(context.requestId, "toolu_", clientWordId);
  const refusal = answer.blocks
    .map((block) => block.type === "text" && block.refusal === true ? block.text : "").join("");
  const stop = refusal === "" ? answer.stop : {
    ...answer.stop,
    reason: "refusal" as const,
    explanation: answer.stop.explanation ?? refusal,
  };
  return {
    id: answerId("msg_", context.requestId),
    type: "message",
    role: "assistant",
    model: context.clientModel,
    content: answer.blocks.flatMap((block): Block[] => {
      if (block.type === "hosted_call") return encodeHostedCall(block);
      if (block.type === "text") return encodeTexts(block);
      const encoded = encodeBlock(block, ids);
      return encoded === undefined ? [] : [encoded];
    }),
    ...writeMessagesStop(stop),
    usage: {
      ...writeMessagesUsage(answer.usage),
      ...writeMessagesTier(answer.serviceTier),
      ...hostedUse(
        answer.blocks.flatMap((block) => block.type === "hosted_call" ? [block.call.tool] : []),
      ),
    },
  };
}

function encodeHostedCall({ id, call }: HostedCallBlock): Block[] {
  const written = writeHostedCall(id, call);
  return written === undefined ? [] : [{ ...written.use, input: written.input }, written.result];
}

function encodeBlock(
  block: Exclude<AnswerBlock, HostedCallBlock | AnswerText>,
  ids: CallIds,
): Block | undefined {
  switch (block.type) {
    case "reasoning":
      return encodeReasoning(block);
    case "tool_call":
      return {
        type: "tool_use",
        id: ids.next(block.id),
        name: block.name,
        input: answerArguments(block.input),
      };
    case "picture":
      return { type: "text", text: pictureNote(block.url) };
    // Named before, or what it led to is in the text.
    case "sound":
    case "foreign":
      return undefined;
  }
}

function encodeTexts(block: AnswerText): Block[] {
  // The vendor refuses empty texts when the client sends them back.
  if (block.text === "") return [];
  return divideAtSources(block).map(({ text, citations }): Block =>
    citations === undefined
      ? { type: "text", text }
      : { type: "text", text, citations: citations.map(writeCitation) }
  );
}

function encodeReasoning(block: ReasoningBlock): Block | undefined {
  const { text, proof } = block;
  if (proof?.kind === "redacted" && proof.signer === "messages") {
    return { type: "redacted_thinking", data: proof.data };
  }
  if (proof === undefined && text === "") return undefined;
  return { type: "thinking", thinking: text, signature: thinkingSignature(proof) };
}

/** Writes the `signature` for a Messages client: the vendor's own unchanged, any other proof sealed. */
export function thinkingSignature(proof: ReasoningBlock["proof"]): string {
  return proof?.kind === "signature" && proof.signer === "messages"
    ? proof.signature
    : sealProof(proof);
}
