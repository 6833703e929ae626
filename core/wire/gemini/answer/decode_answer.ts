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
import { idText, isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { defined } from "../../../lib/base/defined.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { ReadAnswer } from "../../stream/dialect.ts";
import type {
  Answer,
  AnswerBlock,
  Choice,
  Citation,
  ReasoningBlock,
  ToolCallBlock,
} from "../../conversation/mod.ts";
import { wholeChoices } from "../../stream/choices.ts";
import {
  blockedStop,
  candidatesOf,
  finishReasonOf,
  partsOf,
  readGeminiStop,
} from "./answer_reading.ts";
import { readLogprobs } from "./logprobs.ts";
import { addHostedResult, otherParts } from "./hosted_parts.ts";
import { google, provesThought, readCallSignature, readSignature } from "./thought_signatures.ts";

// Reads what the parts of a model's content have in common in whole answers and in requests.

/** A block that a part of the model becomes. */
export type ModelBlock =
  | { readonly type: "text"; readonly path: string; readonly text: string }
  | ReasoningBlock
  | ToolCallBlock;

/** Members of a part that has a signature and nothing that it signs. */
const besidesSignature: ReadonlySet<string> = new Set([
  "thoughtSignature",
  "thought",
  "partMetadata",
]);

/**
 * Reads a part with text, a thought or a function call. The signature of a text follows it as reasoning without text,
 * that of a call comes before it. `undefined`: the part is of another kind.
 */
export function readModelPart(
  part: JsonObject,
  path: string,
  signer: string,
): ModelBlock[] | undefined {
  const { functionCall: call, text, thought, thoughtSignature } = part;
  if (isJsonObject(call)) {
    const proof = readCallSignature(thoughtSignature, signer);
    const signed: ModelBlock[] = proof === undefined
      ? []
      : [{ type: "reasoning", path, text: "", proof }];
    const { name, args } = call;
    // No tool can answer a call without a name.
    if (typeof name !== "string" || name === "") return [];
    return [...signed, {
      type: "tool_call",
      path,
      id: idText(call.id) ?? "",
      name,
      input: typeof args === "string" || Array.isArray(args)
        ? { kind: "json_text", text: typeof args === "string" ? args : stringifyExactly(args) }
        : { kind: "object", value: isJsonObject(args) ? args : {} },
    }];
  }
  // A picture, code and what else a part may hold is read elsewhere; its signature has no meaning without it.
  const isSignature = thoughtSignature !== undefined &&
    Object.keys(part).every((name) => besidesSignature.has(name));
  if (typeof text !== "string" && !isSignature) return undefined;
  const said = typeof text === "string" ? text : "";
  const proof = readSignature(thoughtSignature, signer);
  if (thought === true) {
    if (said === "" && proof === undefined) return [];
    return [{ type: "reasoning", path, text: said, ...(proof === undefined ? {} : { proof }) }];
  }
  return [
    ...(said === "" ? [] : [{ type: "text" as const, path, text: said }]),
    ...(proof === undefined ? [] : [{ type: "reasoning" as const, path, text: "", proof }]),
  ];
}

// Reads and writes the web sources of an answer (`groundingMetadata`); reads those it quotes (`citationMetadata`).

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/**
 * Reads the sources of a candidate: what its searches found, then the works that it quotes. Places in the text are
 * counted in bytes by this vendor, so they are not carried.
 */
export function readSources(candidate: JsonObject): Citation[] {
  const found = readGrounding(candidate.groundingMetadata);
  const urls = new Set(found.map(({ url }) => url));
  for (const citation of readQuotations(candidate.citationMetadata)) {
    if (urls.has(citation.url)) continue;
    urls.add(citation.url);
    found.push(citation);
  }
  return found;
}

/** Reads the quoted works, whose list the vendor's two services name differently. */
function readQuotations(metadata: Json | undefined): Citation[] {
  if (!isJsonObject(metadata)) return [];
  return [...objects(metadata.citationSources), ...objects(metadata.citations)]
    .flatMap(({ uri, title }): Citation[] =>
      typeof uri === "string" && uri !== ""
        ? [{ url: uri, title: typeof title === "string" ? title : "" }]
        : []
    );
}

/**
 * Reads the sources of searches. Passages that a source supports come first, each with its source; then the sources
 * that support none.
 */
function readGrounding(metadata: Json | undefined): Citation[] {
  if (!isJsonObject(metadata)) return [];
  const sources = (Array.isArray(metadata.groundingChunks) ? metadata.groundingChunks : [])
    .map(sourceOf);
  const used = new Set<number>();
  const found: Citation[] = [];
  for (const support of objects(metadata.groundingSupports)) {
    const segment = isJsonObject(support.segment) ? support.segment : {};
    const citedText = typeof segment.text === "string" && segment.text !== ""
      ? { citedText: segment.text }
      : {};
    const indices = support.groundingChunkIndices;
    for (const index of Array.isArray(indices) ? indices : []) {
      const source = typeof index === "number" ? sources[index] : undefined;
      if (source === undefined || typeof index !== "number") continue;
      used.add(index);
      found.push({ ...source, ...citedText });
    }
  }
  sources.forEach((source, i) => {
    if (source !== undefined && !used.has(i)) found.push(source);
  });
  return found;
}

function sourceOf(chunk: Json): Citation | undefined {
  const web = isJsonObject(chunk) ? chunk.web : undefined;
  if (!isJsonObject(web) || typeof web.uri !== "string" || web.uri === "") return undefined;
  return { url: web.uri, title: typeof web.title === "string" ? web.title : "" };
}

/** Writes sources as `groundingMetadata`, as an object to spread; nothing if there are none. */
export function writeGrounding(citations: readonly Citation[]): JsonObject {
  if (citations.length === 0) return {};
  const places = new Map<string, number>();
  const groundingChunks: JsonObject[] = [];
  const groundingSupports: JsonObject[] = [];
  for (const { url, title, citedText } of citations) {
    let place = places.get(url);
    if (place === undefined) {
      places.set(url, place = groundingChunks.length);
      groundingChunks.push({ web: { uri: url, title } });
    }
    if (citedText !== undefined) {
      groundingSupports.push({ segment: { text: citedText }, groundingChunkIndices: [place] });
    }
  }
  return {
    groundingMetadata: {
      groundingChunks,
      ...(groundingSupports.length === 0 ? {} : { groundingSupports }),
    },
  };
}

/** Reads a whole Gemini answer. */
export function decodeGeminiAnswer(
  { body, reading }: ReadAnswer,
  memory: ConversionMemory,
): Answer {
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
  return {
    ...(index === 0 ? {} : { index }),
    blocks,
    stop: readGeminiStop(finishReasonOf(candidate), candidate.finishMessage, hasCalls),
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
