/**
 * Reads a Gemini stream as conversation events.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-stream.
 *
 * - Folder `core/wire/gemini/stream/`: streams of the Gemini style.
 * - In: frames of Gemini servers, or events of a conversation.
 * - Out: events of a conversation, or frames for Gemini clients; usage and state of native streams.
 * - Never: awaits, or imports the folder of another style.
 */
import type { ToolUses } from "../../../billing/usage/hosted_tools.ts";
import { defined } from "../../../lib/base/defined.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { GatewayError } from "../../../lib/errors/errors.ts";
import { maxToolCallsPerAnswer } from "../../contract/limits.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type {
  AnswerBlock,
  Citation,
  HostedCallBlock,
  ReasoningBlock,
  Stop,
} from "../../conversation/mod.ts";
import type { EventSink, StreamDecoder } from "../../stream/dialect.ts";
import { shapedEvent, UnknownNames } from "../../stream/answer_shape.ts";
import { eventJson, eventObject } from "../../stream/reading.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { indexedChoices } from "../../stream/choices.ts";
import {
  blockedStop,
  candidatesOf,
  countCandidateUses,
  finishReasonOf,
  partsOf,
  readGeminiStop,
  readGeminiUsage,
} from "../answer/answer_reading.ts";
import { addHostedResult, otherParts } from "../answer/hosted_parts.ts";
import { readLogprobs } from "../answer/logprobs.ts";
import { readModelPart, readSources } from "../answer/decode_answer.ts";
import { google, provesThought } from "../answer/thought_signatures.ts";
import { ToolUseCount } from "../../tools/tool_fields.ts";
import { PartialCalls } from "./partial_calls.ts";

/**
 * Reads a Gemini stream. The style has no last event: a stream is complete if its body ends after a finish reason.
 */
export class GeminiStreamDecoder implements StreamDecoder {
  readonly unknown = new UnknownNames();
  readonly #toolUses: ToolUseCount;
  readonly #memory: ConversionMemory;
  /** Decoders of further candidates, by their index. */
  readonly #others = new Map<number, GeminiStreamDecoder>();
  #began = false;
  readonly #signer: string;
  #blocks = 0;
  #calls = 0;
  readonly #partialCalls = new PartialCalls();
  /** The text or thought that further pieces continue. */
  #open: { readonly kind: "text" | "reasoning"; readonly block: number } | undefined;
  /** Hosted calls whose results, or those of calls before them, have not come yet. */
  #hosted: HostedCallBlock[] = [];
  /** Hosted calls that have their result. */
  readonly #whole = new Set<HostedCallBlock>();
  #citations: readonly Citation[] = [];
  /**
   * The block of the last text, while it may still get the sources of the answer: they come with the last chunk, after
   * signatures, calls and whatever else follows the text.
   */
  #citable: number | undefined;
  readonly #mayHaveSources: boolean;
  /** The log probabilities of the chunk, for its first text, as the JSON text of a list. */
  #logprobs: string | undefined;
  #started = false;
  #finished = false;
  #finish: string | undefined;
  #stop: Stop | undefined;
  #emit: EventSink = () => {};

  constructor(memory: ConversionMemory, toolUses = new ToolUseCount(true)) {
    this.#memory = memory;
    this.#toolUses = toolUses;
    this.#signer = memory.reasoningSigner ?? google;
    this.#mayHaveSources = memory.withoutSources !== true;
  }

  get toolUses(): ToolUses | undefined {
    return this.#toolUses.uses;
  }

  frame(event: string | undefined, data: string, emit: EventSink): void {
    if (this.#finished) return;
    this.#emit = emit;
    const text = data.trim();
    if (text === "") return;
    // Servers that speak several styles end all of them alike.
    if (text === "[DONE]") return this.bodyEnd(emit);
    const chunk = eventJson(event, text);
    if (event === "error" || (isJsonObject(chunk) && isJsonObject(chunk.error))) {
      this.#finished = true;
      return emit({ type: "error", error: readProviderError(chunk) });
    }
    const given = eventObject(chunk);
    if (given !== undefined) this.#chunk(shapedEvent("gemini", undefined, given, this.unknown));
  }

  bodyEnd(emit: EventSink): void {
    const begun = this.#begun;
    if (this.#finished || begun.some((candidate) => candidate.#stop === undefined)) return;
    this.#emit = emit;
    this.#finished = true;
    for (const candidate of begun) candidate.#end();
    emit({ type: "end" });
  }

  #end(): void {
    this.#tellHosted(this.#hosted.length);
    // Quotations come without a tool, too.
    if (this.#open?.kind === "text") this.#citable = this.#open.block;
    this.#closeText();
    this.#endCitable(this.#citations);
    this.#tellStop();
  }

  /** The candidates that began; the first if none did, as for a blocked prompt. */
  get #begun(): GeminiStreamDecoder[] {
    const others = [...this.#others.values()];
    return this.#began || others.length === 0 ? [this, ...others] : others;
  }

  /** Returns the decoder of a candidate. */
  #candidateOf(index: number): GeminiStreamDecoder {
    if (index === 0) return this;
    const known = this.#others.get(index);
    if (known !== undefined) return known;
    const made = new GeminiStreamDecoder(this.#memory, this.#toolUses);
    made.#emit = (event) => this.#emit({ type: "choice", choice: index, event });
    this.#others.set(index, made);
    return made;
  }

  #chunk(chunk: JsonObject): void {
    if (!this.#started) {
      this.#started = true;
      const id = chunk.responseId;
      this.#emit({ type: "start", ...(typeof id === "string" ? { id } : {}) });
    }
    const candidates = indexedChoices(candidatesOf(chunk), this.#memory.choices ?? 1);
    for (const [index, candidate] of candidates) this.#candidateOf(index).#candidate(candidate);
    const usage = readGeminiUsage(chunk.usageMetadata);
    if (usage.kind === "counts") this.#emit({ type: "usage", usage: usage.usage });
    else if (usage.kind === "absurd") this.#emit({ type: "usage_rejected" });
    const blocked = blockedStop(chunk.promptFeedback);
    if (blocked !== undefined && this.#stop === undefined) {
      this.#stop = blocked;
      this.#finish = blocked.explanation;
      this.#tellStop();
    }
  }

  #candidate(candidate: JsonObject): void {
    this.#began = true;
    countCandidateUses(this.#toolUses, candidate);
    const logprobs = readLogprobs(candidate.logprobsResult);
    this.#logprobs = logprobs.length === 0 ? undefined : stringifyExactly(logprobs);
    for (const part of partsOf(candidate.content)) this.#parts(this.#partialCalls.take(part));
    const citations = readSources(candidate);
    if (citations.length > 0) this.#citations = citations;
    const finishReason = finishReasonOf(candidate);
    if (finishReason === undefined) return;
    this.#parts(this.#partialCalls.end());
    this.#finish = finishReason;
    this.#stop = readGeminiStop(finishReason, candidate.finishMessage, this.#calls > 0);
    this.#tellStop();
  }

  #tellStop(): void {
    if (this.#stop === undefined) return;
    // A call may follow the reason.
    const isCall = this.#stop.reason === "end" && this.#calls > 0;
    this.#emit({
      type: "stop",
      stop: isCall ? { ...this.#stop, reason: "tool_calls" } : this.#stop,
      ...(this.#finish === undefined ? {} : { raw: this.#finish }),
    });
  }

  #parts(parts: readonly JsonObject[]): void {
    for (const part of parts) this.#part(part);
  }

  #part(part: JsonObject): void {
    const blocks = readModelPart(part, "", this.#signer);
    if (blocks !== undefined) {
      for (const block of blocks) this.#block(block);
      return;
    }
    if (!this.#result(part)) { for (const block of otherParts(part, "")) this.#block(block); }
  }

  /** Takes a part that may be the result of calls; sends the calls that wait for none before them. */
  #result(part: JsonObject): boolean {
    const before = new Set(this.#hosted);
    const hosted: (AnswerBlock | HostedCallBlock)[] = [...this.#hosted];
    if (!addHostedResult(hosted, part)) return false;
    this.#hosted = hosted.filter((block) => block.type === "hosted_call");
    for (const block of this.#hosted) if (!before.has(block)) this.#whole.add(block);
    const waiting = this.#hosted.findIndex((block) => !this.#whole.has(block));
    this.#tellHosted(waiting === -1 ? this.#hosted.length : waiting);
    return true;
  }

  #block(block: AnswerBlock): void {
    if (block.type !== "hosted_call") this.#tellHosted(this.#hosted.length);
    switch (block.type) {
      case "text":
        return this.#text("text", block.text);
      case "reasoning":
        return this.#reasoning(block);
      case "tool_call":
        this.#closeText();
        if (++this.#calls > maxToolCallsPerAnswer) {
          throw new GatewayError(
            "upstream_unreachable",
            "The model makes too many tool calls at once",
          );
        }
        return this.#call(block.id, block.name, block.input);
      case "hosted_call":
        this.#closeText();
        if (this.#hosted.length >= maxToolCallsPerAnswer) this.#tellHosted(1);
        this.#hosted.push(block);
        return;
      case "picture":
        this.#closeText();
        // Blocks after an open text are buffered, and pictures are too large for that.
        this.#endCitable();
        this.#emit({ type: "picture", block: this.#blocks, url: block.url });
        return this.#emit({ type: "block_end", block: this.#blocks++ });
      case "sound": {
        this.#closeText();
        this.#endCitable();
        const { mediaType, data } = block;
        this.#emit({ type: "sound", block: this.#blocks, mediaType, data });
        return this.#emit({ type: "block_end", block: this.#blocks++ });
      }
      case "foreign":
        this.#closeText();
        this.#emit({
          type: "foreign",
          block: this.#blocks,
          kind: block.kind,
          ...(block.otherwise === "warn" ? { isLost: true } : {}),
        });
        return this.#emit({ type: "block_end", block: this.#blocks++ });
    }
  }

  #call(id: string, name: string, input: Extract<AnswerBlock, { type: "tool_call" }>["input"]) {
    const block = this.#blocks++;
    this.#emit({ type: "call", block, id, name });
    const text = input.kind === "object" ? stringifyExactly(input.value) : input.text;
    this.#emit({ type: "arguments", block, json: stringifyExactly(text) });
    this.#emit({ type: "block_end", block });
  }

  #reasoning(given: ReasoningBlock): void {
    const { text, proof } = given;
    if (text !== "") this.#text("reasoning", text);
    if (proof === undefined) return;
    // A signature without text is a block of its own, unless it proves the thought before it.
    const isOfThought = this.#open?.kind === "reasoning" && provesThought(given);
    if (text === "" && !isOfThought) this.#closeText();
    const block = this.#open?.block ?? this.#blocks++;
    this.#emit({ type: "reasoning_proof", block, proof });
    this.#emit({ type: "block_end", block });
    this.#open = undefined;
  }

  #text(kind: "text" | "reasoning", text: string): void {
    if (this.#open?.kind !== kind) {
      this.#closeText();
      if (kind === "text") this.#endCitable();
      this.#open = { kind, block: this.#blocks++ };
      if (kind === "text" && this.#mayHaveSources) this.#citable = this.#open.block;
    }
    const { block } = this.#open;
    const json = stringifyExactly(text);
    if (kind !== "text") return this.#emit({ type: kind, block, json });
    const logprobs = this.#logprobs;
    this.#logprobs = undefined;
    this.#emit({ type: kind, block, json, ...defined({ logprobs }) });
  }

  /** Closes the open block; a text that may get sources ends later. */
  #closeText(): void {
    if (this.#open === undefined) return;
    const { block } = this.#open;
    this.#open = undefined;
    if (block !== this.#citable) this.#emit({ type: "block_end", block });
  }

  /** Ends the last text, with its sources. */
  #endCitable(citations: readonly Citation[] = []): void {
    const block = this.#citable;
    if (block === undefined) return;
    this.#citable = undefined;
    for (const citation of citations) this.#emit({ type: "citation", block, citation });
    this.#emit({ type: "block_end", block });
  }

  /** Sends the first of the hosted calls that wait. */
  #tellHosted(count: number): void {
    if (count === 0) return;
    for (const told of this.#hosted.splice(0, count)) {
      this.#whole.delete(told);
      const { id, call, style } = told;
      const block = this.#blocks++;
      this.#emit({ type: "hosted_call", block, style, id, call });
      this.#emit({ type: "block_end", block });
    }
  }
}
