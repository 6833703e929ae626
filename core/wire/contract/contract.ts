/**
 * Types that the rest of the gateway uses for wire styles. All implementations are pure and synchronous: bytes and JSON
 * in, bytes and JSON out. Each style has a folder of its own; `core/wire/convert/dialects.ts` finds it by name.
 *
 * - Folder `core/wire/contract/`: what the gateway and the styles agree on: styles, capabilities, warnings, pipes,
 *   bounds of an answer.
 * - In: the names of styles and features, and the capabilities of a route.
 * - Out: types, resolved capabilities, lists of what was dropped.
 * - Never: imports another folder of `core/wire/`.
 */
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { ToolUses } from "../../billing/usage/hosted_tools.ts";
import type { ReportedUsage, TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type { BillableFeature } from "./features.ts";
import type { RouteCapabilities } from "./capabilities.ts";
import type { ProviderStyle, Style } from "./style.ts";
import type { RemoteKind } from "../../net/remote/guarded_fetch.ts";

/** The content of a URL. */
export interface FetchedDocument {
  readonly mediaType: string;
  readonly base64: string;
}

/** The fetched content, by URL. */
export interface FetchedDocuments {
  readonly get: (url: string, kind: RemoteKind) => FetchedDocument | undefined;
}

export type { ProviderStyle, RouteCapabilities, Style };

/**
 * Marks of thinking within the text of an answer. `pair`: the answer may begin with `<think>`. `close`: the
 * prompt ends in the opening tag already, so the answer begins with thinking and shows only the closing tag.
 */
export type ThinkTags = "pair" | "close";

/**
 * State of a pipe that reads a stream. The pipe mutates it in place: one object per stream, shared with its readers.
 */
export interface StreamReading {
  /** Usage in disjoint buckets: each counter of the largest report, never added. */
  usage: ReportedUsage | undefined;
  /** A report was present but absurd (negative, not a whole number, beyond limits) and was ignored. */
  usageRejected: boolean;
  /** Runs of its tools by the provider so far; `undefined` if nothing tells. */
  toolUses: ToolUses | undefined;
  /** The tier of service that ran the call, as the provider calls it; `undefined` if it reports none. */
  serviceTier: string | undefined;
  /** True once the model produced something a client can use: text, reasoning, a tool call, a refusal. */
  sawOutput: boolean;
  /** Bytes of text, reasoning and tool arguments seen, to estimate tokens if usage is missing or impossible. */
  outputBytes: number;
  /** Bytes of the answer itself: text, refusals and tool arguments, without reasoning. */
  answerBytes: number;
  /**
   * `completed`: the style's own clean end. `error`: the upstream reported an error inside the stream.
   * `open`: neither so far; a body that ends in this state was cut.
   */
  state: "open" | "completed" | "error";
  /** The error event as an error of the gateway, when `state` is `error`. */
  error: GatewayError | undefined;
  /** Content came that the client does not get: the failure of the answer if it gets nothing else. */
  lost?: GatewayError;
  /**
   * The upstream's stop reason in its own style, e.g. `end_turn`, `tool_calls`. With several choices it is set once all
   * that began have stopped. No content of the answer follows it.
   */
  stopReason: string | undefined;
}

/**
 * Turns the upstream's stream into the client's, bytes to bytes, and reads usage and state on the way.
 *
 * Order of calls: `push` any number of times, then exactly one of `end`, `fail` or `stopForLength`.
 * The terminal event is never returned by `push`: it is kept for `end`, so that the caller can settle in between.
 * Memory is constant apart from the one event that is being assembled (bounded by `maxSseEventBytes`).
 */
export interface StreamPipe {
  readonly reading: StreamReading;
  /**
   * Takes the next bytes of the upstream body; returns the client's next bytes (often the same, possibly none).
   * The input view may be reused by its owner after the call, the output is the caller's.
   * Once `reading.state` is not `open`, the rest of the input is ignored and the caller should stop reading.
   *
   * @throws {GatewayError} `upstream_unreachable` if the bytes are not a stream of the style or exceed a bound
   */
  push(bytes: Uint8Array): Uint8Array;
  /**
   * Like {@linkcode push}, but the output is lent: it may lie in `bytes`, or in memory that all pipes share, and is valid
   * until any pipe is used again. Absent where a pipe has no use for it.
   */
  pushLent?(bytes: Uint8Array): Uint8Array;
  /** Bytes that were read and not returned yet, since they may be the end; absent if there are none. */
  readonly heldBack?: Uint8Array;
  /**
   * The upstream body ended or `reading.state` left `open`. Returns the bytes that close the client's stream:
   * the held terminal event, or the client style's error event when the stream reported an error or was cut.
   * Sets `reading.state` to `completed` when a clean end of body is the style's end (Chat without `[DONE]`
   * after a finish reason).
   */
  end(): Uint8Array;
  /** Ends the client's stream with an error event of its style, never with an event of a clean end. */
  fail(error: GatewayError): Uint8Array;
  /**
   * Ends the client's stream before the upstream ended, as if the cap on output tokens was reached: closes open blocks,
   * then writes the style's stop reason for length and its terminal event. `undefined` if the style has no such stop;
   * the caller can still use `fail`.
   *
   * @param usage the billed usage so far, for styles that report it at the end
   */
  stopForLength(usage: TokenUsage): Uint8Array | undefined;
}

/** Properties of a call that native and converting pipes need. */
export interface PipeContext {
  /** The model name the client sent; answers carry it where the style has a model field that we write. */
  readonly clientModel: string;
  /** The provider's name of the model, which errors must not reveal; absent if no provider is involved. */
  readonly upstreamModel?: string;
  readonly requestId: string;
  /** Chat clients: whether the client itself asked for `stream_options.include_usage`. */
  readonly clientWantsUsage: boolean;
  /** Seconds since 1970, for `created` fields that the gateway writes. */
  readonly nowSeconds: number;
  /** Gemini clients: the gateway's own count of the prompt, for answers whose provider reports none. */
  readonly countedInput?: number;
}

/** Usage, emptiness and error of a whole (not streamed) answer, read in the upstream's own style. */
export interface AnswerReading {
  readonly usage: ReportedUsage | undefined;
  readonly usageRejected: boolean;
  /** Runs of its tools by the provider; absent if nothing tells. */
  readonly toolUses?: ToolUses | undefined;
  /** The tier of service that ran the call, as the provider calls it; absent if it reports none. */
  readonly serviceTier?: string | undefined;
  /** The answer has no text, reasoning, tool call or refusal. Without usage it is free (outcome table). */
  readonly empty: boolean;
  /** Bytes of text, reasoning and tool arguments, for the estimate when there is no usage. */
  readonly outputBytes: number;
  readonly stopReason: string | undefined;
  /** The error of a 200 whose body is an error object. */
  readonly error: GatewayError | undefined;
}

/** A request converted to the upstream's style. */
export interface ConvertedRequest {
  readonly body: JsonObject;
  /** Fields that could not be carried or were approximated, by their path in the client's request. */
  readonly dropped: readonly string[];
  /** Memory of the request that the conversion of the answer needs, such as renamed tools. Opaque. */
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
 * Memory of the conversion of a request, for that of its answer. Opaque outside the dialects; small, without prompt
 * text.
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
  /** The tool whose arguments are the structured answer; they become the answer's text. */
  readonly answerTool?: string;
  /** Functions that the client sent in groups (Responses `namespace`), by the name that joins group and function. */
  readonly groupedTools?: ReadonlyMap<string, GroupedName>;
  /** The function that replaces the client's own search for tools (Responses `tool_search`). */
  readonly searchTool?: string;
  /** The client asked for a web search and reads its results, which some providers only show as sources of the text. */
  readonly sourcesAsSearch?: true;
  /** The client speaks the old `functions` form of Chat and wants `function_call` back. */
  readonly legacyFunctions?: boolean;
  /** The provider leaves the model's thinking in the text, in tags of this form. */
  readonly thinkTags?: ThinkTags;
  /** The number of answers that the client asked for. Absent: one. */
  readonly choices?: number;
  /** Responses: members of the request that the answer repeats. */
  readonly echo?: JsonObject;
  /** Chat: the client asked for sound. */
  readonly wantsSound?: true;
  /** The signer of the reasoning of the route that answered. */
  readonly reasoningSigner?: string;
  /** Gemini: the request offers no tool that finds sources, so no block of its answer has to wait for them. */
  readonly withoutSources?: true;
  readonly [key: string]: unknown;
}

/** Properties of route and model on which the conversion of a request depends. */
export interface ConversionOptions {
  readonly capabilities: RouteCapabilities;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** Documents that were fetched for this route, since it takes only their data. */
  readonly documents?: FetchedDocuments;
  /** The model's cap on output tokens: used if the target style requires one. */
  readonly maxOutputTokens: number;
  /** Billable features that the route allows: other hosted tools are not carried to it. Absent: all. */
  readonly allow?: ReadonlySet<BillableFeature>;
}
