/**
 * Reads a Messages stream as conversation events.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-stream.
 *
 * - Folder `core/wire/messages/stream/`: streams of the Messages style.
 * - In: frames of Messages servers, or events of a conversation.
 * - Out: events of a conversation, or frames for Messages clients; usage and state of native streams.
 * - Never: awaits, or imports the folder of another style.
 */
import type { ToolUses } from "../../../billing/usage/hosted_tools.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { GatewayError } from "../../../lib/errors/errors.ts";
import { bufferedBlockBytes, maxToolCallsPerAnswer } from "../../contract/limits.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { EventSink, RepeatableText, StreamDecoder } from "../../stream/dialect.ts";
import { eventJson, eventObject, type UsageReport } from "../../stream/reading.ts";
import { FrameTemplate } from "../../../lib/json/json_literal.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { readCitation, readCitations } from "../answer/cited_text.ts";
import {
  countBlockUse,
  enterMessagesUsage,
  firstMessagesUsage,
  type MessagesCounts,
  readMessagesStop,
} from "../answer/answer_reading.ts";
import { answerArguments, countReportedUses, ToolUseCount } from "../../tools/tool_fields.ts";
import type { HostedCall } from "../../conversation/mod.ts";
import { hostedResultId, ranBy, readHostedUse, withHostedResult } from "../answer/hosted_calls.ts";
import { neutralTier, ranInside } from "../answer/decode_answer.ts";
import { isKnownEvent, shapedEvent, UnknownNames } from "../../stream/answer_shape.ts";

// Reads hosted calls of one Messages stream: a call waits for its result, which is another block.

/** Reads the blocks of hosted tools in a Messages stream. */
class HostedStream {
  /** Blocks of calls whose input streams. */
  readonly #open = new Map<number, { readonly use: JsonObject; json: string }>();
  /** Calls whose results have not come, by id. */
  readonly #waiting = new Map<string, { readonly block: number; readonly call: HostedCall }>();
  #inputChars = 0;

  /** Takes the start of a block; returns whether it is a hosted call or the result of one that waits. */
  begin(block: number, start: JsonObject, emit: EventSink): boolean {
    const id = hostedResultId(start);
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id !== undefined && waiting !== undefined) {
      this.#waiting.delete(id);
      tell(waiting.block, id, withHostedResult(waiting.call, start), emit);
      return true;
    }
    if (readHostedUse(start, {}) === undefined) return false;
    if (this.#waiting.size >= maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The model makes too many tool calls at once");
    }
    this.#open.set(block, { use: start, json: "" });
    return true;
  }

  /** Takes a delta of a block: pieces of the input of a call. */
  input(block: number, { partial_json }: JsonObject): void {
    const open = this.#open.get(block);
    if (open === undefined || typeof partial_json !== "string") return;
    this.#inputChars += partial_json.length;
    if (this.#inputChars > bufferedBlockBytes) {
      throw new GatewayError(
        "upstream_unreachable",
        "The model's tool call is too long",
      );
    }
    open.json += partial_json;
  }

  /** Ends a block; returns whether it was a call, which now waits for its result. */
  end(block: number): boolean {
    const open = this.#open.get(block);
    if (open === undefined) return false;
    this.#open.delete(block);
    const { use, json } = open;
    const whole = isJsonObject(use.input) ? use.input : {};
    const input = json === "" ? whole : answerArguments({ kind: "json_text", text: json });
    const call = readHostedUse(use, input);
    const id = typeof use.id === "string" ? use.id : "";
    if (call !== undefined) this.#waiting.set(id, { block, call });
    return true;
  }

  /** Ends the answer: sends calls without a result. */
  finish(emit: EventSink): void {
    for (const [id, { block, call }] of this.#waiting) tell(block, id, call, emit);
    this.#waiting.clear();
  }
}

function tell(block: number, id: string, call: HostedCall, emit: EventSink): void {
  emit({ type: "hosted_call", block, ...ranBy(id), call });
  emit({ type: "block_end", block });
}

// What a Messages stream reports of its answer as a whole: token counts, the service tier and why it stopped.

/** Reads the token counts, the service tier and the stop of a Messages stream. */
class StreamTotals {
  #counts: MessagesCounts = {};
  #tier: string | undefined;
  #hasStop = false;

  /** Whether a stop event was sent. */
  get hasStop(): boolean {
    return this.#hasStop;
  }

  /** Reads the counts of `message_start`. */
  first(usage: Json | undefined): UsageReport {
    return this.#enter(firstMessagesUsage(usage), usage);
  }

  /** Reads the counts of `message_delta`: cumulative, they replace the earlier ones; what is absent keeps them. */
  next(usage: Json | undefined): UsageReport {
    return this.#enter(usage, usage);
  }

  #enter(usage: Json | undefined, given: Json | undefined): UsageReport {
    const { counts, report } = enterMessagesUsage(this.#counts, usage);
    this.#counts = counts;
    const tier = isJsonObject(given) ? given.service_tier : undefined;
    if (typeof tier === "string") this.#tier = neutralTier(tier);
    return report;
  }

  /** Sends why the answer stopped. A `delta` without a reason leaves it to the answer: a call, or its plain end. */
  stop(delta: JsonObject, hasCalls: boolean, emit: EventSink): void {
    this.#hasStop = true;
    const { stop_reason: raw } = delta;
    emit({
      type: "stop",
      stop: readMessagesStop(delta, hasCalls),
      ...(typeof raw === "string" ? { raw } : {}),
      ...(this.#tier === undefined ? {} : { serviceTier: this.#tier }),
    });
  }
}

/** A block that is open upstream. The vendor sends blocks one after another; at other servers calls may overlap. */
interface OpenBlock {
  readonly block: number;
  readonly isCall: boolean;
  /** Whether the block is of another kind: its deltas are not arguments of the caller's tools. */
  readonly foreign: boolean;
  /** Input that came complete with the start; the vendor sends `{}` there and the pieces later. */
  readonly wholeInput: string | undefined;
  sawInput: boolean;
  signature: string;
}

/** The text of an input that came with the start of its block; `undefined` for the empty one of the vendor. */
function textOfInput(input: Json | undefined): string | undefined {
  if (typeof input === "string") return input === "" ? undefined : input;
  const isEmpty = typeof input !== "object" || input === null || Object.keys(input).length === 0;
  return isEmpty ? undefined : stringifyExactly(input);
}

type DeltaKind = "text" | "reasoning" | "arguments";
const members = { text: "text", reasoning: "thinking", arguments: "partial_json" } as const;

/** Reads a Messages stream. */
export class MessagesStreamDecoder implements StreamDecoder {
  readonly unknown = new UnknownNames();
  readonly #signer: string;
  readonly #template = new FrameTemplate();
  /** The kind and block of the template's text; `undefined` until a shape is learnt. */
  #learntFor: { readonly kind: DeltaKind; readonly open: OpenBlock } | undefined;
  readonly #totals = new StreamTotals();
  #blocks = 0;
  /** By `index`. */
  readonly #open = new Map<number, OpenBlock>();
  /** The last index: events without an index have this one. */
  #lastIndex = 0;
  readonly #hosted = new HostedStream();
  readonly #toolUses = new ToolUseCount(true);
  #hasCalls = false;
  #started = false;
  #finished = false;
  #emit: EventSink = () => {};

  constructor(memory: ConversionMemory) {
    this.#signer = memory.reasoningSigner ?? "messages";
  }

  get toolUses(): ToolUses | undefined {
    return this.#toolUses.uses;
  }

  frame(event: string | undefined, data: string, emit: EventSink): void {
    if (this.#finished) return;
    this.#emit = emit;
    const learnt = this.#learntFor;
    const literal = learnt === undefined ? undefined : this.#template.match(data);
    if (learnt !== undefined && literal !== undefined) {
      if (literal !== '""') this.#piece(learnt.kind, learnt.open, literal);
      return;
    }
    if (data.trim() === "") return;
    const value = eventJson(event, data);
    const type = isJsonObject(value) && typeof value.type === "string" ? value.type : event;
    if (event === "error" || type === "error") {
      this.#finished = true;
      return emit({ type: "error", error: readProviderError(value) });
    }
    const given = eventObject(value);
    if (given === undefined) return;
    const name = event === type || isKnownEvent("messages", event) ? event : type;
    this.#event(name, shapedEvent("messages", name, given, this.unknown), data);
  }

  get repeatableText(): RepeatableText | undefined {
    const kind = this.#learntFor?.kind;
    const { textAt } = this.#template;
    if (kind === undefined || kind === "arguments" || textAt === 0) return undefined;
    return { kind, at: textAt };
  }

  bodyEnd(): void {
    // `message_stop` is the only clean end.
  }

  #event(type: string | undefined, value: JsonObject, data: string): void {
    switch (type) {
      case "content_block_delta":
        return this.#delta(value, data);
      case "content_block_start":
        return this.#blockStart(value);
      case "content_block_stop":
        return this.#end(this.#indexOf(value));
      case "message_start":
        return this.#messageStart(value);
      case "message_delta":
        return this.#messageDelta(value);
      case "message_stop":
        this.#finished = true;
        for (const index of this.#open.keys()) this.#end(index);
        this.#hosted.finish(this.#emit);
        // Some servers end an answer without a reason.
        if (!this.#totals.hasStop) this.#totals.stop({}, this.#hasCalls, this.#emit);
        return this.#emit({ type: "end" });
      case "ping":
        return this.#emit({ type: "ping" });
      default:
        return;
    }
  }

  /** Reads `message_start`. Some servers send it twice before the first block; within a block it means a broken answer. */
  #messageStart(value: JsonObject): void {
    if (this.#open.size > 0) {
      this.#finished = true;
      const message = "The provider began its answer a second time";
      return this.#emit({
        type: "error",
        error: new GatewayError("upstream_unreachable", message),
      });
    }
    const message = isJsonObject(value.message) ? value.message : {};
    const report = this.#totals.first(message.usage);
    countReportedUses(this.#toolUses, message.usage);
    if (!this.#started) {
      this.#emit({
        type: "start",
        ...(typeof message.id === "string" ? { id: message.id } : {}),
        ...(report.kind === "counts" ? { usage: report.usage } : {}),
      });
    }
    this.#started = true;
    this.#report(report);
  }

  /** Begins an answer whose first event the server left out. */
  #start(): void {
    if (!this.#started) this.#emit({ type: "start" });
    this.#started = true;
  }

  #messageDelta(value: JsonObject): void {
    this.#report(this.#totals.next(value.usage));
    countReportedUses(this.#toolUses, value.usage);
    const delta = isJsonObject(value.delta) ? value.delta : {};
    if (typeof delta.stop_reason === "string") {
      this.#start();
      this.#totals.stop(delta, this.#hasCalls, this.#emit);
    }
  }

  #report(report: UsageReport): void {
    if (report.kind === "counts") this.#emit({ type: "usage", usage: report.usage });
    else if (report.kind === "absurd") this.#emit({ type: "usage_rejected" });
  }

  #indexOf({ index }: JsonObject): number {
    if (typeof index === "number") this.#lastIndex = index;
    return this.#lastIndex;
  }

  #blockStart(value: JsonObject): void {
    const index = typeof value.index === "number" ? value.index : this.#lastIndex + 1;
    this.#lastIndex = index;
    // Some servers omit the ends of blocks. Only a call may stay open beside another block: its pieces have its index.
    for (const [other, { isCall }] of this.#open) {
      if (!isCall || other === index) this.#end(other);
    }
    this.#begin(index, isJsonObject(value.content_block) ? value.content_block : {});
  }

  #begin(index: number, start: JsonObject): OpenBlock {
    if (this.#open.size >= maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The model makes too many tool calls at once");
    }
    this.#start();
    const block = this.#blocks++;
    const { type, text, thinking, id, name, data, input } = start;
    // No tool can answer a call without a name.
    const isCall = type === "tool_use" && typeof name === "string" && name !== "";
    const known = type === "text" || type === "thinking" || type === "redacted_thinking" || isCall;
    const open: OpenBlock = {
      block,
      isCall,
      foreign: !known,
      wholeInput: textOfInput(input),
      sawInput: false,
      signature: typeof start.signature === "string" ? start.signature : "",
    };
    this.#open.set(index, open);
    this.#learntFor = undefined;
    if (type === "text") this.#startText(open, text, start.citations);
    else if (type === "thinking") this.#string("reasoning", open, thinking);
    else if (type === "redacted_thinking") this.#redacted(block, data);
    else if (isCall) this.#call(block, id, name);
    else {
      countBlockUse(this.#toolUses, start);
      if (!this.#hosted.begin(block, start, this.#emit)) {
        const kind = typeof type === "string" && type !== "" ? type : "unknown";
        const lost = ranInside(kind) ? {} : { isLost: true as const };
        this.#emit({ type: "foreign", block, kind, ...lost });
      }
    }
    return open;
  }

  #startText(open: OpenBlock, text: Json | undefined, citations: Json | undefined): void {
    this.#string("text", open, text);
    for (const citation of readCitations(citations)) {
      this.#emit({ type: "citation", block: open.block, citation });
    }
  }

  #redacted(block: number, data: Json | undefined): void {
    const proof = {
      kind: "redacted" as const,
      signer: this.#signer,
      data: typeof data === "string" ? data : "",
    };
    this.#emit({ type: "reasoning_proof", block, proof });
  }

  #call(block: number, id: Json | undefined, name: string): void {
    this.#hasCalls = true;
    this.#emit({ type: "call", block, id: typeof id === "string" ? id : "", name });
  }

  #delta(value: JsonObject, data: string): void {
    const delta = isJsonObject(value.delta) ? value.delta : {};
    const index = this.#indexOf(value);
    const open = this.#open.get(index) ?? this.#unannounced(index, delta);
    if (open === undefined) {
      if (typeof delta.type === "string") this.unknown.add(delta.type);
      return;
    }
    if (open.foreign) return this.#hosted.input(open.block, delta);
    switch (delta.type) {
      case "text_delta":
        return this.#learnt("text", open, delta.text, data);
      case "thinking_delta":
        return this.#learnt("reasoning", open, delta.thinking, data);
      case "input_json_delta":
        return this.#learnt("arguments", open, delta.partial_json, data);
      case "signature_delta":
        if (typeof delta.signature === "string") open.signature += delta.signature;
        return;
      case "citations_delta": {
        const citation = readCitation(delta.citation);
        if (citation !== undefined) this.#emit({ type: "citation", block: open.block, citation });
        return;
      }
      default:
        return;
    }
  }

  /**
   * Begins a block for text without one, or whose block ended when another began. Arguments are of the one call that is
   * open, whatever their index.
   */
  #unannounced(index: number, { type }: JsonObject): OpenBlock | undefined {
    if (type === "input_json_delta") {
      const calls = [...this.#open.values()].filter(({ isCall }) => isCall);
      return calls.length === 1 ? calls[0] : undefined;
    }
    const kind = type === "text_delta"
      ? "text"
      : type === "thinking_delta"
      ? "thinking"
      : undefined;
    return kind === undefined ? undefined : this.#begin(index, { type: kind });
  }

  #learnt(kind: DeltaKind, open: OpenBlock, text: Json | undefined, data: string): void {
    this.#string(kind, open, text);
    if (typeof text !== "string") return;
    this.#template.learn(data, members[kind], text);
    this.#learntFor = { kind, open };
  }

  #string(kind: DeltaKind, open: OpenBlock, text: Json | undefined): void {
    if (typeof text === "string" && text !== "") this.#piece(kind, open, stringifyExactly(text));
  }

  #piece(kind: DeltaKind, open: OpenBlock, json: string): void {
    if (kind === "arguments") open.sawInput = true;
    this.#emit({ type: kind, block: open.block, json });
  }

  #end(index: number): void {
    const open = this.#open.get(index);
    if (open === undefined) return;
    this.#open.delete(index);
    this.#learntFor = undefined;
    const { block, signature, wholeInput } = open;
    // A hosted call ends with its result.
    if (open.foreign && this.#hosted.end(block)) return;
    if (wholeInput !== undefined && !open.sawInput && !open.foreign) {
      const json = stringifyExactly(wholeInput);
      this.#emit({ type: "arguments", block, json });
    }
    if (signature !== "") {
      const proof = { kind: "signature" as const, signer: this.#signer, signature };
      this.#emit({ type: "reasoning_proof", block, proof });
    }
    this.#emit({ type: "block_end", block });
  }
}
