/** Content blocks: the parts of turns and answers. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { ProviderStyle, Style } from "../contract/contract.ts";

// Paths of the parts of a conversation in the client's request.

/** A prompt-cache mark on a block or tool. */
export interface CacheMark {
  /** The path of the mark, which need not be a member of the block. */
  readonly path: string;
  /** Absent: the vendor's default (5 minutes at Messages). */
  readonly ttl?: "5m" | "1h";
}

/** The path of a part in the request, and its prompt-cache mark. */
export interface Placed {
  readonly path: string;
  readonly cache?: CacheMark;
}

// Hosted tools, which a provider runs while it answers: the client's options for them, and their calls with results.

/** A request for a hosted tool, with its path in the client's request. */
export interface Told<Value> {
  readonly value: Value;
  readonly path: string;
}

/** The options of a hosted tool that more than one vendor has. */
export type HostedToolRequest =
  | WebSearchRequest
  | WebFetchRequest
  | CodeExecutionRequest
  | McpRequest;

interface HostedRequest {
  /** Paths of options that only the tool's own vendor understands. */
  readonly others: readonly string[];
}

/** A hosted tool that searches the web. */
export interface WebSearchRequest extends HostedRequest {
  readonly tool: "web_search";
  readonly allowedDomains?: Told<readonly string[]>;
  readonly blockedDomains?: Told<readonly string[]>;
  /** `city`, `region`, `country`, `timezone`: the same words at all vendors. */
  readonly location?: Told<JsonObject>;
  /** Most searches of one answer. */
  readonly maxUses?: Told<number>;
  /** Share of the results that the model reads: `low`, `medium`, `high`. */
  readonly contextSize?: Told<string>;
}

/** A hosted tool that fetches a page. */
export interface WebFetchRequest extends HostedRequest {
  readonly tool: "web_fetch";
}

/** A hosted tool that runs code. */
export interface CodeExecutionRequest extends HostedRequest {
  readonly tool: "code_execution";
}

/** An MCP server that the provider calls, without asking the client before each call. */
export interface McpRequest extends HostedRequest {
  readonly tool: "mcp";
  readonly server: string;
  readonly url: string;
  /** The client's token for that server. */
  readonly authorization?: string;
  /** Names of its tools that may be called; absent: all. */
  readonly allowedTools?: readonly string[];
}

/** A call of a hosted tool and its result, as one block. */
export interface HostedCallBlock extends Placed {
  readonly type: "hosted_call";
  /** Style of the provider that ran it. */
  readonly style: Style;
  /** The provider's id of the call. */
  readonly id: string;
  readonly call: HostedCall;
  /** The path of the result, in styles where the result is a block of its own. */
  readonly resultPath?: string;
}

/** A call of a hosted tool, with its result. */
export type HostedCall = SearchCall | FetchCall | CodeCall | McpCall | McpListing | McpApproval;

/** A page that a search found. */
export interface WebSource {
  readonly url: string;
  /** Absent if the provider gives only addresses. */
  readonly title?: string;
}

/** A web search that the provider ran. */
export interface SearchCall {
  readonly tool: "web_search";
  readonly query: string;
  /** Absent: the provider does not report the results. */
  readonly sources?: readonly WebSource[];
  readonly failed: boolean;
}

/** A page that the provider fetched. */
export interface FetchCall {
  readonly tool: "web_fetch";
  readonly url: string;
  readonly title?: string;
  /** Absent: the provider does not report the content, or the content is not text. */
  readonly text?: string;
  readonly failed: boolean;
}

/** Code that the provider ran. */
export interface CodeCall {
  readonly tool: "code_execution";
  readonly code: string;
  /** Text that it printed. */
  readonly output?: string;
  readonly failed: boolean;
}

/** A call of a tool of an MCP server that the provider made. */
export interface McpCall {
  readonly tool: "mcp";
  readonly server: string;
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
  readonly output?: string;
  /** The id of the request to which the client agreed. */
  readonly approvalId?: string;
  readonly failed: boolean;
}

/** The tools of an MCP server, as it listed them. Only the gateway makes it, for Responses clients. */
export interface McpListing {
  readonly tool: "mcp_list";
  readonly server: string;
  /** Entries in the form of the style. */
  readonly tools: readonly JsonObject[];
  readonly failed: boolean;
}

/** A call of a tool of an MCP server to which the client must agree. Only the gateway makes it, for Responses clients. */
export interface McpApproval {
  readonly tool: "mcp_approval";
  readonly server: string;
  readonly name: string;
  readonly arguments: string;
  readonly failed: boolean;
}

/** A block of a turn. */
export type Block =
  | TextBlock
  | ImageBlock
  | AudioBlock
  | DocumentBlock
  | SearchResultBlock
  | ReasoningBlock
  | ToolCallBlock
  | ToolResultBlock
  | HostedCallBlock
  | ForeignBlock;

/** Text of a turn. */
export interface TextBlock extends Placed {
  readonly type: "text";
  readonly text: string;
  /** The text is the model's refusal; Chat and Responses have a separate kind of part for it. */
  readonly refusal?: true;
}

/** The source of an image or a document: data, a URL or an uploaded file. */
export type MediaSource =
  /** `data` is plain base64, `mediaType` lower case and without parameters. */
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "url"; readonly url: string }
  /** An upload to the vendor of `style`; no other vendor can read it. */
  | { readonly kind: "file"; readonly style: Style; readonly id: string };

/** An image of a turn. */
export interface ImageBlock extends Placed {
  readonly type: "image";
  readonly source: MediaSource;
  /** `auto`, `low`, `high` … as sent. */
  readonly detail?: string;
}

/** Sound that the model hears. */
export interface AudioBlock extends Placed {
  readonly type: "audio";
  /** `mediaType` is lower case and without parameters; `data` is plain base64. */
  readonly source: { readonly mediaType: string; readonly data: string };
}

/** A document of a turn. */
export interface DocumentBlock extends Placed {
  readonly type: "document";
  readonly source:
    | MediaSource
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "blocks"; readonly blocks: readonly (TextBlock | ImageBlock)[] };
  /** Title or file name. */
  readonly title?: string;
  /** The path in the client's request, unless it is the member `title`. */
  readonly titlePath?: string;
  readonly context?: string;
  /** The client asked for citations into this document. */
  readonly citations?: boolean;
}

/** A search result that the client supplies as a source. */
export interface SearchResultBlock extends Placed {
  readonly type: "search_result";
  readonly source: string;
  readonly title: string;
  readonly texts: readonly string[];
  readonly citations?: boolean;
}

/**
 * Reasoning of the model, as far as the provider shows it, with the proof that the provider wants back. The proof is
 * opaque: it is carried byte for byte, and only to its signer.
 */
export interface ReasoningBlock extends Placed {
  readonly type: "reasoning";
  /** May be empty: hidden or redacted reasoning still has its proof. */
  readonly text: string;
  readonly proof?: ReasoningProof;
}

/**
 * The party that can verify a proof. `messages`: vendors of Messages-style thinking signatures. `responses`: the
 * organisation behind a Responses upstream. Any other value: the `reasoning_signer` of a route's capabilities.
 */
export type ReasoningSigner = string;

/** The proof of a reasoning block, which only its signer accepts. */
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

/** A call of a tool by the model. */
export interface ToolCallBlock extends Placed {
  readonly type: "tool_call";
  /** The id as sent, even if other styles refuse it; empty if there was none. Encoders map it by a pure function. */
  readonly id: string;
  /** Responses: the item's own id beside the call id. */
  readonly itemId?: string;
  readonly name: string;
  readonly input: ToolInput;
}

/** The input of a tool call. */
export type ToolInput =
  /** A function's arguments: an object. */
  | { readonly kind: "object"; readonly value: JsonObject }
  /** Arguments as text that is not (or not yet) known to be a JSON object; may be empty or cut. */
  | { readonly kind: "json_text"; readonly text: string }
  /** A custom tool's free text. */
  | { readonly kind: "text"; readonly text: string };

/** A block inside a tool result. */
export type ToolResultContent =
  | TextBlock
  | ImageBlock
  | AudioBlock
  | DocumentBlock
  | SearchResultBlock
  | ForeignBlock;

/** The client's result of a tool call. */
export interface ToolResultBlock extends Placed {
  readonly type: "tool_result";
  /** The call's id as sent; empty if there was none, in which case the order decides. */
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
 * A block that only its own style can express: calls of hosted tools that no other vendor has, containers, unknown
 * parts. It never becomes a tool call in another style.
 */
export interface ForeignBlock extends Placed {
  readonly type: "foreign";
  readonly style: ProviderStyle;
  /** The wire's own `type`. */
  readonly kind: string;
  readonly raw: JsonObject;
  /** A rendering as plain text that helps another model, such as search results. */
  readonly text?: string;
  /** Choice of an encoder of another style when there is no `text`. `warn` in an answer: content that is lost. */
  readonly otherwise: "ignore" | "warn" | "refuse";
}
