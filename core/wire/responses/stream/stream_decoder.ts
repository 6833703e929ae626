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
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { EventSink, StreamDecoder } from "../../stream/dialect.ts";
import { readModeration } from "../../content/moderation.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { readAnnotation } from "../answer/decode_answer.ts";
import { summaryBreak } from "../items/reasoning_item.ts";
import { readResponsesStop, responseEnd } from "../answer/stop_reasons.ts";
import type { StreamedItem } from "./streamed_item.ts";
import { StreamedItems } from "./streamed_items.ts";
import { countReportedUses } from "../../tools/tool_uses.ts";
import { ItemUses } from "../answer/tool_uses.ts";
import { readResponsesUsage } from "../answer/usage.ts";

/** Turns the events of an upstream into events of the conversation. */
export class ResponsesStreamDecoder implements StreamDecoder {
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
    const type = typeof body["type"] === "string" ? body["type"] : event ?? "";
    if (event === "error" || type === "error") return this.#fail(body, emit);
    this.#read(type, body, emit);
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
        this.#open(place, body["item"], emit);
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
