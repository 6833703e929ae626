/**
 * What the rest of the gateway knows of wire styles. Everything here is pure and synchronous: bytes and JSON in,
 * bytes and JSON out. The styles themselves live in one folder each; `dialects.ts` picks by name.
 */
import type { GatewayError } from "../errors.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { ReportedUsage, TokenUsage } from "../billing/token_usage.ts";
import type { BillableFeature } from "./billable_features/features.ts";
import type { RouteCapabilities } from "./capabilities.ts";
import type { FetchedDocuments } from "./fetched_documents.ts";
import type { Style } from "./style.ts";

export type { RouteCapabilities, Style };

/**
 * How a server marks thinking within the text of an answer. `pair`: the answer may begin with `<think>`. `close`: the
 * prompt ends in the opening tag already, so the answer begins with thinking and shows only the closing tag.
 */
export type ThinkTags = "pair" | "close";

/**
 * What is known of a stream so far. The pipe mutates it in place: one object per stream, read by whoever needs it.
 */
export interface StreamReading {
  /** Usage in disjoint buckets: the last report wins, reports are never added. */
  usage: ReportedUsage | undefined;
  /** A report was present but absurd (negative, not a whole number, beyond limits) and was ignored. */
  usageRejected: boolean;
  /** True once the model produced something a client can use: text, reasoning, a tool call, a refusal. */
  sawOutput: boolean;
  /** Bytes of text, reasoning and tool arguments seen, to count tokens when usage never comes or cannot be. */
  outputBytes: number;
  /** Those of the answer itself: text, refusals and tool arguments, without reasoning. */
  answerBytes: number;
  /**
   * `completed`: the style's own clean end. `error`: the upstream reported an error inside the stream.
   * `open`: neither yet; if the body ends in this state the stream was cut.
   */
  state: "open" | "completed" | "error";
  /** The error event, already in our terms, when `state` is `error`. */
  error: GatewayError | undefined;
  /**
   * The upstream's own word for why it stopped, e.g. `end_turn`, `tool_calls`. Where it gives several choices: once all
   * have stopped that began. Nothing of the answer follows then.
   */
  stopReason: string | undefined;
}

/**
 * Turns the upstream's stream into the client's, bytes in, bytes out, and reads it on the way.
 *
 * Order of calls: `push` any number of times, then exactly one of `end`, `fail` or `stopForLength`.
 * The terminal event is never returned by `push`: it is kept for `end`, so that the caller can settle in between.
 * Memory is constant apart from the one event that is being assembled (bounded by `maxSseEventBytes`).
 */
export interface StreamPipe {
  readonly reading: StreamReading;
  /**
   * Takes the next bytes of the upstream body; returns what the client gets now (often the same bytes, maybe empty).
   * The input view may be reused by its owner after the call, the output is the caller's.
   * Once `reading.state` is not `open`, the rest of the input is ignored and the caller should stop reading.
   *
   * @throws {GatewayError} `upstream_unreachable` when the bytes are no stream of the style or pass a bound
   */
  push(bytes: Uint8Array): Uint8Array;
  /**
   * The upstream body ended or `reading.state` left `open`. Returns the bytes that close the client's stream:
   * the held terminal event, or the client style's error event when the stream reported an error or was cut.
   * Sets `reading.state` to `completed` when a clean end of body is the style's end (Chat without `[DONE]`
   * after a finish reason).
   */
  end(): Uint8Array;
  /** Ends the client's stream with an error event of its style. Never a faked clean end. */
  fail(error: GatewayError): Uint8Array;
  /**
   * Ends the client's stream before the upstream did, as if the cap on output tokens was reached: open blocks are
   * closed, then come the style's stop reason for length and its terminal event. `undefined` where the style has no
   * such stop; `fail` is still possible then.
   *
   * @param usage what is billed so far, for styles that report it at the end
   */
  stopForLength(usage: TokenUsage): Uint8Array | undefined;
}

/** What both kinds of pipe need to know of the call. */
export interface PipeContext {
  /** The model name the client sent; answers carry it where the style has a model field that we write. */
  readonly clientModel: string;
  /** The provider's name of the model, which errors must not tell; absent where no provider is asked. */
  readonly upstreamModel?: string;
  readonly requestId: string;
  /** Chat clients: whether the client itself asked for `stream_options.include_usage`. */
  readonly clientWantsUsage: boolean;
  /** Seconds since 1970, for `created` fields that we must write. */
  readonly nowSeconds: number;
}

/** What a whole (not streamed) answer says about itself, read in the upstream's own style. */
export interface AnswerReading {
  readonly usage: ReportedUsage | undefined;
  readonly usageRejected: boolean;
  /** No text, no reasoning, no tool call, no refusal. With no usage either it is free (outcome table). */
  readonly empty: boolean;
  /** Bytes of text, reasoning and tool arguments, for the estimate when there is no usage. */
  readonly outputBytes: number;
  readonly stopReason: string | undefined;
  /** A 200 whose body is an error object in truth. */
  readonly error: GatewayError | undefined;
}

/** A request converted to the upstream's style. */
export interface ConvertedRequest {
  readonly body: JsonObject;
  /** Fields that could not be carried or were approximated, by their path in the client's request. */
  readonly dropped: readonly string[];
  /** What the answer's conversion must know of the request (renamed tools, custom tools …). Opaque. */
  readonly memory: ConversionMemory;
  /** Values of `anthropic-beta` that the body needs at a Messages vendor. */
  readonly betas: readonly string[];
}

/** A function's own name and that of its group. */
export interface GroupedName {
  readonly group: string;
  readonly name: string;
}

/**
 * What the way back must know of the way there. Opaque to everyone but the dialects; small, holds no prompt text.
 */
export interface ConversionMemory {
  /** Names of all functions and free-text tools, as the upstream knows them. */
  readonly offeredTools?: ReadonlySet<string>;
  /** Tool names that had to be changed: the upstream's name → the client's. */
  readonly toolNames?: ReadonlyMap<string, string>;
  /** Free-text tools (the client's names) that went out as functions with one text field `input`. */
  readonly customTools?: ReadonlySet<string>;
  /** Tools (the client's names) whose schema went out as the one property `input` of an object. */
  readonly wrappedTools?: ReadonlySet<string>;
  /** A tool that stands for the structured answer: its arguments are the answer's text. */
  readonly answerTool?: string;
  /** Functions that the client sent in groups, by the one name that stands for both (Responses `namespace`). */
  readonly groupedTools?: ReadonlyMap<string, GroupedName>;
  /** The function that stands for the client's own search for tools (Responses `tool_search`). */
  readonly searchTool?: string;
  /** The client speaks the old `functions` form of Chat and wants `function_call` back. */
  readonly legacyFunctions?: boolean;
  /** The provider leaves what the model thinks in its text, between these tags. */
  readonly thinkTags?: ThinkTags;
  /** Responses: members of the request that the answer repeats. */
  readonly echo?: JsonObject;
  /** Who signs the reasoning of the route that was asked. */
  readonly reasoningSigner?: string;
  readonly [key: string]: unknown;
}

/** What the conversion of a request depends on besides the request. */
export interface ConversionOptions {
  readonly capabilities: RouteCapabilities;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** Documents that were fetched for this route, since it takes only their data. */
  readonly documents?: FetchedDocuments;
  /** Cap on output tokens of the model: used where the target style must name one. */
  readonly maxOutputTokens: number;
  /** What the route allows beyond tokens: hosted tools of other kinds are not carried to it. Absent: everything. */
  readonly allow?: ReadonlySet<BillableFeature>;
}
