/**
 * Reads a whole Converse answer.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-answer.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { ConversionMemory } from "../contract/contract.ts";
import type { Answer, AnswerBlock, Citation, ReasoningProof } from "../conversation/mod.ts";
import { writeDataUrl } from "../content/data_url.ts";
import { blocksOf, citedText, readConverseAnswer } from "./answer_reading.ts";
import { readConverseStop } from "./stop_reasons.ts";

/** The signer of reasoning where the route names none. */
export const bedrock = "bedrock";

/** Reads a whole Converse answer. */
export function decodeConverseAnswer(body: JsonObject, memory: ConversionMemory): Answer {
  const reading = readConverseAnswer(body);
  if (reading.error !== undefined) throw reading.error;
  if (!isJsonObject(body.output)) {
    throw new GatewayError("upstream_unreachable", "The provider sent no answer");
  }
  const signer = memory.reasoningSigner ?? bedrock;
  const blocks = blocksOf(body).flatMap((block, i) =>
    decodeBlock(block, `output.message.content.${i}`, signer)
  );
  const hasCalls = blocks.some((block) => block.type === "tool_call");
  const tier = readServiceTier(body.serviceTier);
  return {
    blocks,
    stop: readConverseStop(reading.stopReason, hasCalls),
    ...defined({ usage: reading.usage, serviceTier: tier }),
  };
}

/** Reads the tier that served the call. */
export function readServiceTier(tier: Json | undefined): string | undefined {
  const type = isJsonObject(tier) ? tier["type"] : undefined;
  return typeof type === "string" ? type : undefined;
}

function decodeBlock(block: JsonObject, path: string, signer: string): AnswerBlock[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === "string") return text === "" ? [] : [{ type: "text", path, text }];
  if (isJsonObject(toolUse) && toolUse.type === undefined) return decodeCall(toolUse, path);
  if (isJsonObject(reasoningContent)) {
    const { reasoningText } = reasoningContent;
    const said = isJsonObject(reasoningText) ? reasoningText.text : "";
    const proof = readProof(reasoningContent, signer);
    const shown = typeof said === "string" ? said : "";
    if (shown === "" && proof === undefined) return [];
    return [{ type: "reasoning", path, text: shown, ...defined({ proof }) }];
  }
  if (isJsonObject(citationsContent)) {
    const said = citedText(citationsContent);
    const citations = list(citationsContent.citations).flatMap((one) => readCitation(one) ?? []);
    return said === ""
      ? []
      : [{ type: "text", path, text: said, ...(citations.length > 0 ? { citations } : {}) }];
  }
  const { format, data } = readImage(block.image);
  if (data !== "") return [{ type: "picture", path, url: pictureUrl(format, data) }];
  const kind = Object.keys(block)[0] ?? "empty";
  const otherwise = isLostKind(kind) ? "warn" : "ignore";
  return [{ type: "foreign", path, style: "converse", kind, raw: block, otherwise }];
}

/** Blocks of tools that the provider ran, whose results are in the text, and of nothing. */
const withoutContent: ReadonlySet<string> = new Set([
  "toolUse",
  "toolResult",
  "cachePoint",
  "empty",
]);

/** Whether a block of this kind is content that no other style has a place for. */
export function isLostKind(kind: string): boolean {
  return !withoutContent.has(kind);
}

/** Reads what a picture, or a part of one, tells: its format, and its data in base64. */
export function readImage(
  image: Json | undefined,
): { readonly format?: string; readonly data: string } {
  if (!isJsonObject(image)) return { data: "" };
  const { format, source } = image;
  const bytes = isJsonObject(source) ? source.bytes : undefined;
  return {
    ...(typeof format === "string" ? { format } : {}),
    data: typeof bytes === "string" ? bytes : "",
  };
}

/** Writes a picture as a data URL. */
export function pictureUrl(format: string | undefined, data: string): string {
  return writeDataUrl(`image/${format ?? "png"}`, data);
}

/** A call without a name is none. */
function decodeCall(call: JsonObject, path: string): AnswerBlock[] {
  const { toolUseId: id, name, input } = call;
  if (typeof name !== "string" || name === "") return [];
  return [{
    type: "tool_call",
    path,
    id: typeof id === "string" ? id : "",
    name,
    input: isJsonObject(input)
      ? { kind: "object", value: input }
      : { kind: "json_text", text: typeof input === "string" ? input : "" },
  }];
}

function readProof(content: JsonObject, signer: string): ReasoningProof | undefined {
  const { reasoningText, redactedContent: data } = content;
  if (typeof data === "string" && data !== "") return { kind: "redacted", signer, data };
  const signature = isJsonObject(reasoningText) ? reasoningText.signature : undefined;
  return typeof signature === "string" && signature !== ""
    ? { kind: "signature", signer, signature }
    : undefined;
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** Reads a web source; sources in documents of the request are numbered as no other style does. */
export function readCitation(citation: Json | undefined): Citation | undefined {
  if (!isJsonObject(citation)) return undefined;
  const { location, title, sourceContent } = citation;
  const web = isJsonObject(location) ? location.web : undefined;
  const url = isJsonObject(web) ? web.url : undefined;
  if (typeof url !== "string" || url === "") return undefined;
  const cited = list(sourceContent).map((piece) => isJsonObject(piece) ? piece.text : "").join("");
  return {
    url,
    title: typeof title === "string" ? title : "",
    ...(cited === "" ? {} : { citedText: cited }),
  };
}
