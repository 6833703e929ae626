/**
 * Reads a Responses stream.
 *
 * See docs/internals/WIRE_FORMATS.md#responses-stream.
 */
import { GatewayError } from "../../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { maxToolCallsPerAnswer } from "../limits.ts";
import type { ConversionMemory } from "../contract.ts";
import type { EventSink, StreamDecoder } from "../stream/dialect.ts";
import { readModeration } from "../fields/moderation.ts";
import { readProviderError } from "../errors/provider_error.ts";
import { decodeOutputItem, objects, readAnnotation, readAnnotations } from "./decode_answer.ts";
import { isHostedItem } from "./hosted_items.ts";
import { readItemProof, summaryBreak } from "./reasoning_item.ts";
import { readResponsesStop } from "./stop_reasons.ts";
import { readResponsesUsage } from "./usage.ts";

/** One output item while it streams. */
interface OpenItem {
  readonly type: string;
  /** Block of a call, of reasoning or of a hosted tool; messages have one per part. */
  readonly block: number;
  /** Blocks of a message's parts by `content_index`. */
  readonly parts: Map<number, number>;
  /** Sources told of the part that is open. */
  cited: number;
  /** Something of its content came by deltas, so the whole item at its end brings nothing new. */
  streamed: boolean;
  /** A call whose name has not come yet: it is told with its whole item, if that has one. */
  nameless: boolean;
  /** Reasoning may be told twice, as a summary and in full: the one that comes first is taken. */
  reasoning?: "summary" | "full";
}

/**
 * Turns events of an upstream into events of the conversation. Items may come with or without deltas, with or without
 * their `added`; what the deltas left out is taken from the whole item at its end.
 */
export class ResponsesStreamDecoder implements StreamDecoder {
  readonly #signer: string;
  readonly #items = new Map<number, OpenItem>();
  /** Places of items that are closed: nothing more is taken from them. */
  readonly #closed = new Set<number>();
  /** Where the events of items without a place go: counted as they come. */
  #unplaced = 0;
  #nextBlock = 0;
  #started = false;
  #ended = false;
  #calls = false;
  #refusal = "";

  constructor(memory: ConversionMemory) {
    this.#signer = memory.reasoningSigner ?? "responses";
  }

  frame(event: string | undefined, data: string, emit: EventSink): void {
    if (this.#ended || data === "" || data.trim() === "[DONE]") return;
    const body = parse(data, event);
    const type = typeof body["type"] === "string" ? body["type"] : event ?? "";
    if (event === "error" || type === "error") return this.#fail(body, emit);
    this.#read(type, body, emit);
  }

  /** Only a closing event is a clean end. */
  bodyEnd(): void {}

  #read(type: string, body: JsonObject, emit: EventSink): void {
    const index = this.#place(body, type);
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return this.#start(body, emit);
      case "response.completed":
      case "response.incomplete":
        return this.#close(body, emit);
      case "response.failed":
        return this.#fail(responseOf(body), emit);
      case "response.output_item.added":
        this.#open(index, body["item"], emit);
        return;
      case "response.output_item.done":
        return this.#itemDone(index, body["item"], emit);
      case "response.output_text.delta":
        return this.#text("text", index, body, emit);
      case "response.refusal.delta":
        if (typeof body["delta"] === "string") this.#refusal += body["delta"];
        return this.#text("refusal", index, body, emit);
      case "response.output_text.annotation.added":
        return this.#citation(index, body, emit);
      case "response.content_part.done":
        return this.#partDone(index, body, emit);
      case "response.reasoning_summary_part.added":
        if (body["summary_index"] === 0) return;
        return this.#reasoning("summary", index, stringifyExactly(summaryBreak), emit);
      case "response.reasoning_summary_text.delta":
        return this.#reasoning("summary", index, literal(body["delta"]), emit);
      case "response.reasoning_text.delta":
        return this.#reasoning("full", index, literal(body["delta"]), emit);
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#arguments(index, literal(body["delta"]), emit);
    }
  }

  /** Some servers say no place: their items come one after another. */
  #place(body: JsonObject, type: string): number {
    const { output_index: index } = body;
    if (typeof index === "number") return index;
    const brings = type.startsWith("response.output_item.") || type.endsWith(".delta");
    if (brings && this.#closed.has(this.#unplaced)) this.#unplaced++;
    return this.#unplaced;
  }

  #start(body: JsonObject, emit: EventSink): void {
    if (this.#started) return;
    this.#started = true;
    const id = responseOf(body)["id"];
    emit({ type: "start", ...(typeof id === "string" ? { id } : {}) });
  }

  #open(index: number, value: Json | undefined, emit: EventSink): OpenItem | undefined {
    this.#start({}, emit);
    if (this.#closed.has(index)) return undefined;
    const known = this.#items.get(index);
    if (known !== undefined) return known;
    const item = isJsonObject(value) ? value : {};
    const type = typeof item["type"] === "string" ? item["type"] : "message";
    const opened: OpenItem = {
      type,
      block: this.#newBlock(),
      parts: new Map(),
      cited: 0,
      streamed: false,
      nameless: type === "function_call" || type === "custom_tool_call",
    };
    this.#items.set(index, opened);
    if (opened.nameless) this.#call(opened, item, emit);
    else if (type !== "message" && type !== "reasoning" && !isHostedItem(type)) {
      emit({ type: "foreign", block: opened.block, kind: type });
    }
    return opened;
  }

  /** Tells a call as soon as its name is known. */
  #call(opened: OpenItem, item: JsonObject, emit: EventSink): void {
    const { call_id: callId, id, name } = item;
    if (typeof name !== "string" || name === "") return;
    opened.nameless = false;
    this.#calls = true;
    emit({
      type: "call",
      block: opened.block,
      id: typeof callId === "string" ? callId : "",
      ...(typeof id === "string" ? { itemId: id } : {}),
      name,
      ...(opened.type === "custom_tool_call" ? { custom: true } : {}),
    });
  }

  #newBlock(): number {
    if (this.#nextBlock >= maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The provider sent too many output items");
    }
    return this.#nextBlock++;
  }

  #text(type: "text" | "refusal", index: number, body: JsonObject, emit: EventSink): void {
    const item = this.#open(index, { type: "message" }, emit);
    const json = literal(body["delta"]);
    if (item === undefined || json === emptyText) return;
    item.streamed = true;
    const block = this.#partBlock(item, body, emit);
    const logprobs = type === "text" ? objects(body["logprobs"]) : [];
    if (type === "refusal" || logprobs.length === 0) return emit({ type, block, json });
    emit({ type, block, json, logprobs: stringifyExactly(logprobs) });
  }

  /** The block of a message's part. A part that follows closes the one before. */
  #partBlock(item: OpenItem, body: JsonObject, emit: EventSink): number {
    const part = typeof body["content_index"] === "number" ? body["content_index"] : 0;
    const known = item.parts.get(part);
    if (known !== undefined) return known;
    const block = item.parts.size === 0 ? item.block : this.#newBlock();
    for (const earlier of item.parts.values()) emit({ type: "block_end", block: earlier });
    item.parts.clear();
    item.parts.set(part, block);
    item.cited = 0;
    return block;
  }

  #reasoning(kind: "summary" | "full", index: number, json: string, emit: EventSink): void {
    const item = this.#open(index, { type: "reasoning" }, emit);
    if (item === undefined || json === emptyText) return;
    item.reasoning ??= kind;
    if (item.reasoning !== kind) return;
    item.streamed = true;
    emit({ type: "reasoning", block: item.block, json });
  }

  #arguments(index: number, json: string, emit: EventSink): void {
    const item = this.#open(index, { type: "function_call" }, emit);
    if (item === undefined || item.nameless || json === emptyText) return;
    item.streamed = true;
    emit({ type: "arguments", block: item.block, json });
  }

  #citation(index: number, body: JsonObject, emit: EventSink): void {
    const citation = readAnnotation(body["annotation"]);
    if (citation === undefined) return;
    const item = this.#open(index, { type: "message" }, emit);
    if (item === undefined) return;
    const block = this.#partBlock(item, body, emit);
    item.cited++;
    emit({ type: "citation", block, citation });
  }

  /** Some servers tell the sources of a text only with the whole part, or the whole item. */
  #missedCitations(item: OpenItem, at: number, part: Json | undefined, emit: EventSink): void {
    const block = item.parts.get(at);
    if (block === undefined || !isJsonObject(part)) return;
    const missed = readAnnotations(part["annotations"]).slice(item.cited);
    item.cited += missed.length;
    for (const citation of missed) emit({ type: "citation", block, citation });
  }

  #partDone(index: number, body: JsonObject, emit: EventSink): void {
    const item = this.#items.get(index);
    const { content_index: at, part } = body;
    if (item !== undefined) {
      this.#missedCitations(item, typeof at === "number" ? at : 0, part, emit);
    }
  }

  #itemDone(index: number, value: Json | undefined, emit: EventSink): void {
    if (!isJsonObject(value)) return;
    const item = this.#open(index, value, emit);
    if (item === undefined) return;
    if (item.nameless) this.#call(item, value, emit);
    if (!item.streamed) this.#takeWhole(item, value, emit);
    const content = value["content"];
    if (Array.isArray(content)) {
      content.forEach((part, at) => this.#missedCitations(item, at, part, emit));
    }
    if (item.type === "reasoning") {
      const { proof } = readItemProof(value, this.#signer);
      if (proof !== undefined) emit({ type: "reasoning_proof", block: item.block, proof });
    }
    const blocks = item.parts.size > 0 ? [...item.parts.values()] : [item.block];
    for (const block of blocks) emit({ type: "block_end", block });
    this.#items.delete(index);
    this.#closed.add(index);
  }

  /** The content of an item that came in one piece. */
  #takeWhole(item: OpenItem, value: JsonObject, emit: EventSink): void {
    decodeOutputItem(value, "", this.#signer).forEach((block, i) => {
      if (block.type === "text") {
        if (block.refusal === true) this.#refusal += block.text;
        const type = block.refusal === true ? "refusal" : "text";
        const at = this.#partBlock(item, { content_index: i }, emit);
        const { logprobs } = block;
        const json = stringifyExactly(block.text);
        if (type === "refusal" || logprobs === undefined) emit({ type, block: at, json });
        else emit({ type, block: at, json, logprobs: stringifyExactly(logprobs) });
        for (const citation of block.citations ?? []) {
          item.cited++;
          emit({ type: "citation", block: at, citation });
        }
      } else if (block.type === "reasoning" && block.text !== "") {
        emit({ type: "reasoning", block: item.block, json: stringifyExactly(block.text) });
      } else if (block.type === "hosted_call") {
        const { style, id, call } = block;
        emit({ type: "hosted_call", block: item.block, style, id, call });
      } else if (block.type === "tool_call" && block.input.kind !== "object") {
        if (block.input.text === "") return;
        emit({ type: "arguments", block: item.block, json: stringifyExactly(block.input.text) });
      }
    });
  }

  #close(body: JsonObject, emit: EventSink): void {
    this.#start(body, emit);
    const response = responseOf(body);
    const output = response["output"];
    if (Array.isArray(output)) this.#takeMissing(output, emit);
    for (const item of this.#items.values()) {
      const blocks = item.parts.size > 0 ? [...item.parts.values()] : [item.block];
      for (const block of blocks) emit({ type: "block_end", block });
    }
    const report = readResponsesUsage(response["usage"]);
    if (report.kind === "counts") emit({ type: "usage", usage: report.usage });
    if (report.kind === "absurd") emit({ type: "usage_rejected" });
    const { status, service_tier: tier } = response;
    emit({
      type: "stop",
      stop: readResponsesStop(response, { calls: this.#calls, refusal: this.#refusal }),
      ...(typeof status === "string" ? { raw: status } : {}),
      ...(typeof tier === "string" && tier !== "" ? { serviceTier: tier } : {}),
      ...readModeration(response["moderation"]),
    });
    this.#ended = true;
    emit({ type: "end" });
  }

  /**
   * The last event repeats all items. What had no events of its own is taken from it: as many items as were told are
   * there already, whatever places they were given.
   */
  #takeMissing(output: readonly Json[], emit: EventSink): void {
    const told = this.#closed.size + this.#items.size;
    output.forEach((item, index) => {
      if (this.#items.has(index) || told < output.length) this.#itemDone(index, item, emit);
    });
  }

  #fail(body: JsonObject, emit: EventSink): void {
    this.#ended = true;
    emit({ type: "error", error: readProviderError(body) });
  }
}

const emptyText = '""';

function literal(delta: Json | undefined): string {
  return typeof delta === "string" ? stringifyExactly(delta) : emptyText;
}

function responseOf(body: JsonObject): JsonObject {
  return isJsonObject(body["response"]) ? body["response"] : {};
}

function parse(data: string, event: string | undefined): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    // An error may come as plain text.
    if (event === "error") return { error: data };
    throw new GatewayError("upstream_unreachable", "The provider sent an event that is not JSON", {
      cause,
    });
  }
  return isJsonObject(value) ? value : {};
}
