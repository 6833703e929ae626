/**
 * Separates thinking from the answer for servers that send both in one text: `<think>…</think>` before the answer. Only
 * the beginning of the text is examined: elsewhere a model may write about these tags.
 */
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { ThinkTags } from "../contract/contract.ts";
import type { AnswerBlock, AnswerText, Choice, StreamEvent } from "../conversation/mod.ts";
import type { EventSink } from "../stream/dialect.ts";

const open = "<think>";
const close = "</think>";

/** Most characters of white space before the opening tag; more of it is an answer. Bounds what a stream holds back. */
const leadingChars = 64;

type TextPiece = Extract<StreamEvent, { readonly type: "text" }>;

/** One step of {@linkcode ThinkSplitter}. */
interface Split {
  readonly thinking: string;
  readonly text: string;
}

const nothing: Split = { thinking: "", text: "" };

/** Splits the text of an answer, which may come in any pieces, into thinking and answer. */
class ThinkSplitter {
  readonly #tags: ThinkTags;
  #phase: "before" | "opened" | "thinking" | "closed" | "text" = "before";
  /** Text held back: it may be a tag or the white space before it. */
  #pending = "";

  constructor(tags: ThinkTags) {
    this.#tags = tags;
  }

  /** Whether all further text belongs to the answer, unchanged. */
  get isOver(): boolean {
    return this.#phase === "text";
  }

  get isThinking(): boolean {
    return this.#phase === "opened" || this.#phase === "thinking";
  }

  take(piece: string): Split {
    let rest = this.#pending + piece;
    this.#pending = "";
    if (this.#phase === "before") {
      const begun = rest.trimStart();
      const isShort = rest.length - begun.length <= leadingChars;
      if (isShort && begun.length < open.length && open.startsWith(begun)) {
        this.#pending = rest;
        return nothing;
      }
      const opens = isShort && begun.startsWith(open);
      this.#phase = opens || this.#tags === "close" ? "opened" : "text";
      if (opens) rest = begun.slice(open.length);
    }
    if (this.#phase === "opened") {
      rest = rest.trimStart();
      if (rest === "") return nothing;
      this.#phase = "thinking";
    }
    return this.#phase === "thinking" ? this.#think(rest) : this.#say(rest);
  }

  #think(rest: string): Split {
    const at = rest.indexOf(close);
    if (at < 0) {
      const end = rest.length - partialTag(rest);
      this.#pending = rest.slice(end);
      return { thinking: rest.slice(0, end), text: "" };
    }
    this.#phase = "closed";
    return { ...this.#say(rest.slice(at + close.length)), thinking: rest.slice(0, at) };
  }

  /** Drops white space between thinking and answer. */
  #say(rest: string): Split {
    const text = this.#phase === "closed" ? rest.trimStart() : rest;
    if (text !== "") this.#phase = "text";
    return { thinking: "", text };
  }

  /** Ends the text: releases what was held back. */
  end(): Split {
    const rest = this.#pending;
    const thinks = this.isThinking;
    this.#pending = "";
    this.#phase = "text";
    return thinks ? { thinking: rest, text: "" } : { thinking: "", text: rest };
  }
}

/** Number of characters at the end that may be the beginning of a closing tag. */
function partialTag(text: string): number {
  for (let length = Math.min(close.length - 1, text.length); length > 0; length--) {
    if (close.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

/** Splits the first text of a whole answer. */
export function splitThinking(answer: Choice, tags: ThinkTags): Choice {
  const at = answer.blocks.findIndex((block) => block.type === "text" && block.refusal !== true);
  const block = answer.blocks[at];
  if (block?.type !== "text") return answer;
  const splitter = new ThinkSplitter(tags);
  const first = splitter.take(block.text);
  const last = splitter.end();
  const text = first.text + last.text;
  if (text === block.text) return answer;
  const thinking = first.thinking + last.thinking;
  const blocks: AnswerBlock[] = [];
  if (thinking !== "") blocks.push({ type: "reasoning", path: block.path, text: thinking });
  if (text !== "") blocks.push(saidAlone(block, text));
  return { ...answer, blocks: answer.blocks.toSpliced(at, 1, ...blocks) };
}

/** Drops log probabilities: they also cover the tokens of the thinking, so they no longer match the text. */
function saidAlone(block: AnswerText, text: string): AnswerText {
  const { logprobs: _, ...rest } = block;
  return { ...rest, text };
}

/**
 * Splits the events of one stream. Holds back only what may be a tag: at most {@linkcode leadingChars} and the
 * characters of a tag.
 */
export function thinkingSink(tags: ThinkTags, emit: EventSink): EventSink {
  const stream = new ThinkingStream(tags, emit);
  return (event) => stream.take(event);
}

class ThinkingStream {
  readonly #emit: EventSink;
  readonly #splitter: ThinkSplitter;
  /** The block of the first text, as the provider numbers it. */
  #block: number | undefined;
  #thinks = false;

  constructor(tags: ThinkTags, emit: EventSink) {
    this.#emit = emit;
    this.#splitter = new ThinkSplitter(tags);
  }

  take(event: StreamEvent): void {
    if (event.type === "text" && !this.#splitter.isOver) return this.#text(event);
    const ends = "block" in event
      ? event.block === this.#block && event.type === "block_end" || event.type === "call"
      : event.type === "stop" || event.type === "end";
    if (ends && this.#block !== undefined && !this.#splitter.isOver) {
      this.#tell(this.#block, this.#splitter.end());
      this.#endThinking(this.#block);
    }
    this.#emit("block" in event ? { ...event, block: said(event.block) } : event);
  }

  #text(event: TextPiece): void {
    const block = this.#block ??= event.block;
    const piece: string = JSON.parse(event.json);
    const split = this.#splitter.take(piece);
    // Nothing was held back or removed.
    if (split.text === piece) this.#emit({ ...event, block: said(block) });
    else this.#tell(block, split);
  }

  #tell(block: number, { thinking, text }: Split): void {
    if (thinking !== "") {
      this.#thinks = true;
      this.#emit({ type: "reasoning", block: thought(block), json: stringifyExactly(thinking) });
    }
    if (!this.#splitter.isThinking) this.#endThinking(block);
    if (text !== "") this.#emit({ type: "text", block: said(block), json: stringifyExactly(text) });
  }

  #endThinking(block: number): void {
    if (!this.#thinks) return;
    this.#thinks = false;
    this.#emit({ type: "block_end", block: thought(block) });
  }
}

/** Numbers blocks in order of appearance: thinking gets a number before that of its text. */
function thought(block: number): number {
  return 2 * block;
}

function said(block: number): number {
  return 2 * block + 1;
}
