/** A chat call on its way to one route, and what its exchange with the provider offers. */
import type { Mark } from "../../lib/errors/errors.ts";
import type { Model } from "../../catalog/catalog.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import type { FetchedDocuments } from "../../wire/contract/contract.ts";
import type { Transport } from "../../net/transport/transport.ts";
import type { AttemptHandlers } from "../attempts/attempt.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import type { CostedReceipt } from "../../billing/cost_parts.ts";
import type { RouteWish } from "../request/route_preferences.ts";
import type { ItemVisitor } from "./item_tap.ts";
import type { JsonBody } from "../body/json_body.ts";
import type { WebSearcher } from "../rounds/search_function.ts";
import type { McpTools } from "../rounds/mcp_tools.ts";
import type { RoundPayer } from "../rounds/tool_rounds.ts";

/** A chat call as it arrived, before a route is chosen. */
export interface ChatCall {
  readonly request: ChatRequest;
  readonly body: JsonBody;
  readonly model: Model;
  readonly requestId: string;
  readonly nowSeconds: number;
  readonly clientHeader: (name: string) => string | undefined;
  /** `x-gateway-strict: true`, or required parameters: refuse instead of dropping. */
  readonly strict: boolean;
  /** Order of its routes that the caller wants. */
  readonly wish?: RouteWish | undefined;
  /** Fields that were lost before a route was chosen, since the request came in the form of another style. */
  readonly dropped?: readonly string[];
  /** Most output tokens of one answer that are paid for, if the provider has to get a lower limit than the client's. */
  readonly outputLimit?: number | undefined;
  /** The settings of the key want no cache marks but the client's. */
  readonly noAutoCache?: true | undefined;
  /** Documents that were fetched for the route. */
  readonly documents?: FetchedDocuments;
  /** Visits the items of a Responses answer that goes to the client. */
  readonly onItem?: ItemVisitor;
  /** Runs the web searches of the model, which can run none itself; absent: nobody does. */
  readonly searcher?: WebSearcher | undefined;
  /** Runs tools of MCP servers where the provider has no connector; absent: the gateway runs none. */
  readonly mcp?: McpTools | undefined;
  /** Pays for the rounds of a model for which tools run; absent: nothing is sent. */
  readonly rounds?: RoundPayer | undefined;
}

/** The provider's side of a route. */
export interface RouteAccess {
  readonly provider: ProviderEntry;
  readonly secret: string | undefined;
  /** The account at the provider: what it seals, no other can read. */
  readonly account?: string;
  readonly transport: Transport;
  /** See {@linkcode AttemptHandlers.onStatus}. */
  readonly onStatus: (
    status: number,
    retryAfterSeconds: number | undefined,
    marks?: Mark,
  ) => void;
  /** See {@linkcode AttemptHandlers.mayRepeat}. */
  readonly mayRepeat: () => boolean;
}

/**
 * A route for one attempt of a chat call. Its request may be sent twice: a second answer costs tokens but has no
 * other effect.
 */
export interface ChatRouteAccess extends RouteAccess {
  /** Called when the request was sent a second time: see `UpstreamRequest`. */
  readonly onSentAgain: () => void;
}

/** Writer of the cost of a settled call into its answer. */
export interface CostWriter {
  readonly whole: (answer: Uint8Array, receipt: CostedReceipt) => Uint8Array;
  /** For the last bytes of a stream. */
  readonly tail: (tail: Uint8Array, receipt: CostedReceipt) => Uint8Array;
}

/** A chat call prepared for one route: how to send it and how to read its answer. */
export interface ChatExchange extends AttemptHandlers {
  /** Fields of the request that this route could not carry, for `x-gateway-conversion`. */
  readonly dropped: readonly string[];
  /** The last event of a Responses stream that ended whole; absent where items are not visited. */
  readonly lastEvent?: () => Uint8Array | undefined;
  /** Writes the cost into the answer; absent unless the client asked for it. */
  readonly cost?: CostWriter;
}
