/**
 * One output item of a Responses stream that is being read: turns its content into events of the conversation. Content
 * may come by deltas or with the whole item at its end; what the deltas left out is taken from the whole item.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { AnswerBlock, Citation } from "../../conversation/mod.ts";
import type { EventSink } from "../../stream/dialect.ts";
import { decodeOutputItem, objects, ranInside, readAnnotations } from "../answer/decode_answer.ts";
import { GatewayError } from "../../../lib/errors/errors.ts";
import { isHostedItem } from "../items/hosted_items.ts";
import { readItemProof } from "../items/output_items.ts";

/** State that the items of one answer share. */
export interface AnswerState {
  /** Signer who can verify the proofs of reasoning in this answer. */
  readonly signer: string;
  /** Whether the answer has called a tool of the client. */
  hasCalls: boolean;
  /** The refusal so far. */
  refusal: string;
  /** Numbers the next block of the conversation. */
  newBlock(): number;
}

/**
 * Record of a text that came by deltas, to be compared with the whole text at its end. It keeps no text: a hash of all
 * characters, and one of those that are no white space, in which servers differ.
 */
class Told {
  #chars = 0;
  #hash = 0;
  #solidChars = 0;
  #solidHash = 0;

  take(text: string): void {
    let hash = this.#hash;
    let solidHash = this.#solidHash;
    let solidChars = this.#solidChars;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      hash = Math.imul(hash ^ unit, 0x01000193);
      if (unit <= 0x20) continue;
      solidChars++;
      solidHash = Math.imul(solidHash ^ unit, 0x01000193);
    }
    this.#hash = hash;
    this.#solidHash = solidHash;
    this.#solidChars = solidChars;
    this.#chars += text.length;
  }

  /** Whether the deltas brought the whole text. */
  isAllOf(whole: string): boolean {
    const all = new Told();
    all.take(whole);
    return this.#isSolidlyAs(all);
  }

  #isSolidlyAs(other: Told): boolean {
    return other.#solidHash === this.#solidHash && other.#solidChars === this.#solidChars;
  }

  /**
   * Returns what the deltas left out at the end of the whole text.
   *
   * @throws {GatewayError} `upstream_unreachable` if they left out or confused something before
   */
  missingOf(whole: string): string {
    const all = new Told();
    all.take(whole);
    if (this.#isSolidlyAs(all)) return "";
    if (whole.length > this.#chars) {
      const beginning = new Told();
      beginning.take(whole.slice(0, this.#chars));
      if (beginning.#hash === this.#hash) return whole.slice(this.#chars);
    }
    // A server may shorten what it repeats.
    if (all.#solidChars < this.#solidChars) return "";
    throw new GatewayError(
      "upstream_unreachable",
      "The provider's stream lost a part of its answer",
    );
  }
}

/** The JSON literal of an empty string: no event is sent for it. */
const emptyText = '""';

function placeOf(index: Json | undefined): number {
  return typeof index === "number" ? index : 0;
}

/** The text of a part of one of the two usual types. */
function textOfPart({ type, text, refusal }: JsonObject): Json | undefined {
  if (type === "refusal") return refusal;
  return type === "output_text" && !refusal ? text : undefined;
}

function hasSummary({ summary }: JsonObject): boolean {
  return Array.isArray(summary) && summary.length > 0;
}

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
  /** Records of the deltas of a message's parts by their place, or of a call or of reasoning at 0. */
  readonly #told = new Map<number, Told>();
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
      const lost = ranInside.has(type) ? {} : { isLost: true as const };
      emit({ type: "foreign", block: this.#block, kind: type, ...lost });
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
    this.#tell(placeOf(body["content_index"]), body["delta"]);
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
    this.#tell(0, delta);
    emit({ type: "reasoning", block: this.#block, json });
  }

  /** Takes a delta of a call's arguments. */
  arguments(delta: Json | undefined, emit: EventSink): void {
    const json = literal(delta);
    if (this.#nameless || json === emptyText) return;
    this.#tell(0, delta);
    emit({ type: "arguments", block: this.#block, json });
  }

  #tell(place: number, delta: Json | undefined): void {
    if (typeof delta !== "string") return;
    let told = this.#told.get(place);
    if (told === undefined) this.#told.set(place, told = new Told());
    told.take(delta);
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
    this.#takeWhole(value, emit);
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
    const part = placeOf(index);
    const known = this.#parts.get(part);
    if (known !== undefined) return known;
    const block = this.#parts.size === 0 ? this.#block : this.#answer.newBlock();
    for (const earlier of this.#parts.values()) emit({ type: "block_end", block: earlier });
    this.#parts.clear();
    this.#parts.set(part, block);
    this.#cited = 0;
    return block;
  }

  /** Takes of the whole item what did not come by deltas. */
  #takeWhole(value: JsonObject, emit: EventSink): void {
    if (this.#isTold(value)) return;
    this.#blocksOf(value).forEach(([part, block]) => {
      const told = this.#told.get(block.type === "text" ? part : 0);
      if (told === undefined) return this.#takeBlock(block, part, emit);
      if (block.type === "text") {
        const json = stringifyExactly(told.missingOf(block.text));
        if (json === emptyText) return;
        emit({
          type: block.refusal === true ? "refusal" : "text",
          block: this.#openPart(part),
          json,
        });
      } else if (block.type === "reasoning") {
        // The other form of the reasoning may be all that the item has.
        if (this.#reasoning === "full" && hasSummary(value)) return;
        const json = stringifyExactly(told.missingOf(block.text));
        if (json !== emptyText) emit({ type: "reasoning", block: this.#block, json });
      } else if (block.type === "tool_call" && block.input.kind !== "object") {
        const json = stringifyExactly(told.missingOf(block.input.text));
        if (json !== emptyText) emit({ type: "arguments", block: this.#block, json });
      }
    });
  }

  /** Whether all of a message or call plainly came by deltas, as nearly always. */
  #isTold({ type, content, arguments: json, input }: JsonObject): boolean {
    if (this.#told.size === 0 || type !== this.#type) return false;
    if (type === "message") {
      return Array.isArray(content) &&
        content.every((part, at) => isJsonObject(part) && this.#isToldAt(at, textOfPart(part)));
    }
    if (type === "function_call") return this.#isToldAt(0, json);
    return type === "custom_tool_call" && this.#isToldAt(0, input);
  }

  #isToldAt(place: number, text: Json | undefined): boolean {
    return typeof text === "string" && text !== "" &&
      this.#told.get(place)?.isAllOf(text) === true;
  }

  /** The blocks of an item, each with the place of its part. */
  #blocksOf(item: JsonObject): (readonly [part: number, block: AnswerBlock])[] {
    const { signer } = this.#answer;
    const { content } = item;
    if (this.#type !== "message" || !Array.isArray(content)) {
      return decodeOutputItem(item, "", signer).map((block) => [0, block] as const);
    }
    return content.flatMap((part, at) =>
      decodeOutputItem({ ...item, content: [part] }, "", signer).map((block) =>
        [at, block] as const
      )
    );
  }

  /** The block of a part that has not been closed. */
  #openPart(part: number): number {
    const block = this.#parts.get(part);
    if (block !== undefined) return block;
    throw new GatewayError(
      "upstream_unreachable",
      "The provider's stream lost a part of its answer",
    );
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
    } else if (block.type === "foreign" && this.#type === "message") {
      const at = this.#partBlock(part, emit);
      emit({ type: "foreign", block: at, kind: block.kind, isLost: true });
    } else if (block.type === "hosted_call") {
      const { style, id, call } = block;
      emit({ type: "hosted_call", block: this.#block, style, id, call });
    } else if (block.type === "tool_call" && block.input.kind !== "object") {
      if (block.input.text === "") return;
      emit({ type: "arguments", block: this.#block, json: stringifyExactly(block.input.text) });
    }
  }
}
