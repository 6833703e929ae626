/**
 * Reads a whole Responses answer.
 *
 * See docs/internals/WIRE_FORMATS.md#responses.
 *
 * - Folder `core/wire/responses/answer/`: whole answers of the Responses style, and the parts of an answer that
 *   streams have as well.
 * - In: answers of Responses servers, or answers in the typed form.
 * - Out: answers in the typed form, or for Responses clients; usage and tool uses.
 * - Never: reads or writes a request, or imports the folder of another style.
 */
import { GatewayError } from "../../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { readModeration, readUrlCitation, writeDataUrl } from "../../content/citations.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { ReadAnswer } from "../../stream/dialect.ts";
import type { Answer, AnswerBlock, Citation } from "../../conversation/mod.ts";
import { readHostedItem } from "../items/hosted_items.ts";
import { readItemProof } from "../items/output_items.ts";
import { readResponsesStop } from "./response_object.ts";
import { defined } from "../../../lib/base/defined.ts";

/** Reads a whole Responses answer. */
export function decodeResponsesAnswer(
  { body, reading }: ReadAnswer,
  memory: ConversionMemory,
): Answer {
  const output = body["output"];
  if (!Array.isArray(output)) {
    throw new GatewayError("upstream_unreachable", "The provider sent no answer");
  }
  const signer = memory.reasoningSigner ?? "responses";
  const blocks = output.flatMap((item, i) =>
    isJsonObject(item) ? decodeOutputItem(item, `output.${i}`, signer) : []
  );
  const { id, service_tier: tier } = body;
  return {
    ...(typeof id === "string" ? { id } : {}),
    blocks,
    stop: readResponsesStop(body, {
      calls: blocks.some((block) => block.type === "tool_call"),
      refusal: blocks.map((block) => block.type === "text" && block.refusal ? block.text : "")
        .join(""),
    }),
    ...defined({ usage: reading.usage }),
    ...(typeof tier === "string" && tier !== "" ? { serviceTier: tier } : {}),
    ...readModeration(body["moderation"]),
  };
}

/** Reads the blocks of one output item. */
export function decodeOutputItem(item: JsonObject, path: string, signer: string): AnswerBlock[] {
  const type = item["type"];
  switch (type) {
    case "message":
      return decodeMessage(item, path);
    case "reasoning": {
      const read = readItemProof(item, signer);
      // Without either it is only an id, which has no meaning because the answer is not stored.
      if (read.text === "" && read.proof === undefined) return [];
      return [{ type: "reasoning", path, ...read }];
    }
    case "function_call":
    case "custom_tool_call":
      // No tool can answer a call without a name.
      return item["name"] ? [decodeCall(type, item, path)] : [];
    case "image_generation_call": {
      const { result, output_format: format } = item;
      if (typeof result !== "string" || result === "") return [];
      const mediaType = `image/${typeof format === "string" ? format : "png"}`;
      return [{ type: "picture", path, url: writeDataUrl(mediaType, result) }];
    }
    default: {
      const hosted = readHostedItem(item, path);
      if (hosted !== undefined) return [hosted];
      const kind = typeof type === "string" && type !== "" ? type : "unknown";
      const otherwise = ranInside.has(kind) ? "ignore" : "warn";
      return [{ type: "foreign", style: "responses", path, kind, raw: item, otherwise }];
    }
  }
}

/**
 * Items of the provider's own work: calls of other hosted tools, which must not look like those of the caller's, and what it
 * notes of the conversation. What came of them is in the text.
 */
export const ranInside: ReadonlySet<string> = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "mcp_list_tools",
  "tool_search_call",
  "tool_search_output",
  "program",
  "program_output",
  "compaction",
  "context_compaction",
]);

function decodeMessage(item: JsonObject, path: string): AnswerBlock[] {
  const content = item["content"];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part): AnswerBlock[] => {
    if (!isJsonObject(part)) return [];
    const { text, refusal, type } = part;
    if (typeof type === "string" && !readParts.has(type)) {
      return [{
        type: "foreign",
        style: "responses",
        path,
        kind: type,
        raw: part,
        otherwise: "warn",
      }];
    }
    if (typeof refusal === "string" && refusal !== "") {
      return [{ type: "text", path, text: refusal, refusal: true }];
    }
    if (typeof text !== "string" || text === "") return [];
    const logprobs = objects(part["logprobs"]);
    return [{
      type: "text",
      path,
      text,
      ...decodeAnnotations(part["annotations"]),
      ...(logprobs.length === 0 ? {} : { logprobs }),
    }];
  });
}

/** Types of parts that are read. */
const readParts: ReadonlySet<string> = new Set(["", "output_text", "text", "refusal"]);

/** Returns the objects of a list; none if the value is not a list. */
export function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function decodeAnnotations(
  annotations: Json | undefined,
): { readonly citations?: readonly Citation[] } {
  const found = readAnnotations(annotations);
  return found.length === 0 ? {} : { citations: found };
}

/** Reads a web source. Files and containers exist only at their vendor and are skipped. */
export function readAnnotation(annotation: Json | undefined): Citation | undefined {
  if (!isJsonObject(annotation) || annotation["type"] !== "url_citation") return undefined;
  return readUrlCitation(annotation);
}

/** Reads the web sources of a content part, in order. */
export function readAnnotations(annotations: Json | undefined): Citation[] {
  if (!Array.isArray(annotations)) return [];
  return annotations.map(readAnnotation).filter((citation) => citation !== undefined);
}

function decodeCall(
  type: "function_call" | "custom_tool_call",
  item: JsonObject,
  path: string,
): AnswerBlock {
  const text = (key: string): string => {
    const value = item[key];
    if (typeof value === "object" && value !== null) return stringifyExactly(value);
    return typeof value === "string" ? value : "";
  };
  const itemId = text("id");
  return {
    type: "tool_call",
    path,
    id: text("call_id"),
    ...(itemId === "" ? {} : { itemId }),
    name: text("name"),
    input: type === "function_call"
      ? { kind: "json_text", text: text("arguments") }
      : { kind: "text", text: text("input") },
  };
}
