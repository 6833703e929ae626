/**
 * The typed middle form between wire styles: what a chat call and its answer mean, whatever the wire says.
 *
 * A request of one style is decoded into a {@linkcode Conversation} and encoded from it into another. Each style
 * knows only itself and this file. Nothing here is ever stored: it lives as long as one call.
 *
 * Every part remembers its `path` in the client's own request (`messages.3.content.0`), so that whoever cannot
 * carry it names it in the client's words.
 */
import type { GatewayError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { TokenUsage } from "../money/token_usage.ts";
import type { Style } from "./contract.ts";

// ---------------------------------------------------------------------------------------------- requests

/** A whole request. Lists are in the client's order; an absent wish is an absent key, never a default. */
export interface Conversation {
  /** The style it was decoded from. */
  readonly from: Style;
  /** The model name the client sent. */
  readonly model: string;
  /** Instructions before the first turn: Messages `system`, leading Chat system messages, Responses `instructions`. */
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  /** `false`: at most one tool call per answer. Absent: the vendor's default (several). */
  readonly parallelTools?: boolean;
  /** Cap on output tokens, reasoning included. */
  readonly maxTokens?: number;
  readonly sampling: Sampling;
  readonly reasoning?: ReasoningWish;
  readonly output?: OutputFormat;
  readonly stream: boolean;
  /** Chat only: tools came as `functions`; the answer must name its call `function_call`. */
  readonly legacyFunctions?: true;
  /** Chat only: the client asked for a usage chunk. */
  readonly streamUsage: boolean;
  /** Who the client's own user is, in the client's words. */
  readonly endUser?: { readonly id: string; readonly path: string };
  readonly serviceTier?: { readonly tier: string; readonly path: string };
  /** Messages' top-level mark: the vendor marks the last block that can be cached. */
  readonly automaticCache?: CacheMark;
  /** Everything else that was sent. The encoder carries what it knows by name, the rest is handled as marked. */
  readonly extras: readonly Extra[];
  /** Paths of what decoding itself could not carry or had to approximate. */
  readonly notes: readonly string[];
}

/**
 * A field without a place of its own in the conversation. `name` is the field's own name in its style
 * (`seed`, `verbosity`, `metadata`, `store`, `prompt_cache_key` …): an encoder of a style that has the same field
 * carries `value`; for every other encoder `otherwise` decides.
 */
export interface Extra {
  readonly name: string;
  readonly path: string;
  readonly value: Json;
  /** `ignore`: harmless, drop in silence. `note`: drop and name it. `refuse`: 400 that names it. */
  readonly otherwise: "ignore" | "note" | "refuse";
}

export interface Turn {
  /** `system` here is an instruction in the middle of the conversation; leading ones are in `system` above. */
  readonly role: "user" | "assistant" | "system";
  /** Tool results stand in `user` turns, before any other block once {@linkcode Conversation} is arranged. */
  readonly blocks: readonly Block[];
  readonly path: string;
}

export type Block =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | SearchResultBlock
  | ReasoningBlock
  | ToolCallBlock
  | ToolResultBlock
  | ForeignBlock;

/** A prompt-cache mark on a block or tool. */
export interface CacheMark {
  /** Absent: the vendor's default (5 minutes at Messages). */
  readonly ttl?: "5m" | "1h";
}

interface Placed {
  readonly path: string;
  readonly cache?: CacheMark;
}

export interface TextBlock extends Placed {
  readonly type: "text";
  readonly text: string;
  /** The text is the model's refusal (Chat and Responses have a part of their own for it). */
  readonly refusal?: true;
}

export type MediaSource =
  /** `data` is plain base64, `mediaType` lower case and without parameters. */
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "url"; readonly url: string }
  /** Uploaded to the vendor of `style`: worth nothing anywhere else. */
  | { readonly kind: "file"; readonly style: Style; readonly id: string };

export interface ImageBlock extends Placed {
  readonly type: "image";
  readonly source: MediaSource;
  /** `auto`, `low`, `high` … as sent. */
  readonly detail?: string;
}

export interface DocumentBlock extends Placed {
  readonly type: "document";
  readonly source:
    | MediaSource
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "blocks"; readonly blocks: readonly (TextBlock | ImageBlock)[] };
  /** Title or file name. */
  readonly title?: string;
  readonly context?: string;
  /** The client asked for citations into this document. */
  readonly citations?: boolean;
}

export interface SearchResultBlock extends Placed {
  readonly type: "search_result";
  readonly source: string;
  readonly title: string;
  readonly texts: readonly string[];
  readonly citations?: boolean;
}

/**
 * What the model thought, as far as it shows it, and the proof that its maker wants back.
 * The proof is opaque: carried byte for byte, and only back to `signer`.
 */
export interface ReasoningBlock extends Placed {
  readonly type: "reasoning";
  /** May be empty: hidden or redacted reasoning still has its proof. */
  readonly text: string;
  readonly proof?: ReasoningProof;
}

/**
 * Who can read a proof. `messages`: the vendor family behind Messages-style thinking signatures. `responses`: the
 * organisation behind a Responses upstream. Any other word: what a route's facts name as `reasoning_signer`.
 */
export type ReasoningSigner = string;

export type ReasoningProof =
  /** A thinking block's `signature`. */
  | { readonly kind: "signature"; readonly signer: ReasoningSigner; readonly signature: string }
  /** A redacted thinking block's `data`; its text is empty. */
  | { readonly kind: "redacted"; readonly signer: ReasoningSigner; readonly data: string }
  /** A Responses reasoning item. `summary`: the item's own parts when there were several. */
  | {
    readonly kind: "item";
    readonly signer: ReasoningSigner;
    readonly id?: string;
    readonly encryptedContent?: string;
    readonly summary?: readonly string[];
  }
  /** One entry of a Chat-style `reasoning_details` list, as received. */
  | { readonly kind: "detail"; readonly signer: ReasoningSigner; readonly detail: JsonObject };

export interface ToolCallBlock extends Placed {
  readonly type: "tool_call";
  /** As sent, also when illegal elsewhere; empty when the style gave none. Encoders map it by a pure function. */
  readonly id: string;
  /** Responses: the item's own id beside the call id. */
  readonly itemId?: string;
  readonly name: string;
  readonly input: ToolInput;
}

/** What a tool is called with. */
export type ToolInput =
  /** A function's arguments: an object. */
  | { readonly kind: "object"; readonly value: JsonObject }
  /** Arguments as text that is not (or not yet) known to be a JSON object; may be empty or cut. */
  | { readonly kind: "json_text"; readonly text: string }
  /** A custom tool's free text. */
  | { readonly kind: "text"; readonly text: string };

export type ToolResultContent =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | SearchResultBlock
  | ForeignBlock;

export interface ToolResultBlock extends Placed {
  readonly type: "tool_result";
  /** The call's id as sent; empty when the style gave none (then order decides). */
  readonly callId: string;
  /** Old Chat `function` messages name the function instead of the call. */
  readonly name?: string;
  /** May be empty. */
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
  /** The call was to a custom tool (Responses has an item type of its own for its result). */
  readonly custom?: true;
}

/**
 * Something only its own style can express: hosted tool calls and their results, audio, containers, unknown parts.
 * Never turned into tool calls elsewhere.
 */
export interface ForeignBlock extends Placed {
  readonly type: "foreign";
  readonly style: Style;
  /** The wire's own `type`. */
  readonly kind: string;
  readonly raw: JsonObject;
  /** A plain rendering, where one helps the next model (search results as text). */
  readonly text?: string;
  /** What an encoder of another style does when there is no `text`. */
  readonly otherwise: "ignore" | "note" | "refuse";
}

export type Tool = FunctionTool | CustomTool | HostedTool;

export interface FunctionTool extends Placed {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments, untouched. Absent: the function takes none. */
  readonly schema?: JsonObject;
  /** Only when the client set it. */
  readonly strict?: boolean;
}

/** A tool that takes free text instead of a JSON object. */
export interface CustomTool extends Placed {
  readonly type: "custom";
  readonly name: string;
  readonly description?: string;
  /** Grammar of the input in the flat form `{type:"text"}` or `{type:"grammar", syntax, definition}`. */
  readonly format?: JsonObject;
}

/** A tool whose schema belongs to the vendor of `style`. */
export interface HostedTool extends Placed {
  readonly type: "hosted";
  readonly style: Style;
  /** The wire's own `type`, e.g. `web_search_20250305`, `bash_20250124`, `file_search`. */
  readonly kind: string;
  /** Name under which it is called, where it has one. */
  readonly name?: string;
  /** `server`: the vendor runs it inside the call. `client`: the caller must run it. */
  readonly runs: "server" | "client";
  readonly raw: JsonObject;
}

export type ToolChoice =
  | {
    readonly type: "auto" | "required";
    /** Only these tools of the list may be used. */
    readonly allowed?: readonly string[];
    readonly path: string;
  }
  | { readonly type: "none"; readonly path: string }
  /** One tool is forced: function, custom, or hosted by its name or kind. */
  | { readonly type: "tool"; readonly name: string; readonly path: string };

export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stop?: readonly string[];
}

export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** How much the model shall think. */
export interface ReasoningWish {
  /** `adaptive`: the model decides. `off`: not at all. `on`: yes, with `budgetTokens` or `effort`. */
  readonly mode?: "off" | "on" | "adaptive";
  readonly effort?: Effort;
  readonly budgetTokens?: number;
  /** How the thinking is shown: Messages `display`, Responses `summary`, in the client's word. */
  readonly display?: string;
  /** The client wants encrypted reasoning back to replay it (Responses `include`). */
  readonly encrypted?: boolean;
  /** Path of the field that carried it. */
  readonly path: string;
}

export type OutputFormat =
  | { readonly type: "json_object"; readonly path: string }
  | {
    readonly type: "json_schema";
    readonly schema: JsonObject;
    readonly name?: string;
    readonly description?: string;
    readonly strict?: boolean;
    readonly path: string;
  };

// ----------------------------------------------------------------------------------------------- answers

/** A whole (not streamed) answer. */
export interface Answer {
  /** The upstream's id, for the log; clients get one in their own form. */
  readonly id?: string;
  readonly blocks: readonly AnswerBlock[];
  readonly stop: Stop;
  /** Absent when the upstream reported none, or nonsense. */
  readonly usage?: TokenUsage;
  readonly serviceTier?: string;
}

export type AnswerBlock = AnswerText | ReasoningBlock | ToolCallBlock | ForeignBlock;

export interface AnswerText extends TextBlock {
  readonly citations?: readonly Citation[];
}

/** A web source of a text. Other kinds of citation live only in their own style. */
export interface Citation {
  readonly url: string;
  readonly title: string;
  readonly citedText?: string;
}

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

export interface Stop {
  readonly reason: StopReason;
  /** Which stop sequence it was, where the style says so. */
  readonly sequence?: string;
  /** Why it was refused, in the vendor's words. */
  readonly explanation?: string;
}

// ----------------------------------------------------------------------------------------------- streams

/**
 * One step of a streamed answer.
 *
 * Blocks are told apart by `block`: a number that the decoder hands out, rising by first appearance. Deltas of
 * different blocks may interleave; `block_end` comes as soon as the decoder knows that nothing follows for a block.
 * Encoders of styles that allow one open block at a time go through `sequencer.ts`.
 *
 * `json` is a piece of text **as a JSON string literal, quotes included**: the hot path copies it from frame to
 * frame without decoding. Slow paths make it with `JSON.stringify`.
 */
export type StreamEvent =
  /** First sign of life of the model. At most once, before any block. `usage`: first counts, if known. */
  | { readonly type: "start"; readonly id?: string; readonly usage?: TokenUsage }
  | { readonly type: "text"; readonly block: number; readonly json: string }
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
  /** Something only the upstream's style can show, e.g. a hosted tool call: told so that it is never mistaken. */
  | { readonly type: "foreign"; readonly block: number; readonly kind: string }
  | { readonly type: "block_end"; readonly block: number }
  /** Cumulative counts so far: replace what was there, never add. */
  | { readonly type: "usage"; readonly usage: TokenUsage }
  /** A usage report was there but absurd. */
  | { readonly type: "usage_rejected" }
  /** Why the model stopped. Not the end: usage may follow. The last one counts. */
  | {
    readonly type: "stop";
    readonly stop: Stop;
    readonly raw?: string;
    readonly serviceTier?: string;
  }
  | { readonly type: "ping" }
  /** The style's own clean end. Nothing follows. */
  | { readonly type: "end" }
  /** The upstream reported an error inside the stream. Nothing follows. */
  | { readonly type: "error"; readonly error: GatewayError };
