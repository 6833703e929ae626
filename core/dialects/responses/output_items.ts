/** Output items of an answer for a Responses client, as they stand when they are whole. */
import type { JsonObject } from "../../json.ts";
import { answerId } from "../answer_ids.ts";
import type { PipeContext } from "../contract.ts";
import type { Citation, ReasoningProof } from "../conversation/mod.ts";
import { sealProof } from "../reasoning_seal.ts";
import { summaryParts } from "./reasoning_item.ts";

/** How far an item came: `incomplete` where the cap on tokens cut it. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

const prefixes = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
  custom_tool_call: "ctc_",
} as const;

/** The id of the item at `index`: the kind, the request, the place. */
export function itemId(kind: keyof typeof prefixes, context: PipeContext, index: number): string {
  return `${answerId(prefixes[kind], context.requestId)}_${index}`;
}

export function messageItem(id: string, status: ItemStatus, content: JsonObject[]): JsonObject {
  return { id, type: "message", status, role: "assistant", content };
}

export function textPart(text: string, annotations: JsonObject[]): JsonObject {
  return { type: "output_text", text, annotations, logprobs: [] };
}

export function refusalPart(refusal: string): JsonObject {
  return { type: "refusal", refusal };
}

/** A web source, placed on the text from `start` to `end`. */
export function annotation(citation: Citation, start: number, end: number): JsonObject {
  return {
    type: "url_citation",
    start_index: start,
    end_index: end,
    title: citation.title,
    url: citation.url,
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

/** What is known of a call when it begins. */
export interface CallHead {
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  /** Its group, where the client sent it in one. */
  readonly namespace?: string;
  readonly custom: boolean;
}

export function callItem(head: CallHead, status: ItemStatus, text: string): JsonObject {
  const { id, callId: call_id, name, namespace } = head;
  const named = namespace === undefined ? { name } : { name, namespace };
  return head.custom
    ? { id, type: "custom_tool_call", status, call_id, ...named, input: text }
    : { id, type: "function_call", status, call_id, ...named, arguments: text };
}
