/** Hosted tools, which a provider runs while it answers: the client's options for them, and their calls with results. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { Style } from "../contract/contract.ts";
import type { Placed } from "./placed.ts";

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
  /** How much of the results the model reads: `low`, `medium`, `high`. */
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
export type HostedCall = SearchCall | FetchCall | CodeCall | McpCall;

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
  /** What it printed. */
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
  readonly failed: boolean;
}
