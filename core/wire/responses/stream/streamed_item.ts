/**
 * One output item of a Responses stream that is being read: turns its content into events of the conversation. Content
 * may come by deltas or with the whole item at its end; what the deltas left out is taken from the whole item.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import type { AnswerBlock, Citation } from "../../conversation/mod.ts";
import type { EventSink } from "../../stream/dialect.ts";
import { decodeOutputItem, objects, readAnnotations } from "../answer/decode_answer.ts";
import { isHostedItem } from "../items/hosted_items.ts";
import { readItemProof } from "../items/output_items.ts";

/** What the items of one answer share. */
export interface AnswerState {
  /** Who can verify the proofs of reasoning in this answer. */
  readonly signer: string;
  /** Whether the answer has called a tool of the client. */
  hasCalls: boolean;
  /** The refusal so far. */
  refusal: string;
  /** Numbers the next block of the conversation. */
  newBlock(): number;
}

/** The JSON literal of an empty string: no event is sent for it. */
const emptyText = '""';

function literal(delta: Json | undefined): string {
  return typeof delta === "string" ? stringifyExactly(delta) : emptyText;
}

/** Types of items that other styles have, beside calls. */
const readTypes: ReadonlySet<string> = new Set(["message", "reasoning", "image_generation_call"]);

/** Reads one output item of a Responses stream into events of the conversation. */
export class StreamedItem {
  readonly #answer: AnswerState;
  readonly #type: string;
  /** Block of a call, of reasoning or of a hosted tool; a message has one for each part. */
  readonly #block: number;
  /** Blocks of a message's parts by `content_index`. */
  readonly #parts = new Map<number, number>();
  /** Sources already sent of the part that is open. */
  #cited = 0;
  /** Some of the content came by deltas, so the whole item at the end adds nothing. */
  #streamed = false;
  /** A call without a name so far: it is sent with its whole item, if that has one. */
  #nameless: boolean;
  /** Reasoning may come both as a summary and in full: the one that comes first is taken. */
  #reasoning: "summary" | "full" | undefined;

  /** Opens the item; `item` is as much of it as the upstream sent at its start. */
  constructor(item: JsonObject, answer: AnswerState, emit: EventSink) {
    this.#answer = answer;
    const type = typeof item["type"] === "string" ? item["type"] : "message";
    this.#type = type;
    this.#block = answer.newBlock();
    this.#nameless = type === "function_call" || type === "custom_tool_call";
    if (this.#nameless) this.#call(item, emit);
    else if (!readTypes.has(type) && !isHostedItem(type)) {
      emit({ type: "foreign", block: this.#block, kind: type });
    }
  }

  /** Sends a call as soon as its name is known. */
  #call(item: JsonObject, emit: EventSink): void {
    const { call_id: callId, id, name } = item;
    if (typeof name !== "string" || name === "") return;
    this.#nameless = false;
    this.#answer.hasCalls = true;
    emit({
      type: "call",
      block: this.#block,
      id: typeof callId === "string" ? callId : "",
      ...(typeof id === "string" ? { itemId: id } : {}),
      name,
      ...(this.#type === "custom_tool_call" ? { custom: true } : {}),
    });
  }

  /** Takes a delta of text or of a refusal. */
  text(type: "text" | "refusal", body: JsonObject, emit: EventSink): void {
    const json = literal(body["delta"]);
    if (json === emptyText) return;
    this.#streamed = true;
    const block = this.#partBlock(body["content_index"], emit);
    const logprobs = type === "text" ? objects(body["logprobs"]) : [];
    if (type === "refusal" || logprobs.length === 0) return emit({ type, block, json });
    emit({ type, block, json, logprobs: stringifyExactly(logprobs) });
  }

  /** Takes a delta of reasoning. */
  reasoning(kind: "summary" | "full", delta: Json | undefined, emit: EventSink): void {
    const json = literal(delta);
    if (json === emptyText) return;
    this.#reasoning ??= kind;
    if (this.#reasoning !== kind) return;
    this.#streamed = true;
    emit({ type: "reasoning", block: this.#block, json });
  }

  /** Takes a delta of a call's arguments. */
  arguments(delta: Json | undefined, emit: EventSink): void {
    const json = literal(delta);
    if (this.#nameless || json === emptyText) return;
    this.#streamed = true;
    emit({ type: "arguments", block: this.#block, json });
  }

  /** Takes a source of a part. */
  cite(citation: Citation, part: Json | undefined, emit: EventSink): void {
    const block = this.#partBlock(part, emit);
    this.#cited++;
    emit({ type: "citation", block, citation });
  }

  /** Takes a whole part: some servers send the sources of a text only there, or with the whole item. */
  partDone(at: number, part: Json | undefined, emit: EventSink): void {
    const block = this.#parts.get(at);
    if (block === undefined || !isJsonObject(part)) return;
    const missed = readAnnotations(part["annotations"]).slice(this.#cited);
    this.#cited += missed.length;
    for (const citation of missed) emit({ type: "citation", block, citation });
  }

  /** Takes the whole item, and ends. */
  done(value: JsonObject, emit: EventSink): void {
    if (this.#nameless) this.#call(value, emit);
    if (!this.#streamed) this.#takeWhole(value, emit);
    const content = value["content"];
    if (Array.isArray(content)) {
      content.forEach((part, at) => this.partDone(at, part, emit));
    }
    if (this.#type === "reasoning") {
      const { proof } = readItemProof(value, this.#answer.signer);
      if (proof !== undefined) emit({ type: "reasoning_proof", block: this.#block, proof });
    }
    this.end(emit);
  }

  /** Closes the blocks that are open. */
  end(emit: EventSink): void {
    const blocks = this.#parts.size > 0 ? [...this.#parts.values()] : [this.#block];
    for (const block of blocks) emit({ type: "block_end", block });
  }

  /** The block of a message's part. A part that follows closes the one before. */
  #partBlock(index: Json | undefined, emit: EventSink): number {
    const part = typeof index === "number" ? index : 0;
    const known = this.#parts.get(part);
    if (known !== undefined) return known;
    const block = this.#parts.size === 0 ? this.#block : this.#answer.newBlock();
    for (const earlier of this.#parts.values()) emit({ type: "block_end", block: earlier });
    this.#parts.clear();
    this.#parts.set(part, block);
    this.#cited = 0;
    return block;
  }

  /** The content of an item that came in one piece. */
  #takeWhole(value: JsonObject, emit: EventSink): void {
    decodeOutputItem(value, "", this.#answer.signer).forEach((block, part) => {
      this.#takeBlock(block, part, emit);
    });
  }

  #takeBlock(block: AnswerBlock, part: number, emit: EventSink): void {
    if (block.type === "text") {
      if (block.refusal === true) this.#answer.refusal += block.text;
      const type = block.refusal === true ? "refusal" : "text";
      const at = this.#partBlock(part, emit);
      const { logprobs } = block;
      const json = stringifyExactly(block.text);
      if (type === "refusal" || logprobs === undefined) emit({ type, block: at, json });
      else emit({ type, block: at, json, logprobs: stringifyExactly(logprobs) });
      for (const citation of block.citations ?? []) {
        this.#cited++;
        emit({ type: "citation", block: at, citation });
      }
    } else if (block.type === "reasoning" && block.text !== "") {
      emit({ type: "reasoning", block: this.#block, json: stringifyExactly(block.text) });
    } else if (block.type === "picture") {
      emit({ type: "picture", block: this.#block, url: block.url });
    } else if (block.type === "hosted_call") {
      const { style, id, call } = block;
      emit({ type: "hosted_call", block: this.#block, style, id, call });
    } else if (block.type === "tool_call" && block.input.kind !== "object") {
      if (block.input.text === "") return;
      emit({ type: "arguments", block: this.#block, json: stringifyExactly(block.input.text) });
    }
  }
}
