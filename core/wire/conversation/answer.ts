/** A whole answer in the middle form. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { TokenUsage } from "../../billing/token_usage.ts";
import type { ForeignBlock, ReasoningBlock, TextBlock, ToolCallBlock } from "./blocks.ts";
import type { HostedCallBlock } from "./hosted.ts";

/** A whole (not streamed) answer. */
export interface Answer {
  /** The upstream's id, for the log; clients get one in their own form. */
  readonly id?: string;
  readonly blocks: readonly AnswerBlock[];
  readonly stop: Stop;
  /** Absent when the upstream reported none, or nonsense. */
  readonly usage?: TokenUsage;
  readonly serviceTier?: string;
  readonly moderation?: Moderation;
}

/** What a moderation model that the client asked for says of prompt and answer, each as Responses writes it. */
export interface Moderation {
  readonly input: JsonObject;
  readonly output: JsonObject;
}

/** A block of an answer. */
export type AnswerBlock =
  | AnswerText
  | ReasoningBlock
  | ToolCallBlock
  | HostedCallBlock
  | ForeignBlock;

/** Text of an answer, with its sources. */
export interface AnswerText extends TextBlock {
  readonly citations?: readonly Citation[];
  /** How likely each token was: entries as Chat and Responses both write them. */
  readonly logprobs?: readonly JsonObject[];
}

/** A web source of a text. Other kinds of citation live only in their own style. */
export interface Citation {
  readonly url: string;
  /** Empty where the server names none. */
  readonly title: string;
  /** Words of the source that the text rests on. */
  readonly citedText?: string;
  /** What of its block's text rests on the source. Absent: the server placed the source on the whole text. */
  readonly span?: TextSpan;
}

/** A part of a text, counted as its server counts: passed on as it is, moved by what stands before the block. */
export interface TextSpan {
  readonly start: number;
  /** The first place behind it. */
  readonly end: number;
}

/** Why an answer ended. */
export type StopReason =
  | "end"
  /** The cap on output tokens, or the context window, was reached. */
  | "length"
  | "stop_sequence"
  | "tool_calls"
  /** The model or a filter refused. */
  | "refusal"
  /** A hosted tool loop paused; the client may send the answer back to go on. */
  | "pause";

/** The end of an answer, with its details. */
export interface Stop {
  readonly reason: StopReason;
  /** Which stop sequence it was, where the style says so. */
  readonly sequence?: string;
  /** Why it was refused, in the vendor's words. */
  readonly explanation?: string;
}
