/**
 * Writes a whole answer for a Gemini client.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-answer and docs/conversion.md#answers.
 */
import { count, listOf, text, type Written, writtenSchema } from "../../../lib/json/schemas.ts";
import { answerId, CallIds } from "../../fields/answer_ids.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type {
  Answer,
  AnswerBlock,
  Choice,
  HostedCall,
  ReasoningBlock,
} from "../../conversation/mod.ts";
import { dataUrl } from "../../content/citations.ts";
import { answerArguments } from "../../tools/tool_fields.ts";
import { writeGrounding } from "./decode_answer.ts";
import { writeLogprobs } from "./logprobs.ts";
import {
  geminiStopMembers,
  geminiUsageMembers,
  writeGeminiStop,
  writeGeminiUsage,
} from "./answer_reading.ts";
import { PartSignatures } from "./thought_signatures.ts";

/** The members of a part of content; one of them says what it is. */
const partMembers = {
  text,
  thought: { type: "boolean" },
  thoughtSignature: text,
  functionCall: { type: "object" },
  inlineData: { type: "object" },
  fileData: { type: "object" },
  executableCode: { type: "object" },
  codeExecutionResult: { type: "object" },
};

type Part = Written<typeof partMembers>;

const contentMembers = {
  parts: listOf(writtenSchema("A text, a call, a picture or another part.", partMembers, [])),
  role: text,
};

const candidateMembers = {
  content: writtenSchema("What the model says.", contentMembers, []),
  ...geminiStopMembers,
  index: count,
  groundingMetadata: { type: "object", description: "Sources of the text." },
  logprobsResult: { type: "object" },
};

const frameMembers = {
  modelVersion: { ...text, description: "The name that you sent." },
  responseId: text,
};

/** The members of an answer. */
export const geminiAnswerMembers = {
  candidates: listOf(writtenSchema("An answer.", candidateMembers, [])),
  usageMetadata: writtenSchema("Tokens.", geminiUsageMembers, []),
  ...frameMembers,
};

/** Writes a whole Gemini answer. */
export function encodeGeminiAnswer(
  answer: Answer,
  context: PipeContext,
): Written<typeof geminiAnswerMembers> {
  return {
    candidates: [answer, ...answer.others ?? []].map((choice) => encodeCandidate(choice, context)),
    ...(answer.usage === undefined ? {} : { usageMetadata: writeGeminiUsage(answer.usage) }),
    ...answerFrame(context),
  };
}

function encodeCandidate(
  { index = 0, blocks, stop }: Choice,
  context: PipeContext,
): Written<typeof candidateMembers> {
  const texts = blocks.filter((block) => block.type === "text");
  const isRefused = texts.some(({ refusal }) => refusal === true);
  return {
    content: { parts: encodeParts(blocks, context), role: "model" },
    ...writeGeminiStop(isRefused ? { ...stop, reason: "refusal" } : stop),
    index,
    ...writeGrounding(texts.flatMap(({ citations }) => citations ?? [])),
    ...writeLogprobs(texts.flatMap(({ logprobs }) => logprobs ?? [])),
  };
}

/** The members of an answer that all its chunks share. */
export function answerFrame(context: PipeContext): Written<typeof frameMembers> {
  return {
    modelVersion: context.clientModel,
    responseId: answerId("", context.requestId),
  };
}

function encodeParts(blocks: readonly AnswerBlock[], context: PipeContext): Part[] {
  const ids = new CallIds(context.requestId, "call_", (id) => id);
  const signatures = new PartSignatures();
  const parts: Part[] = [];
  for (const block of blocks) {
    if (block.type !== "tool_call") parts.push(...signatures.release());
    switch (block.type) {
      case "text":
        if (block.text !== "") parts.push({ text: block.text });
        break;
      case "reasoning":
        parts.push(...thoughtParts(block, signatures));
        break;
      case "tool_call": {
        const { name, input } = block;
        const id = ids.next(block.id);
        parts.push(...signatures.call({ id, name, args: answerArguments(input) }));
        break;
      }
      case "hosted_call":
        parts.push(...hostedParts(block.call));
        break;
      case "picture":
        parts.push(picturePart(block.url));
        break;
      case "sound":
        parts.push(soundPart(block));
        break;
      case "foreign":
    }
  }
  parts.push(...signatures.release());
  return parts;
}

function thoughtParts({ text, proof }: ReasoningBlock, signatures: PartSignatures): Part[] {
  if (proof !== undefined) signatures.keep(proof, text !== "");
  return text === "" ? [] : [{ text, thought: true }];
}

/** Writes a picture as data, or as the file at its address. */
export function picturePart(url: string): Part {
  const read = dataUrl(url);
  return read === undefined
    ? { fileData: { fileUri: url, mimeType: "image/png" } }
    : { inlineData: { mimeType: read.mediaType, data: read.data } };
}

/** Writes sound as data. */
export function soundPart(
  { mediaType: mimeType, data }: { readonly mediaType: string; readonly data: string },
): Part {
  return { inlineData: { mimeType, data } };
}

/** Writes code that the provider ran, with its output. The style has no parts for other hosted tools. */
export function hostedParts(call: HostedCall): Part[] {
  if (call.tool !== "code_execution") return [];
  const { code, output = "", failed } = call;
  return [
    { executableCode: { language: "PYTHON", code } },
    { codeExecutionResult: { outcome: failed ? "OUTCOME_FAILED" : "OUTCOME_OK", output } },
  ];
}
