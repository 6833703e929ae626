/** A whole answer in the typed form between styles. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { ReportedUsage, TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type {
  ForeignBlock,
  HostedCall,
  HostedCallBlock,
  Placed,
  ReasoningBlock,
  ReasoningProof,
  TextBlock,
  ToolCallBlock,
} from "./blocks.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { Style } from "../contract/contract.ts";

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
  | SoundBlock
  | ForeignBlock;

/** A picture that the model made. */
export interface PictureBlock extends Placed {
  readonly type: "picture";
  /** A data URL, or the address of the picture. */
  readonly url: string;
}

/** Sound that the model made. */
export interface SoundBlock extends Placed {
  readonly type: "sound";
  /** As the provider names it, with parameters such as the rate of samples. */
  readonly mediaType: string;
  /** Plain base64. */
  readonly data: string;
}

/** Text of an answer, with its sources. */
export interface AnswerText extends TextBlock {
  readonly citations?: readonly Citation[];
  /** Likelihood of each token: entries as Chat and Responses both write them. */
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

// A streamed answer in the typed form between styles.

/**
 * One step of a streamed answer.
 *
 * `block` identifies a block: a number that rises in the order of first appearance. Deltas of different blocks may
 * interleave; `block_end` comes as soon as the decoder knows that nothing follows for a block.
 * Encoders of styles that allow one open block at a time go through `core/wire/stream/choices.ts`.
 *
 * `json` is a piece of text **as a JSON string literal, quotes included**: the hot path copies it from frame to
 * frame without decoding. Slow paths make it with `JSON.stringify`.
 */
export type StreamEvent =
  /** The answer begins. At most once, before any block. `usage`: the first counts, if known. */
  | { readonly type: "start"; readonly id?: string; readonly usage?: ReportedUsage }
  | {
    readonly type: "text";
    readonly block: number;
    readonly json: string;
    /** The entries of `logprobs` of a whole text for this piece, as the JSON text of a list that is not empty. */
    readonly logprobs?: string;
  }
  /** Refusal text. */
  | { readonly type: "refusal"; readonly block: number; readonly json: string }
  | { readonly type: "reasoning"; readonly block: number; readonly json: string }
  /** The proof of a reasoning block (which may have no text at all): at most one, the last event before its end. */
  | {
    readonly type: "reasoning_proof";
    readonly block: number;
    readonly proof: ReasoningProof;
  }
  /** A tool call begins; its id and whole name are known. */
  | {
    readonly type: "call";
    readonly block: number;
    readonly id: string;
    readonly itemId?: string;
    readonly name: string;
    /** `custom`: the argument pieces are free text, not JSON. */
    readonly custom?: true;
  }
  /** A piece of the argument text of a call. None at all means no arguments: `{}`. */
  | { readonly type: "arguments"; readonly block: number; readonly json: string }
  | { readonly type: "citation"; readonly block: number; readonly citation: Citation }
  /** A hosted tool was called and has returned: one event, sent when call and result are known. */
  | {
    readonly type: "hosted_call";
    readonly block: number;
    readonly style: Style;
    readonly id: string;
    readonly call: HostedCall;
  }
  /** A whole picture, as a data URL or an address. */
  | { readonly type: "picture"; readonly block: number; readonly url: string }
  /** Sound, or the next piece of it: each can be decoded by itself. */
  | {
    readonly type: "sound";
    readonly block: number;
    readonly mediaType: string;
    readonly data: string;
  }
  /** A block that only the upstream's style has. */
  | {
    readonly type: "foreign";
    readonly block: number;
    readonly kind: string;
    /** It is content of the answer that no client gets, as a film is. */
    readonly isLost?: true;
  }
  | { readonly type: "block_end"; readonly block: number }
  /** Cumulative counts so far: they replace the earlier ones and are never added to them. */
  | { readonly type: "usage"; readonly usage: ReportedUsage }
  /** A usage report came but was impossible. */
  | { readonly type: "usage_rejected" }
  /** Why the model stopped. Usage may follow; if several come, the last one counts. */
  | {
    readonly type: "stop";
    readonly stop: Stop;
    readonly raw?: string;
    readonly serviceTier?: string;
    readonly moderation?: Moderation;
  }
  /** A step of a further choice, if the client asked for several; it numbers its blocks by itself. */
  | { readonly type: "choice"; readonly choice: number; readonly event: StreamEvent }
  | { readonly type: "ping" }
  /** The style's own clean end. Nothing follows. */
  | { readonly type: "end" }
  /** The upstream reported an error inside the stream. Nothing follows. */
  | { readonly type: "error"; readonly error: GatewayError };
