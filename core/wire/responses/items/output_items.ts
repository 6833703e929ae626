/**
 * Writes complete output items of an answer for a Responses client.
 *
 * - Folder `core/wire/responses/items/`: items of the Responses style, which are both in requests and in answers.
 * - In: items of clients and of servers, or parts of the typed form.
 * - Out: items for clients, hosted calls, reasoning with its proof, names of grouped tools.
 * - Never: imports the folder of another style, or `request`, `answer` and `stream` beside it.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import { answerId } from "../../fields/answer_ids.ts";
import { dataUrl } from "../../content/data_url.ts";
import { placeOf, writeUrlCitation } from "../../content/citations.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type { Citation, ReasoningProof } from "../../conversation/mod.ts";
import { hostedIdMark } from "../../tools/hosted_calls.ts";
import { sealProof } from "../../fields/reasoning_seal.ts";
import { answerArguments } from "../../tools/tool_arguments.ts";
import { summaryParts } from "./reasoning_item.ts";

/** The status of an item: `incomplete` if the cap on tokens cut it. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

const prefixes = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
  custom_tool_call: "ctc_",
  tool_search_call: "tsc_",
  web_search_call: `ws_${hostedIdMark}`,
  code_interpreter_call: `ci_${hostedIdMark}`,
  mcp_call: `mcp_${hostedIdMark}`,
  image_generation_call: `ig_${hostedIdMark}`,
} as const;

/** Builds the id of the item at `index` from its kind, the request and the index. */
export function itemId(kind: keyof typeof prefixes, context: PipeContext, index: number): string {
  return `${answerId(prefixes[kind], context.requestId)}_${index}`;
}

/** Writes a message as an output item. */
export function messageItem(id: string, status: ItemStatus, content: JsonObject[]): JsonObject {
  return { id, type: "message", status, role: "assistant", content };
}

/** Writes a text part of a message. */
export function textPart(
  text: string,
  annotations: JsonObject[],
  logprobs: JsonObject[] = [],
): JsonObject {
  return { type: "output_text", text, annotations, logprobs };
}

/** Writes a refusal part of a message. */
export function refusalPart(refusal: string): JsonObject {
  return { type: "refusal", refusal };
}

/** Writes a web source of a block whose text reaches from `start` to `end`. */
export function annotation(citation: Citation, start: number, end: number): JsonObject {
  return {
    type: "url_citation",
    ...writeUrlCitation(citation, placeOf(citation, start, end)),
  };
}

/**
 * Writes reasoning of any upstream. Its proof is always sealed, so that the item that the client sends back is not
 * mistaken for one of a Responses vendor.
 */
export function reasoningItem(
  id: string,
  text: string,
  proof: ReasoningProof | undefined,
): JsonObject {
  return {
    id,
    type: "reasoning",
    summary: summaryParts(text === "" ? [] : [text]),
    encrypted_content: sealProof(proof),
  };
}

/** Writes a picture as the item of a vendor's own tool for pictures; `undefined` for an address, which it has not. */
export function pictureItem(id: string, url: string): JsonObject | undefined {
  const read = dataUrl(url);
  if (read === undefined) return undefined;
  return {
    id,
    type: "image_generation_call",
    status: "completed",
    output_format: read.mediaType.replace(/^image\//, ""),
    result: read.data,
  };
}

/** The kind of a called tool: a function, a free-text tool, or the client's own search for tools. */
export type CallKind = "function_call" | "custom_tool_call" | "tool_search_call";

/** The type of the item for a call. */
export function callKind(name: string, custom: boolean, searchTool: string | undefined): CallKind {
  if (name === searchTool) return "tool_search_call";
  return custom ? "custom_tool_call" : "function_call";
}

/** The members of a call that are known when it begins. */
export interface CallHead {
  readonly kind: CallKind;
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  /** Its group, if the client sent it in one. */
  readonly namespace?: string;
}

/** Writes a tool call as an output item. */
export function callItem(head: CallHead, status: ItemStatus, text: string): JsonObject {
  const { kind: type, id, callId: call_id, name, namespace } = head;
  const item = { id, type, status, call_id };
  const named = namespace === undefined ? { name } : { name, namespace };
  switch (type) {
    case "function_call":
      return { ...item, ...named, arguments: text };
    case "custom_tool_call":
      return { ...item, ...named, input: text };
    case "tool_search_call":
      return {
        ...item,
        execution: "client",
        arguments: answerArguments({ kind: "json_text", text }),
      };
  }
}
