/**
 * Reads a whole Gemini answer.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-answer.
 *
 * - Folder `core/wire/gemini/answer/`: whole answers of the Gemini style, and the parts of an answer that streams
 *   have as well.
 * - In: answers of Gemini servers, or answers in the typed form.
 * - Out: answers in the typed form, or for Gemini clients; usage, tool uses, thought signatures.
 * - Never: reads or writes a request, or imports the folder of another style.
 */
import { GatewayError } from "../../../lib/errors/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { defined } from "../../../lib/base/defined.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { Answer, AnswerBlock, Choice } from "../../conversation/mod.ts";
import { wholeChoices } from "../../stream/choices.ts";
import { candidatesOf, partsOf, readGeminiAnswer } from "./answer_reading.ts";
import { readLogprobs } from "./logprobs.ts";
import { readModelPart } from "./decode_parts.ts";
import { readSources } from "./grounding.ts";
import { addHostedResult, otherParts } from "./hosted_parts.ts";
import { blockedStop, readGeminiStop } from "./stop_reasons.ts";
import { google, provesThought } from "./thought_signatures.ts";

/** Reads a whole Gemini answer. */
export function decodeGeminiAnswer(body: JsonObject, memory: ConversionMemory): Answer {
  const reading = readGeminiAnswer(body);
  if (reading.error !== undefined) throw reading.error;
  const [first, ...others] = wholeChoices(candidatesOf(body), memory.choices ?? 1)
    .map(([index, candidate]) => decodeCandidate(candidate, index, memory));
  const blocked = blockedStop(body.promptFeedback);
  const answer = first ?? (blocked === undefined ? undefined : { blocks: [], stop: blocked });
  if (answer === undefined) {
    throw new GatewayError("upstream_unreachable", "The provider sent no answer");
  }
  return {
    ...(typeof body.responseId === "string" ? { id: body.responseId } : {}),
    ...answer,
    ...(others.length === 0 ? {} : { others }),
    ...defined({ usage: reading.usage }),
  };
}

function decodeCandidate(candidate: JsonObject, index: number, memory: ConversionMemory): Choice {
  const blocks = decodeBlocks(candidate, index, memory);
  const hasCalls = blocks.some((block) => block.type === "tool_call");
  const { finishReason: reason, finishMessage } = candidate;
  return {
    ...(index === 0 ? {} : { index }),
    blocks,
    stop: readGeminiStop(typeof reason === "string" ? reason : undefined, finishMessage, hasCalls),
  };
}

function decodeBlocks(
  candidate: JsonObject,
  index: number,
  memory: ConversionMemory,
): AnswerBlock[] {
  const signer = memory.reasoningSigner ?? google;
  const blocks: AnswerBlock[] = [];
  partsOf(candidate.content).forEach((part, i) => {
    const path = `candidates.${index}.content.parts.${i}`;
    if (addHostedResult(blocks, part)) return;
    blocks.push(...readModelPart(part, path, signer) ?? otherParts(part, path));
  });
  const joined = joinTexts(blocks);
  const citations = readSources(candidate);
  const at = joined.findLastIndex((block) => block.type === "text");
  const text = joined[at];
  if (text?.type !== "text") return joined;
  const logprobs = readLogprobs(candidate.logprobsResult);
  return joined.with(at, {
    ...text,
    ...(citations.length === 0 ? {} : { citations }),
    ...(logprobs.length === 0 ? {} : { logprobs }),
  });
}

/** Joins neighbouring texts, which servers cut at any place, and thoughts with their proofs. */
function joinTexts(blocks: readonly AnswerBlock[]): AnswerBlock[] {
  const out: AnswerBlock[] = [];
  for (const block of blocks) {
    const last = out.at(-1);
    const joins = block.type === "text"
      ? last?.type === "text"
      : block.type === "reasoning" && last?.type === "reasoning" && last.proof === undefined &&
        last.text !== "" && (block.text !== "" || provesThought(block));
    if (!joins || last === undefined) out.push(block);
    else if (last.type === "text" && block.type === "text") {
      out[out.length - 1] = { ...last, text: last.text + block.text };
    } else if (last.type === "reasoning" && block.type === "reasoning") {
      out[out.length - 1] = { ...last, ...block, text: last.text + block.text };
    }
  }
  return out;
}
