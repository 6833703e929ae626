/**
 * Reads a Responses stream.
 *
 * See docs/internals/WIRE_FORMATS.md#responses-stream.
 *
 * - Folder `core/wire/responses/stream/`: streams of the Responses style.
 * - In: frames of Responses servers, or events of a conversation.
 * - Out: events of a conversation, or frames for Responses clients; usage and state of native streams.
 * - Never: awaits, or imports the folder of another style.
 */
import type { ToolUses } from "../../../billing/usage/hosted_tools.ts";
import { GatewayError } from "../../../lib/errors/errors.ts";
import { parseWithinDepth } from "../../../lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { EventSink, StreamDecoder } from "../../stream/dialect.ts";
import { isKnownEvent, shapedEvent, UnknownNames } from "../../stream/answer_shape.ts";
import { eventObject } from "../../stream/reading.ts";
import { readModeration } from "../../content/citations.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { readAnnotation } from "../answer/decode_answer.ts";
import { summaryBreak } from "../items/output_items.ts";
import { readResponsesStop, responseEnd } from "../answer/response_object.ts";
import { type AnswerState, StreamedItem } from "./streamed_item.ts";
import { countReportedUses } from "../../tools/tool_fields.ts";
import { ItemUses, readResponsesUsage } from "../answer/answer_reading.ts";
import { maxToolCallsPerAnswer } from "../../contract/limits.ts";

// The output items of a Responses stream that is being read, by their place in the answer. Items may come with or
// without their `added` event, and with or without a place.

/** Highest accepted `output_index`, far above the items of any answer. */
const maxItemPlace = 65_535;

/** Reads the output items of a Responses stream, by their place in the answer. */
class StreamedItems implements AnswerState {
  readonly signer: string;
  hasCalls = false;
  refusal = "";
  readonly #open = new Map<number, StreamedItem>();
  /** Places of items that are closed: nothing more is taken from them. */
  readonly #closed = new Set<number>();
  /** Place of events of items without one: counted as they come. */
  #unplaced = 0;
  #nextBlock = 0;

  constructor(signer: string) {
    this.signer = signer;
  }

  newBlock(): number {
    if (this.#nextBlock >= maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The provider sent too many output items");
    }
    return this.#nextBlock++;
  }

  /**
   * The place of the item that an event is about. Where servers send none, or one that no answer has, items come one after
   * another.
   */
  placeOf(body: JsonObject, type: string): number {
    const { output_index: index } = body;
    const isPlace = typeof index === "number" && Number.isInteger(index) && index >= 0;
    if (isPlace && index <= maxItemPlace) return index;
    const brings = type.startsWith("response.output_item.") || type.endsWith(".delta");
    while (brings && this.#closed.has(this.#unplaced)) this.#unplaced++;
    return this.#unplaced;
  }

  /** The open item at a place. */
  get(place: number): StreamedItem | undefined {
    return this.#open.get(place);
  }

  /** The item at a place, which is opened if it is new; `undefined` if it is closed. */
  open(place: number, item: Json | undefined, emit: EventSink): StreamedItem | undefined {
    if (this.#closed.has(place)) return undefined;
    const known = this.#open.get(place);
    if (known !== undefined) return known;
    const opened = new StreamedItem(isJsonObject(item) ? item : {}, this, emit);
    this.#open.set(place, opened);
    return opened;
  }

  /** Takes the whole item at a place and closes it. */
  done(place: number, item: JsonObject, emit: EventSink): void {
    const open = this.open(place, item, emit);
    if (open === undefined) return;
    open.done(item, emit);
    this.#open.delete(place);
    this.#closed.add(place);
  }

  /**
   * Takes the output of the last event, which repeats all items, and closes what is open. Items that had no events of
   * their own are taken from it: if as many items have come as it has, all are known, whatever their places.
   */
  finish(output: Json | undefined, emit: EventSink): void {
    if (Array.isArray(output)) {
      const seen = this.#closed.size + this.#open.size;
      output.forEach((item, place) => {
        const isMissing = this.#open.has(place) || seen < output.length;
        if (isMissing && isJsonObject(item)) this.done(place, item, emit);
      });
    }
    for (const item of this.#open.values()) item.end(emit);
  }
}

/** Turns the events of an upstream into events of the conversation. */
export class ResponsesStreamDecoder implements StreamDecoder {
  readonly unknown = new UnknownNames();
  readonly #items: StreamedItems;
  readonly #uses = new ItemUses();
  #started = false;
  #ended = false;

  constructor(memory: ConversionMemory) {
    this.#items = new StreamedItems(memory.reasoningSigner ?? "responses");
  }

  get toolUses(): ToolUses | undefined {
    return this.#uses.count.uses;
  }

  frame(event: string | undefined, data: string, emit: EventSink): void {
    if (this.#ended || data === "" || data.trim() === "[DONE]") return;
    const body = parse(data, event);
    const own = typeof body["type"] === "string" ? body["type"] : event ?? "";
    if (event === "error" || own === "error") return this.#fail(body, emit);
    const isNamed = event !== undefined && (event === own || isKnownEvent("responses", event));
    const type = isNamed ? event : own;
    this.#read(type, shapedEvent("responses", type, body, this.unknown), emit);
  }

  /** Only a closing event is a clean end. */
  bodyEnd(): void {}

  #read(type: string, body: JsonObject, emit: EventSink): void {
    const place = this.#items.placeOf(body, type);
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return this.#start(body, emit);
      case "response.completed":
      case "response.incomplete":
        return this.#close(body, emit);
      case "response.failed":
      case "response.cancelled":
        return this.#fail(responseOf(body), emit);
      case "response.output_item.added":
        if (isJsonObject(body["item"])) this.#open(place, body["item"], emit);
        return;
      case "response.output_item.done":
        return this.#itemDone(place, body["item"], emit);
      case "response.output_text.delta":
        return this.#open(place, { type: "message" }, emit)?.text("text", body, emit);
      case "response.refusal.delta":
        if (typeof body["delta"] === "string") this.#items.refusal += body["delta"];
        return this.#open(place, { type: "message" }, emit)?.text("refusal", body, emit);
      case "response.output_text.annotation.added":
        return this.#citation(place, body, emit);
      case "response.content_part.done":
        return this.#partDone(place, body, emit);
      case "response.reasoning_summary_part.added":
        if (body["summary_index"] === 0) return;
        return this.#reasoning("summary", place, summaryBreak, emit);
      case "response.reasoning_summary_text.delta":
        return this.#reasoning("summary", place, body["delta"], emit);
      case "response.reasoning_text.delta":
        return this.#reasoning("full", place, body["delta"], emit);
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#open(place, { type: "function_call" }, emit)?.arguments(body["delta"], emit);
    }
  }

  #start(body: JsonObject, emit: EventSink): void {
    if (this.#started) return;
    this.#started = true;
    const id = responseOf(body)["id"];
    emit({ type: "start", ...(typeof id === "string" ? { id } : {}) });
  }

  #open(place: number, item: Json | undefined, emit: EventSink): StreamedItem | undefined {
    this.#start({}, emit);
    return this.#items.open(place, item, emit);
  }

  #reasoning(
    kind: "summary" | "full",
    place: number,
    delta: Json | undefined,
    emit: EventSink,
  ): void {
    this.#open(place, { type: "reasoning" }, emit)?.reasoning(kind, delta, emit);
  }

  #citation(place: number, body: JsonObject, emit: EventSink): void {
    const citation = readAnnotation(body["annotation"]);
    if (citation === undefined) return;
    this.#open(place, { type: "message" }, emit)?.cite(citation, body["content_index"], emit);
  }

  #partDone(place: number, body: JsonObject, emit: EventSink): void {
    const { content_index: at, part } = body;
    this.#items.get(place)?.partDone(typeof at === "number" ? at : 0, part, emit);
  }

  #itemDone(place: number, item: Json | undefined, emit: EventSink): void {
    if (!isJsonObject(item)) return;
    this.#uses.item(item);
    this.#start({}, emit);
    this.#items.done(place, item, emit);
  }

  #close(body: JsonObject, emit: EventSink): void {
    this.#start(body, emit);
    const response = responseOf(body);
    this.#items.finish(response["output"], emit);
    const report = readResponsesUsage(response["usage"]);
    countReportedUses(this.#uses.count, response["usage"]);
    if (report.kind === "counts") emit({ type: "usage", usage: report.usage });
    if (report.kind === "absurd") emit({ type: "usage_rejected" });
    const { service_tier: tier } = response;
    const end = responseEnd(response);
    const { hasCalls, refusal } = this.#items;
    emit({
      type: "stop",
      stop: readResponsesStop(response, { calls: hasCalls, refusal }),
      ...(typeof end === "string" ? { raw: end } : {}),
      ...(typeof tier === "string" && tier !== "" ? { serviceTier: tier } : {}),
      ...readModeration(response["moderation"]),
    });
    this.#ended = true;
    emit({ type: "end" });
  }

  #fail(body: JsonObject, emit: EventSink): void {
    this.#ended = true;
    emit({ type: "error", error: readProviderError(body) });
  }
}

function responseOf(body: JsonObject): JsonObject {
  return isJsonObject(body["response"]) ? body["response"] : {};
}

function parse(data: string, event: string | undefined): JsonObject {
  let value: Json;
  try {
    value = parseWithinDepth(data);
  } catch (cause) {
    // An error may come as plain text.
    if (event === "error") return { error: data };
    throw new GatewayError("upstream_unreachable", "The provider sent an event that is not JSON", {
      cause,
    });
  }
  return eventObject(value) ?? {};
}
