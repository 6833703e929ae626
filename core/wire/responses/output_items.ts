/** Output items of an answer for a Responses client, as they stand when they are whole. */
import type { JsonObject } from "../../lib/json/json.ts";
import { answerId } from "../answer_ids.ts";
import { placeOf, writeUrlCitation } from "../fields/citations.ts";
import type { PipeContext } from "../contract.ts";
import type { Citation, ReasoningProof } from "../conversation/mod.ts";
import { hostedIdMark } from "../tools/hosted_calls.ts";
import { sealProof } from "../reasoning_seal.ts";
import { answerArguments } from "../tools/tool_arguments.ts";
import { summaryParts } from "./reasoning_item.ts";

/** How far an item came: `incomplete` where the cap on tokens cut it. */
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
} as const;

/** The id of the item at `index`: the kind, the request, the place. */
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

/** A web source of a block whose text stands from `start` to `end`. */
export function annotation(citation: Citation, start: number, end: number): JsonObject {
  return {
    type: "url_citation",
    ...writeUrlCitation(citation, placeOf(citation, start, end)),
  };
}

/**
 * Reasoning of any upstream. Its proof is always sealed: the client sends the item back, and it must not be taken for
 * one that a Responses vendor made.
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

/** A function, a tool that takes free text, or the client's own search for tools. */
export type CallKind = "function_call" | "custom_tool_call" | "tool_search_call";

/** Which item a call is. */
export function callKind(name: string, custom: boolean, searchTool: string | undefined): CallKind {
  if (name === searchTool) return "tool_search_call";
  return custom ? "custom_tool_call" : "function_call";
}

/** What is known of a call when it begins. */
export interface CallHead {
  readonly kind: CallKind;
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  /** Its group, where the client sent it in one. */
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
