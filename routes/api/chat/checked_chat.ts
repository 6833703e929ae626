/** Reads and checks a chat request, before any money is reserved for it. */
import { type ChatBounds, chatBounds } from "../../../core/calls/bounds/chat_bounds.ts";
import type { ChatCall } from "../../../core/calls/exchange/chat_exchange.ts";
import { chatBody } from "../../../core/calls/request/chat_body.ts";
import { type FetchedUrl, fetchedUrls } from "../../../core/net/remote/fetched_urls.ts";
import { geminiBody, type GeminiPath } from "../../../core/calls/exchange/gemini_body.ts";
import { readChatRequest, readCompactRequest } from "../../../core/calls/request/chat_request.ts";
import { parseJsonBody } from "../../../core/calls/body/json_body.ts";
import { withRecentItems } from "../../../core/calls/request/recent_items.ts";
import type { Catalog, Model } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { applyPrice } from "../../../core/billing/price.ts";
import type { AppliedPrice } from "../../../core/billing/usage/receipt.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { chooseModel, refuseFreeChoices, refuseUnseenImages } from "../call/admission.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import type { CallStart } from "../call/call_settlement.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { OutputLimitNotice } from "../call/response_headers.ts";
import { checkVersion, type Incoming, requireJson } from "../call/incoming.ts";
import { chooseSearch } from "./web_search.ts";

/** A chat call that was read and checked. Nothing is reserved for it yet. */
export interface CheckedCall {
  readonly call: ChatCall;
  readonly start: CallStart;
  readonly principal: Principal;
  readonly mappedFrom: string | undefined;
  /** The catalogue of the whole call. */
  readonly catalog: Catalog;
  readonly price: AppliedPrice;
  readonly bounds: ChatBounds;
  readonly urls: readonly FetchedUrl[];
  /** Runs the searches of the model, which can run none itself. */
  readonly searchModel?: Model | undefined;
  /** Set if the provider gets a lower limit of output than the client's, because no more is paid for. */
  readonly outputLimit?: OutputLimitNotice | undefined;
}

/** Parses the body, chooses the model and computes what the call can cost. */
export function checkChat(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
  { bytes, principal, start, path, compacts }: {
    readonly path?: GeminiPath | undefined;
    /** The conversation is compacted. */
    readonly compacts?: true | undefined;
    readonly bytes: Uint8Array;
    readonly principal: Principal;
    readonly start: CallStart;
  },
): CheckedCall {
  const { headers } = incoming.request;
  requireJson(incoming.request);
  if (style === "messages") checkVersion(headers);
  const sent = parseJsonBody(bytes);
  const { recentItems } = gateway;
  const { body, dropped = [] } = style === "chat" ? chatBody(sent) : {
    body: style === "responses"
      ? withRecentItems(recentItems, principal.accountId, sent)
      : path === undefined
      ? sent
      : geminiBody(sent, path),
  };
  const read = compacts === true
    ? readCompactRequest(body.outline)
    : readChatRequest(style, body.outline);
  const request = path?.inArray === true ? { ...read, inArray: true } : read;
  const catalog = gateway.catalog.current;
  const named = { style, body, name: request.model, principal };
  const byName = chooseModel(catalog, request.model, "chat", principal);
  // Who compacts a conversation searches for nothing, whatever tools it names.
  const { chosen, searchModel } = compacts === true
    ? { chosen: byName }
    : chooseSearch(byName, named);
  const { model, mappedFrom } = incoming.chosen = chosen;
  if (compacts === true) refuseUncompacted(model);
  refuseUnseenImages(model, body.outline);
  const urls = fetchedUrls(body.outline);
  refuseFreeChoices(model, request, body.outline);
  const price = applyPrice(model.price);
  const bounds = chatBounds(request, body, model, price);
  const call: ChatCall = {
    request,
    body,
    model,
    requestId: incoming.requestId,
    nowSeconds: Math.floor(start.startedAtMs / 1000),
    clientHeader: (name) => headers.get(name) ?? undefined,
    strict: headers.get(requestHeaders.strict) === "true",
    dropped,
    // A client that wants no store sends its items itself.
    ...(style === "responses" && compacts !== true && body.outline["store"] !== false && {
      onItem: recentItems.keeper(principal.accountId),
    }),
  };
  return { call, start, principal, mappedFrom, catalog, price, bounds, urls, searchModel };
}

/** @throws {GatewayError} `not_found` if no provider of the model compacts conversations */
function refuseUncompacted({ routes }: Model): void {
  if (routes.some((route) => route.compactsResponses)) return;
  throw new GatewayError(
    "not_found",
    "No provider of this model compacts conversations (a compacted one is sealed by its vendor); let the client " +
      "summarise the conversation with a call of its own",
  );
}
