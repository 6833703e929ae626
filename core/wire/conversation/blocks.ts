/** What turns and answers are made of. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { Style } from "../contract.ts";
import type { HostedCallBlock } from "./hosted.ts";
import type { CacheMark, Placed } from "./placed.ts";

export type { CacheMark, Placed };

/** A block of a turn. */
export type Block =
  | TextBlock
  | ImageBlock
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
  /** The text is the model's refusal (Chat and Responses have a part of their own for it). */
  readonly refusal?: true;
}

/** The source of an image or a document: data, a URL or an uploaded file. */
export type MediaSource =
  /** `data` is plain base64, `mediaType` lower case and without parameters. */
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "url"; readonly url: string }
  /** Uploaded to the vendor of `style`: worth nothing anywhere else. */
  | { readonly kind: "file"; readonly style: Style; readonly id: string };

/** An image of a turn. */
export interface ImageBlock extends Placed {
  readonly type: "image";
  readonly source: MediaSource;
  /** `auto`, `low`, `high` … as sent. */
  readonly detail?: string;
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
  /** Where the client wrote it, unless that is the member `title`. */
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
 * organisation behind a Responses upstream. Any other word: what a route's capabilities name as `reasoning_signer`.
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

/** A block inside a tool result. */
export type ToolResultContent =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | SearchResultBlock
  | ForeignBlock;

/** The client's result of a tool call. */
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
 * Something only its own style can express: calls of hosted tools that no other vendor has, containers, unknown parts.
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
  readonly otherwise: "ignore" | "warn" | "refuse";
}
