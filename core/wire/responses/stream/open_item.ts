/**
 * Streams output items to a Responses client: writes the frames that open, fill and close them, and builds the complete
 * items. Text is kept as joined JSON literals without their quotes.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import type { Citation, ReasoningProof } from "../../conversation/mod.ts";
import { literalLength } from "../../../lib/json/json_literal.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import {
  annotation,
  type CallHead,
  callItem,
  type ItemStatus,
  messageItem,
  reasoningItem,
  refusalPart,
  summaryParts,
  textPart,
} from "../items/output_items.ts";

/** Writes one event: its type, and its members as JSON text without the braces. */
export type WriteEvent = (type: string, members: string) => void;

/** One item from its `added` to its `done`. */
export interface OpenItem {
  /** Closes the item; the whole item is part of the last event of the stream. */
  close(status: ItemStatus): JsonObject;
}

function place(id: string, index: number): string {
  return `"item_id":${stringifyExactly(id)},"output_index":${index}`;
}

function opening(index: number, item: JsonObject): string {
  return `"output_index":${index},"item":${stringifyExactly(item)}`;
}

function decoded(inner: string): string {
  return JSON.parse(`"${inner}"`);
}

interface OpenPart {
  readonly refusal: boolean;
  readonly annotations: JsonObject[];
  inner: string;
  /** Entries of log probabilities as JSON text, without the brackets of the list. */
  logprobs: string;
}

/** A message: parts of text and of refusal. */
export class OpenMessage implements OpenItem {
  readonly #id: string;
  readonly #index: number;
  readonly #write: WriteEvent;
  readonly #done: JsonObject[] = [];
  #part: OpenPart | undefined;
  /** Start of the text of the current block within its part: in literal text and, if needed, in decoded text. */
  #blockStart = 0;
  #startChars: number | undefined = 0;
  #citations: Citation[] = [];
  /** Sources with a range in a text that has not begun. */
  #ahead: Citation[] = [];

  constructor(id: string, index: number, write: WriteEvent) {
    this.#id = id;
    this.#index = index;
    this.#write = write;
    write("response.output_item.added", opening(index, messageItem(id, "in_progress", [])));
  }

  /** Adds a piece of text; `logprobs` is the JSON text of a list. */
  add(json: string, refusal: boolean, logprobs = "[]"): void {
    const part = this.#partOf(refusal);
    const inner = json.slice(1, -1);
    part.inner += inner;
    const delta = `${this.#place()},"delta":${json}`;
    if (refusal) return this.#write("response.refusal.delta", delta);
    if (logprobs !== "[]") part.logprobs += (part.logprobs && ",") + logprobs.slice(1, -1);
    this.#write("response.output_text.delta", `${delta},"logprobs":${logprobs}`);
    if (this.#ahead.length > 0) this.#citeAhead();
  }

  /**
   * Takes a source. One with a range goes out at once, as at the vendor, or after the first text; others when their block
   * ends.
   */
  cite(citation: Citation): void {
    const part = this.#part;
    if (citation.span === undefined) this.#citations.push(citation);
    else if (part === undefined || part.refusal) this.#ahead.push(citation);
    else {
      const start = this.#startOf(part);
      this.#annotate(part, annotation(citation, start, start));
    }
  }

  #citeAhead(): void {
    const ahead = this.#ahead;
    this.#ahead = [];
    for (const citation of ahead) this.cite(citation);
  }

  /** Ends a block of the answer: sends its sources with their ranges. Another block may follow in the same part. */
  endBlock(): void {
    const part = this.#part;
    if (part === undefined) return;
    if (this.#citations.length > 0 && !part.refusal) this.#placeCitations(part);
    this.#citations = [];
    this.#ahead = [];
    this.#blockStart = part.inner.length;
    this.#startChars = undefined;
  }

  close(status: ItemStatus): JsonObject {
    this.#closePart();
    const item = messageItem(this.#id, status, this.#done);
    this.#write("response.output_item.done", opening(this.#index, item));
    return item;
  }

  #placeCitations(part: OpenPart): void {
    const start = this.#startOf(part);
    const end = literalLength(`"${part.inner}"`);
    for (const citation of this.#citations) {
      this.#annotate(part, annotation(citation, start, end));
    }
  }

  #startOf(part: OpenPart): number {
    return this.#startChars ??= literalLength(`"${part.inner.slice(0, this.#blockStart)}"`);
  }

  #annotate(part: OpenPart, source: JsonObject): void {
    this.#write(
      "response.output_text.annotation.added",
      `${this.#place()},"annotation_index":${part.annotations.length},"annotation":${
        stringifyExactly(source)
      }`,
    );
    part.annotations.push(source);
  }

  #place(): string {
    return `${place(this.#id, this.#index)},"content_index":${this.#done.length}`;
  }

  #partOf(refusal: boolean): OpenPart {
    if (this.#part?.refusal === refusal) return this.#part;
    this.#closePart();
    const part = { refusal, annotations: [], inner: "", logprobs: "" };
    this.#part = part;
    this.#blockStart = 0;
    this.#startChars = 0;
    const empty = refusal ? refusalPart("") : textPart("", []);
    this.#write(
      "response.content_part.added",
      `${this.#place()},"part":${stringifyExactly(empty)}`,
    );
    return part;
  }

  #closePart(): void {
    this.endBlock();
    const part = this.#part;
    if (part === undefined) return;
    const text = decoded(part.inner);
    const logprobs = `[${part.logprobs}]`;
    const whole = part.refusal
      ? refusalPart(text)
      : textPart(text, part.annotations, JSON.parse(logprobs));
    const literal = `"${part.inner}"`;
    if (part.refusal) this.#write("response.refusal.done", `${this.#place()},"refusal":${literal}`);
    else {
      const done = `${this.#place()},"text":${literal},"logprobs":${logprobs}`;
      this.#write("response.output_text.done", done);
    }
    this.#write("response.content_part.done", `${this.#place()},"part":${stringifyExactly(whole)}`);
    this.#done.push(whole);
    this.#part = undefined;
  }
}

/** Reasoning, streamed as a summary of one part if it has text. */
export class OpenReasoning implements OpenItem {
  readonly #id: string;
  readonly #index: number;
  readonly #write: WriteEvent;
  #inner = "";
  #proof: ReasoningProof | undefined;

  constructor(id: string, index: number, write: WriteEvent) {
    this.#id = id;
    this.#index = index;
    this.#write = write;
    const empty = { id, type: "reasoning", summary: [], encrypted_content: null };
    write("response.output_item.added", opening(index, empty));
  }

  add(json: string): void {
    const inner = json.slice(1, -1);
    if (inner === "") return;
    if (this.#inner === "") {
      this.#write("response.reasoning_summary_part.added", `${this.#place()},"part":${part("")}`);
    }
    this.#inner += inner;
    this.#write("response.reasoning_summary_text.delta", `${this.#place()},"delta":${json}`);
  }

  prove(proof: ReasoningProof): void {
    this.#proof = proof;
  }

  close(): JsonObject {
    const text = decoded(this.#inner);
    if (text !== "") {
      const literal = `"${this.#inner}"`;
      this.#write("response.reasoning_summary_text.done", `${this.#place()},"text":${literal}`);
      this.#write("response.reasoning_summary_part.done", `${this.#place()},"part":${part(text)}`);
    }
    const item = reasoningItem(this.#id, text, this.#proof);
    this.#write("response.output_item.done", opening(this.#index, item));
    return item;
  }

  #place(): string {
    return `${place(this.#id, this.#index)},"summary_index":0`;
  }
}

function part(text: string): string {
  return stringifyExactly(summaryParts([text])[0]);
}

/** Events for the text of a call, and the member that has it at the end. A search for tools has none: it comes whole. */
const callEvents = {
  function_call: { event: "response.function_call_arguments", member: "arguments" },
  custom_tool_call: { event: "response.custom_tool_call_input", member: "input" },
  tool_search_call: undefined,
} as const;

/** A call of a tool. */
export class OpenCall implements OpenItem {
  readonly #head: CallHead;
  readonly #index: number;
  readonly #write: WriteEvent;
  #inner = "";

  constructor(head: CallHead, index: number, write: WriteEvent) {
    this.#head = head;
    this.#index = index;
    this.#write = write;
    write("response.output_item.added", opening(index, callItem(head, "in_progress", "")));
  }

  add(json: string): void {
    this.#inner += json.slice(1, -1);
    this.#tell("delta", json);
  }

  close(status: ItemStatus): JsonObject {
    // Clients parse the arguments, so no arguments become an empty object.
    if (this.#inner === "" && this.#head.kind !== "custom_tool_call") this.add('"{}"');
    this.#tell("done", `"${this.#inner}"`);
    const item = callItem(this.#head, status, decoded(this.#inner));
    this.#write("response.output_item.done", opening(this.#index, item));
    return item;
  }

  #tell(step: "delta" | "done", json: string): void {
    const events = callEvents[this.#head.kind];
    if (events === undefined) return;
    const member = step === "delta" ? "delta" : events.member;
    const where = place(this.#head.id, this.#index);
    this.#write(`${events.event}.${step}`, `${where},"${member}":${json}`);
  }
}
