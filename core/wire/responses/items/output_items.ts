/**
 * Writes complete output items of an answer for a Responses client.
 *
 * - Folder `core/wire/responses/items/`: items of the Responses style, which are both in requests and in answers.
 * - In: items of clients and of servers, or parts of the typed form.
 * - Out: items for clients, hosted calls, reasoning with its proof, names of grouped tools.
 * - Never: imports the folder of another style, or `request`, `answer` and `stream` beside it.
 */
import { listOf, maybeText, text, type Written } from "../../../lib/json/schemas.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { answerId } from "../../fields/answer_ids.ts";
import { dataUrl, placeOf, writeUrlCitation } from "../../content/citations.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type { Citation, ReasoningBlock, ReasoningProof } from "../../conversation/mod.ts";
import { hostedIdMark } from "../../tools/hosted_calls.ts";
import {
  readSealedText,
  sealPrefix,
  sealProof,
  toldSummary,
  unsealProof,
} from "../../fields/reasoning_seal.ts";
import { answerArguments } from "../../tools/tool_fields.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { hashHex } from "../../../lib/hash/short_hash.ts";
import { hostedItemMembers, isForeignHostedItem } from "./hosted_items.ts";

// Reads and writes reasoning items: their text, and the proof for their signer.
//
// An item of a Responses vendor has `encrypted_content`, which only that organisation can read. An item that this
// gateway writes for reasoning of another style has a sealed proof in the same field, so that the proof returns to its
// signer and the item can be recognized before a native call.

/** The separator between the parts of a summary in one text. */
export const summaryBreak = "\n\n";

/** Text and proof of a reasoning item, as members of a block. */
export interface ItemReading {
  readonly text: string;
  readonly proof?: ReasoningProof;
}

/**
 * Reads an item. `signer` is the signer of items without a seal.
 *
 * @example
 * ```ts
 * import { readItemProof } from "./output_items.ts";
 * const { text, proof } = readItemProof({
 *   type: "reasoning",
 *   id: "rs_1",
 *   summary: [{ type: "summary_text", text: "Hm." }],
 *   encrypted_content: "gAAA",
 * }, "responses");
 * if (text !== "Hm." || proof?.kind !== "item" || proof.id !== "rs_1") throw new Error("not read");
 * ```
 */
export function readItemProof(item: JsonObject, signer: string): ItemReading {
  const summary = texts(item["summary"]);
  const text = (summary.length > 0 ? summary : texts(item["content"])).join(summaryBreak);
  const encrypted = item["encrypted_content"];
  if (typeof encrypted !== "string" || encrypted === "") return { text };
  const sealed = unsealProof(encrypted);
  if (sealed === undefined) return { text };
  if (sealed !== "foreign") return { text, proof: sealed };
  const id = item["id"];
  return {
    text,
    proof: {
      kind: "item",
      signer,
      ...(typeof id === "string" ? { id } : {}),
      encryptedContent: encrypted,
      ...(summary.length > 1 ? { summary } : {}),
    },
  };
}

function texts(parts: Json | undefined): string[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part) =>
    isJsonObject(part) && typeof part["text"] === "string" ? [part["text"]] : []
  );
}

/** Writes the item for the upstream that signed the reasoning; `undefined` for any other, which cannot read it. */
export function replayItem(
  block: ReasoningBlock,
  capabilities: ResolvedCapabilities,
): JsonObject | undefined {
  const { proof, text } = block;
  if (proof?.kind !== "item" || proof.signer !== capabilities.reasoning_signer) return undefined;
  const { id, encryptedContent, summary } = proof;
  if (encryptedContent === undefined) return undefined;
  return {
    type: "reasoning",
    // The vendor requires its own id. If the client lost it, the item gets a stable one.
    id: id ?? `rs_${hashHex(encryptedContent)}`,
    summary: summaryParts(summary ?? (text === "" ? [] : [text])),
    encrypted_content: encryptedContent,
  };
}

/** Writes the parts of a reasoning summary. */
export function summaryParts(summary: readonly string[]): JsonObject[] {
  return summary.map((text) => ({ type: "summary_text", text }));
}

/**
 * Removes from a native Responses call what its vendor never made: reasoning with a seal of the
 * gateway, and calls of hosted tools that another provider ran.
 */
export function withoutSealedReasoning(body: JsonObject): JsonObject | undefined {
  const input = body["input"];
  if (!Array.isArray(input)) return undefined;
  if (!input.some((item) => isSealed(item) || ownSummary(item) !== undefined)) return undefined;
  const kept = input.filter((item) => !isSealed(item)).map((item): Json => {
    const summary = ownSummary(item);
    return summary === undefined ? item : { role: "user", content: toldSummary(summary) };
  });
  return { ...body, input: kept };
}

/** The summary of a conversation that this gateway compacted, which the vendor could not read. */
function ownSummary(item: Json): string | undefined {
  return isJsonObject(item) && item["type"] === "compaction"
    ? readSealedText(item["encrypted_content"])
    : undefined;
}

function isSealed(item: Json): boolean {
  if (isForeignHostedItem(item)) return true;
  if (!isJsonObject(item) || item["type"] !== "reasoning") return false;
  const encrypted = item["encrypted_content"];
  return typeof encrypted === "string" && encrypted.startsWith(sealPrefix);
}

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
  mcp_list_tools: `mcpl_${hostedIdMark}`,
  mcp_approval_request: `mcpr_${hostedIdMark}`,
  image_generation_call: `ig_${hostedIdMark}`,
} as const;

/** Builds the id of the item at `index` from its kind, the request and the index. */
export function itemId(kind: keyof typeof prefixes, context: PipeContext, index: number): string {
  return `${answerId(prefixes[kind], context.requestId)}_${index}`;
}

/** The members of output items; the type decides which it has. */
export const itemMembers = {
  ...hostedItemMembers,
  role: text,
  content: {
    anyOf: [listOf({ type: "object" }), text, { type: "null" }],
    description: "Parts, or a text that the user sent.",
  },
  summary: listOf({ type: "object" }),
  encrypted_content: maybeText,
  output_format: text,
  result: maybeText,
  call_id: text,
  namespace: text,
  input: text,
  execution: text,
};

type Item = Written<typeof itemMembers>;

/** Writes a message as an output item. */
export function messageItem(id: string, status: ItemStatus, content: JsonObject[]): Item {
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
): Item {
  return {
    id,
    type: "reasoning",
    summary: summaryParts(text === "" ? [] : [text]),
    encrypted_content: sealProof(proof),
  };
}

/** Writes a picture as the item of a vendor's own tool for pictures; `undefined` for an address, which it has not. */
export function pictureItem(id: string, url: string): Item | undefined {
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
export function callItem(head: CallHead, status: ItemStatus, text: string): Item {
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
