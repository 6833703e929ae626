/** A whole answer in the typed form between styles. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { TokenUsage } from "../../billing/tokens/token_usage.ts";
import type { ForeignBlock, ReasoningBlock, TextBlock, ToolCallBlock } from "./blocks.ts";
import type { HostedCallBlock } from "./hosted.ts";
import type { Placed } from "./placed.ts";

/** One answer of those that the client asked for: its content, and why it ended. */
export interface Choice {
  /** Its number among them. Absent: 0. */
  readonly index?: number;
  readonly blocks: readonly AnswerBlock[];
  readonly stop: Stop;
}

/** A whole (not streamed) answer: the first choice, and what is common to all. */
export interface Answer extends Choice {
  /** The upstream's id, for the log; clients get one in their own form. */
  readonly id?: string;
  /** The further choices in rising order, if the client asked for several. */
  readonly others?: readonly Choice[];
  /** Absent if the upstream reported none, or an impossible one. */
  readonly usage?: TokenUsage;
  readonly serviceTier?: string;
  readonly moderation?: Moderation;
}

/** Verdicts of the requested moderation model on prompt and answer, each as Responses writes it. */
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
  | PictureBlock
  | ForeignBlock;

/** A picture that the model made. */
export interface PictureBlock extends Placed {
  readonly type: "picture";
  /** A data URL, or the address of the picture. */
  readonly url: string;
}

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
  /** The passage of the source that supports the text. */
  readonly citedText?: string;
  /** The part of the block's text that cites the source. Absent: the whole text. */
  readonly span?: TextSpan;
}

/** A range of a text in the server's unit of counting, shifted by the length of the text before the block. */
export interface TextSpan {
  readonly start: number;
  /** The first position after the range. */
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
  /** A hosted tool loop paused; the client may send the answer back to continue it. */
  | "pause"
  /** The provider gave a reason that the gateway does not know; it must not look like a regular end. */
  | "unknown";

/** The end of an answer, with its details. */
export interface Stop {
  readonly reason: StopReason;
  /** The provider's name of an `unknown` reason. */
  readonly name?: string;
  /** The stop sequence that was reached, if the style reports it. */
  readonly sequence?: string;
  /** Why it was refused, in the vendor's words. */
  readonly explanation?: string;
}
