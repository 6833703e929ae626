/**
 * Searches the web for models that cannot, at the model that the operator names for it (`webSearchModel`): it answers
 * requests for nothing but a search, and runs the searches that other models ask for as calls of their own.
 */
import type { SearchFindings, WebSearcher } from "../../../core/calls/rounds/search_function.ts";
import type { AttemptTime } from "../../../core/calls/attempts/attempt.ts";
import {
  providerText,
  type RoutePreferences,
} from "../../../core/calls/request/route_preferences.ts";
import type { JsonBody } from "../../../core/calls/body/json_body.ts";
import type { Model } from "../../../core/catalog/catalog.ts";
import { searchesWeb } from "../../../core/catalog/model_abilities.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { parseExactly } from "../../../core/lib/json/exact_json.ts";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { type Reply, responseOf } from "../../../core/net/http1/server/reply.ts";
import { findBillableFeatures } from "../../../core/wire/billable_features/asked_for.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import type {
  Answer,
  Conversation,
  Tool,
  WebSearchRequest,
  WebSource,
} from "../../../core/wire/conversation/mod.ts";
import { shapeAnswer } from "../../../core/wire/convert/answer_reading.ts";
import { dialectOf } from "../../../core/wire/convert/dialects.ts";
import { withAllowedRoutes } from "../../../core/calls/request/call_settings.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import type { ChosenModel } from "../call/admission.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { type Incoming, traceFailure } from "../call/incoming.ts";

/** A chat request whose model was chosen by its name. */
interface NamedRequest {
  readonly style: Style;
  readonly body: JsonBody;
  /** The name of the model that the client sent. */
  readonly name: string;
  readonly principal: Principal;
}

/** The model of a request, and who searches the web for it. */
export interface SearchChoice {
  readonly chosen: ChosenModel;
  /** Runs the searches of the model, which can run none itself. */
  readonly searchModel?: Model;
}

/**
 * Chooses the model of a request: that of its name, or the one that searches the web for others, if the request has no
 * tool but a web search, which the model of its name cannot run. Beside other tools the model keeps the request, and its
 * searches are run for it.
 */
export function chooseSearch(chosen: ChosenModel, request: NamedRequest): SearchChoice {
  const { catalog, model } = chosen;
  const { style, body, name, principal } = request;
  const webSearchModel = catalog.webSearchModel &&
    withAllowedRoutes(catalog.webSearchModel, principal.callRules, catalog);
  if (webSearchModel === undefined || webSearchModel.id === model.id) return { chosen };
  if (principal.allowedModels?.has(webSearchModel.id) === false) return { chosen };
  const isAsked = findBillableFeatures(style, body.outline)
    .some(({ feature }) => feature === "web_search");
  if (!isAsked || searchesWeb(model, style)) return { chosen };
  const { tools, choices } = readTools(style, body);
  if (!tools.some(isSearch)) return { chosen };
  // Each of several answers would go its own way.
  if (!tools.every(isSearch)) {
    return choices > 1 ? { chosen } : { chosen, searchModel: webSearchModel };
  }
  return { chosen: { ...chosen, model: webSearchModel, mappedFrom: name } };
}

/** Reads the tools that the model may call, and how many answers are wanted; no tools if the request cannot be read. */
function readTools(
  style: Style,
  { value }: JsonBody,
): { readonly tools: readonly Tool[]; readonly choices: number } {
  let read: Conversation;
  try {
    read = dialectOf(style).decodeRequest(value);
  } catch (error) {
    // Its route says what is wrong with it.
    if (error instanceof GatewayError) return { tools: [], choices: 1 };
    throw error;
  }
  return {
    tools: read.toolChoice?.type === "none" ? [] : read.tools,
    choices: read.choices?.count ?? 1,
  };
}

function isSearch(tool: Tool): boolean {
  return tool.type === "hosted" && tool.requested?.tool === "web_search";
}

/** Output tokens of a search: a few paragraphs with their sources, which the asking model reads in full. */
const searchOutputTokens = 4_096;
/** Searches at the provider for one query of the asking model. */
const searchesPerQuery = 3;
/** Sources that the client and the asking model get of one search: a page of results. */
const maxSources = 20;

/** Serves a Messages request as a call of its own. */
type ServeSearch = (incoming: Incoming, body: Uint8Array) => Promise<Reply | Response>;

/** A call whose model has searches run for it. */
interface SearchingCall {
  readonly incoming: Incoming;
  readonly principal: Principal;
  readonly searchModel: Model;
  /** Preferences of the caller for providers and prices, which bind the searches, too. */
  readonly preferences: RoutePreferences | undefined;
}

/**
 * Runs the searches of one call, each as a call of its own: with its reservation, its receipt and its limits, for the
 * account and the key of the call. A route that is tried after another gets what was found already.
 */
export class CallSearcher implements WebSearcher {
  readonly time: AttemptTime;
  readonly #gateway: Gateway;
  readonly #call: SearchingCall;
  readonly #serve: ServeSearch;
  readonly #found = new Map<string, Promise<SearchFindings>>();

  constructor(gateway: Gateway, call: SearchingCall, serve: ServeSearch) {
    this.#gateway = gateway;
    this.time = gateway;
    this.#call = call;
    this.#serve = serve;
  }

  search(query: string, request: WebSearchRequest): Promise<SearchFindings> {
    let found = this.#found.get(query);
    if (found === undefined) {
      found = this.#run(query, request);
      this.#found.set(query, found);
    }
    return found;
  }

  async #run(query: string, request: WebSearchRequest): Promise<SearchFindings> {
    const gateway = this.#gateway;
    const { incoming: { clientAddress }, principal, searchModel, preferences } = this.#call;
    const requestId = newId("request", gateway.clock.nowMs());
    const incoming: Incoming = {
      request: new Request("http://gateway/v1/messages", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(preferences && { [requestHeaders.route]: providerText(preferences) }),
        },
      }),
      requestId,
      clientAddress,
      isFirstOfConnection: false,
      principal,
    };
    try {
      const body = JSON.stringify(searchBody(searchModel.id, query, request));
      const reply = await this.#serve(incoming, new TextEncoder().encode(body));
      const answer = parseExactly(await responseOf(reply).text());
      if (!isJsonObject(answer)) throw new Error("An answer of the gateway is no object");
      const read = shapeAnswer("messages", answer);
      if (read.reading.error !== undefined) throw read.reading.error;
      return { id: requestId, ...findingsOf(dialectOf("messages").decodeAnswer(read, {})) };
    } catch (error) {
      traceFailure(gateway, incoming, { endpoint: "/v1/messages", style: "messages" }, error);
      const why = error instanceof GatewayError ? error.message : "an error inside the gateway";
      return { id: requestId, text: `The search failed: ${why}`, sources: [], failed: true };
    } finally {
      incoming.bufferedBody?.release();
      incoming.answer?.release();
    }
  }
}

/** The request of a search. Domains are also told in words: not every search model has a field for them. */
function searchBody(model: string, query: string, request: WebSearchRequest): JsonObject {
  const { allowedDomains: allowed, blockedDomains: blocked, location } = request;
  const lines = [
    "Perform a web search for the query below. Report in detail what the pages say that answers it, with the address of " +
    "each page.",
    ...(allowed === undefined ? [] : [`Use only these domains: ${allowed.value.join(", ")}`]),
    ...(blocked === undefined ? [] : [`Do not use these domains: ${blocked.value.join(", ")}`]),
    `Query: ${query}`,
  ];
  return {
    model,
    max_tokens: searchOutputTokens,
    messages: [{ role: "user", content: lines.join("\n") }],
    tools: [{
      type: "web_search_20250305",
      name: "web_search",
      max_uses: searchesPerQuery,
      // The style takes one of the two.
      ...(allowed !== undefined
        ? { allowed_domains: [...allowed.value] }
        : blocked !== undefined && { blocked_domains: [...blocked.value] }),
      ...(location !== undefined && {
        user_location: { type: "approximate", ...location.value },
      }),
    }],
  };
}

/** Reads what a search model answered: its text, and the pages that it found or cites, each once. */
function findingsOf({ blocks }: Answer): Omit<SearchFindings, "id"> {
  const sources = new Map<string, WebSource>();
  const texts: string[] = [];
  for (const block of blocks) {
    if (block.type === "text") {
      texts.push(block.text);
      for (const { url, title } of block.citations ?? []) sources.set(url, { url, title });
    } else if (block.type === "hosted_call" && block.call.tool === "web_search") {
      for (const source of block.call.sources ?? []) sources.set(source.url, source);
    }
  }
  const text = texts.join("");
  return text === "" && sources.size === 0
    ? { text: "The search found nothing.", sources: [], failed: true }
    : { text, sources: [...sources.values()].slice(0, maxSources), failed: false };
}
