/**
 * POST /v1/messages, /v1/chat/completions and /v1/responses: one way for the three styles.
 *
 * See docs/behaviour.md#the-way-of-a-call.
 *
 * - Folder `routes/api/chat/`: chat calls of the three styles, and token counting.
 * - In: an admitted request for a chat model.
 * - Out: a whole answer or a stream, settled, with its receipt.
 * - Never: releases the last byte of an answer before its debit and receipt are durable.
 */
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import {
  type ChatBounds,
  chatBounds,
  type InitialReservation,
  initialReservation,
  leastOutputTokens,
  paidLimit,
  paidOutputTokens,
  withinOutput,
} from "../../../core/calls/bounds/chat_bounds.ts";
import { keptForCount } from "../../../core/calls/bounds/chat_charge.ts";
import type { ChatCall } from "../../../core/calls/exchange/chat_call.ts";
import {
  chatBody,
  type ChatRequest,
  mayPreferRoutes,
  readChatRequest,
  readCompactRequest,
} from "../../../core/calls/request/chat_request.ts";
import {
  preferencesText,
  refuseDearer,
  type RoutePreferences,
  takePreferences,
  wishOf,
  withPreferredRoutes,
} from "../../../core/calls/request/route_preferences.ts";
import { geminiBody, type GeminiPath } from "../../../core/calls/exchange/gemini_body.ts";
import { readCostRequest } from "../../../core/calls/exchange/cost_in_body.ts";
import { isLate } from "../../../core/calls/stream/early_stream.ts";
import { RemoteDocuments } from "../../../core/calls/request/remote_documents.ts";
import { automaticOrder, type Catalog, type Model } from "../../../core/catalog/catalog.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import type { AmountBound, CallMoney } from "../call/call_money.ts";
import {
  type CallStart,
  callTags,
  chooseModel,
  type ChosenModel,
  refuseFreeChoices,
  refuseUnseenImages,
  startCall,
  type Terms,
} from "../call/admission.ts";
import {
  deliverAnswer,
  deliverEarly,
  deliverStream,
  type Delivery,
  type Fallback,
  findRoute,
  localError,
  type ModelOffer,
} from "./chat_attempts.ts";
import { expectedOutput, moveFunds, reserveFunds } from "../call/funds.ts";
import { hasIdempotencyKey, knownAnswer } from "../call/idempotency.ts";
import { CallSettlement } from "../call/call_settlement.ts";
import type { CallTags } from "../../../core/billing/usage/call_tags.ts";
import { ChatSettlement, PaidRounds } from "./chat_settlement.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { chosenModels, coveringRange, fitting, requestedModels } from "./preferred_models.ts";
import { maxAutomaticModels } from "../../../core/calls/request/automatic_models.ts";
import { CallSearcher, chooseSearch } from "./web_search.ts";
import {
  admitRequest,
  type AuthenticatedRequest,
  checkVersion,
  type Incoming,
  requireJson,
} from "../call/incoming.ts";
import { type FetchedUrl, fetchedUrls } from "../../../core/net/remote/fetched_urls.ts";
import { type JsonBody, parseJsonBody } from "../../../core/calls/body/json_body.ts";
import type { TurnDraft, TurnInput } from "../../../core/calls/request/kept_responses.ts";
import { withKeptTurns } from "./kept_responses.ts";
import { applyPrice, maxUnitPrices } from "../../../core/billing/price.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import type { OutputLimitNotice } from "../call/response_headers.ts";

// Reads and checks a chat request, before any money is reserved for it.

/** A chat call that was read and checked. Nothing is reserved for it yet. */
export interface CheckedChat {
  readonly terms: Terms;
  readonly call: ChatCall;
  readonly bounds: ChatBounds;
  readonly urls: readonly FetchedUrl[];
  /** Runs the searches of the model, which can run none itself. */
  readonly searchModel?: Model | undefined;
  /** Part of the call that is kept for later turns; absent: none. */
  readonly turn?: TurnInput | undefined;
  /** Set if the provider gets a lower limit of output than the client's, because no more is paid for. */
  readonly outputLimit?: OutputLimitNotice | undefined;
  /** Preferences of the route, for whether two requests are the same. */
  readonly preferences?: RoutePreferences | undefined;
  /** The same call for other models, in the order to try. */
  readonly fallbacks?: readonly CheckedChat[];
}

/** A chat request that was parsed. */
interface ParsedChat {
  readonly gateway: Gateway;
  readonly incoming: Incoming;
  readonly admitted: AdmittedChat;
  /** The body as it was sent, without preferences of the route. */
  readonly sent: JsonBody;
  readonly styled: StyledBody;
  readonly preferences: RoutePreferences | undefined;
  /** The client wants the cost in the answer. */
  readonly tellsCost: boolean;
}

/** A request in the form of its style. */
interface StyledBody {
  readonly body: JsonBody;
  readonly dropped?: readonly string[];
  /** Of the Responses style: what a turn that is kept of it has. */
  readonly turn?: TurnInput;
}

/** Brings a body into the form of its style. */
function styledBody(style: Style, sent: JsonBody, path: GeminiPath | undefined): StyledBody {
  if (style === "chat") return chatBody(sent);
  return { body: path === undefined ? sent : geminiBody(sent, path) };
}

/** Parses a body, and takes what it says to the gateway only out of it. */
function parsedBody(
  { catalog }: Gateway,
  style: Style,
  { request: { headers } }: Incoming,
  { body: bytes, isNested }: AdmittedChat,
): Pick<ParsedChat, "sent" | "preferences" | "tellsCost"> {
  const asksCost = isNested !== true && headers.get(requestHeaders.cost) === "true";
  const { body, tellsCost } = readCostRequest(style, parseJsonBody(bytes), asksCost);
  const header = headers.get(requestHeaders.route);
  if (header === null && !mayPreferRoutes(style, body)) {
    return { sent: body, preferences: undefined, tellsCost };
  }
  const { providers } = catalog.current;
  return { ...takePreferences({ style, body, header, providers }), tellsCost };
}

/** Chooses the model, or the models, and computes what the call can cost. */
function checkChat(style: Style, parsed: ParsedChat): CheckedChat {
  const { gateway, incoming, admitted, styled: { body }, preferences, tellsCost } = parsed;
  const { principal, path, compacts } = admitted;
  const catalog = gateway.catalog.current;
  const read = compacts === true
    ? readCompactRequest(body.outline)
    : readChatRequest(style, body.outline);
  const inArray = path?.inArray === true;
  const request = inArray || tellsCost ? { ...read, inArray, tellsCost } : read;
  const order = automaticOrder(request.model);
  if (preferences === undefined && order === undefined) {
    return checkModel(parsed, request, chooseModel(catalog, request.model, "chat", principal));
  }
  const { outline } = body;
  const { router } = gateway;
  const wanted = preferences ?? { models: [] };
  const [first, ...fallbacks] = fitting(
    order === undefined
      ? requestedModels(request.model, wanted, { catalog, principal })
      : chosenModels(order, wanted, { request, body: outline, catalog, principal, router }),
    ({ chosen, name }) => checkModel(parsed, { ...request, model: name }, chosen),
    order === undefined ? undefined : maxAutomaticModels,
  );
  incoming.chosen = first.terms;
  return { ...first, fallbacks };
}

/** Checks a request for one model. */
function checkModel(
  { gateway, incoming, admitted, sent, styled, preferences }: ParsedChat,
  request: ChatRequest,
  byName: ChosenModel,
): CheckedChat {
  const { body, dropped = [], turn } = styled;
  const { principal, start, compacts, isNested, tags: given } = admitted;
  const { requestId, request: { headers } } = incoming;
  const { style } = request;
  const named = { style, body, name: request.model, principal };
  // Who compacts a conversation searches for nothing, whatever tools it names.
  const { chosen, searchModel } = compacts === true
    ? { chosen: byName }
    : chooseSearch(byName, named);
  const { catalog, sort } = chosen;
  const model = preferences === undefined
    ? chosen.model
    : withPreferredRoutes(chosen.model, preferences, catalog.providers);
  incoming.chosen = chosen;
  refuseUnseenImages(model, body.outline);
  const urls = fetchedUrls(body.outline);
  refuseFreeChoices(model, request, body.outline);
  const price = applyPrice(model.price);
  const bounds = chatBounds(request, body, model, price, hasSeveralKeys(model, catalog));
  // A client that wants no store sends its items itself.
  const keptTurn = compacts === true || body.outline["store"] === false ? undefined : turn;
  if (preferences !== undefined) {
    const { reservedPrice, input: { tokens: inputTokens, isText } } = bounds;
    refuseDearer(model, maxUnitPrices(reservedPrice, { inputTokens, isText }), preferences);
  }
  const call: ChatCall = {
    request,
    body,
    model,
    requestId,
    nowSeconds: Math.floor(start.startedAtMs / 1000),
    clientHeader: (name) => headers.get(name) ?? undefined,
    strict: headers.get(requestHeaders.strict) === "true" ||
      preferences?.requireParameters === true,
    wish: preferences === undefined ? sort && { sort } : wishOf(preferences, sort),
    dropped,
    ...(keptTurn !== undefined && { onItem: gateway.recentItems.keeper(principal.accountId) }),
  };
  const terms: Terms = {
    catalog,
    model,
    mappedFrom: chosen.mappedFrom,
    requestId,
    principal,
    start,
    style,
    stream: request.stream,
    price,
    tags: isNested === true ? given : callTags(incoming.request, principal, style, sent.outline),
  };
  return { terms, call, bounds, urls, searchModel, turn: keptTurn, preferences };
}

/** Whether a provider of the model has several keys. */
function hasSeveralKeys({ routes }: Model, { providers }: Catalog): boolean {
  return routes.some(({ provider }) => {
    const entry = providers[provider];
    return entry?.kind === "http" && entry.apiKeyEnv.length + entry.apiKeyVault.length > 1;
  });
}

/**
 * Serves one chat call.
 *
 * @param path what the path of a Gemini request says
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveChat(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
  path?: GeminiPath,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  return await serveAdmittedChat(gateway, style, incoming, { body, principal, start, path });
}

/** Serves POST /v1/responses/compact: a Responses call, by a provider that compacts conversations. */
export async function serveCompact(
  gateway: Gateway,
  incoming: Incoming,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  const admitted = { body, principal, start, compacts: true } as const;
  return await serveAdmittedChat(gateway, "responses", incoming, admitted);
}

/** A chat request whose body was read. */
interface AdmittedChat extends AuthenticatedRequest {
  readonly start: CallStart;
  /** Facts in the path of a Gemini request. */
  readonly path?: GeminiPath | undefined;
  /** The conversation is compacted. */
  readonly compacts?: true | undefined;
  /** The call is part of another one, which holds money until it ends. */
  readonly isNested?: true | undefined;
  /** The tags of the call that a nested one is part of. */
  readonly tags?: CallTags | undefined;
}

/**
 * Serves a chat call whose body was read.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveAdmittedChat(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
  admitted: AdmittedChat,
): Promise<Reply | Response> {
  const { principal, isNested, path } = admitted;
  requireJson(incoming.request);
  if (style === "messages") checkVersion(incoming.request.headers);
  const parsed = parsedBody(gateway, style, incoming, admitted);
  const { sent, preferences, tellsCost } = parsed;
  const styled = style === "responses"
    ? await withKeptTurns(gateway, incoming, principal.accountId, sent)
    : styledBody(style, sent, path);
  const read = checkChat(style, { gateway, incoming, admitted, styled, ...parsed });
  const checked = withSearcher(gateway, incoming, read);
  if (hasIdempotencyKey(incoming)) {
    const body = { kind: "json", json: checked.call.body } as const;
    const preferred = preferences === undefined ? "" : preferencesText(preferences);
    const said = tellsCost ? `${preferred} cost` : preferred;
    const known = await knownAnswer(gateway, incoming, principal, body, said);
    if (known !== undefined) return known;
  }
  const { terms, bounds, call, fallbacks } = checked;
  const initial = initialOf(gateway, checked, isNested);
  const others = fallbacks?.map((one) => initialOf(gateway, one, isNested));
  const funds = await reserveFunds(gateway, incoming, terms, {
    range: others === undefined
      ? initial.range
      : coveringRange([initial, ...others].map(({ range }) => range)),
    // What one model may owe is not what another may: with several, too little money is a refusal.
    otherwise: others === undefined || others.length === 0 ? initial.unlimited : undefined,
    expectedTokens: {
      input: bounds.estimatedInputTokens,
      output: expectedOutput(gateway, principal, call.model, bounds.outputTokens),
    },
    localError: () => localError(gateway, checked),
  });
  const settlement = new CallSettlement(gateway, terms, funds);
  const { turn } = checked;
  const draft = turn && gateway.keptResponses.draft(principal.accountId, turn);
  try {
    const { money } = funds;
    const paid = paidCall(checked, initial, money);
    const paidFallbacks = fallbacks?.map((one, i) => paidCall(one, others![i]!, money));
    const delivered = paidFallbacks === undefined ? paid : { ...paid, fallbacks: paidFallbacks };
    return await deliver(gateway, incoming, delivered, { settled: settlement, draft });
  } catch (error) {
    draft?.drop();
    settlement.abandon();
    throw error;
  }
}

function initialOf(
  { expectations }: Gateway,
  { call, bounds, terms: { principal: { key } } }: CheckedChat,
  isNested: true | undefined,
): InitialReservation {
  const { request, model } = call;
  return initialReservation(bounds, {
    stream: request.stream,
    expectedTokens: expectations.tokens(model, key.id),
    usualTokens: expectations.usualTokens(model, key.id),
    leastTokens: leastOutputTokens(request, call.body.outline),
    ...(isNested === true && { waits: false }),
  });
}

/** Bounds the output of a call whose reservation does not cover all that it may cost, unless its stream can be stopped. */
function paidCall(
  checked: CheckedChat,
  { isStoppable }: InitialReservation,
  { reservation: { amountMicroVnd }, boundBy }: CallMoney,
): CheckedChat {
  return boundBy === undefined || isStoppable
    ? checked
    : withPaidOutput(checked, amountMicroVnd, boundBy);
}

/** Lets the gateway search the web for a model that cannot, as calls of the same account and key. */
function withSearcher(gateway: Gateway, incoming: Incoming, given: CheckedChat): CheckedChat {
  const checked = given.fallbacks === undefined ? given : {
    ...given,
    fallbacks: given.fallbacks.map((one) => withSearcher(gateway, incoming, one)),
  };
  const { searchModel, preferences, terms: { principal, tags }, call } = checked;
  if (searchModel === undefined) return checked;
  const searcher = new CallSearcher(
    gateway,
    { incoming, principal, searchModel, preferences },
    (search, body) => {
      const start = startCall(gateway);
      const nested = { body, principal, start, isNested: true, tags } as const;
      return serveAdmittedChat(gateway, "messages", search, nested);
    },
  );
  return { ...checked, call: { ...call, searcher } };
}

/** Lowers the limit of a call to what its reservation pays for, if its request allows such a limit. */
function withPaidOutput(
  checked: CheckedChat,
  amountMicroVnd: bigint,
  reason: AmountBound,
): CheckedChat {
  const { bounds, call } = checked;
  const { request, body } = call;
  const tokens = paidLimit(bounds, request, body.outline, amountMicroVnd);
  if (tokens === undefined) return checked;
  return {
    ...checked,
    call: { ...call, request: { ...request, maxTokens: tokens }, outputLimit: tokens },
    bounds: withinOutput(bounds, tokens * request.choices),
    outputLimit: { tokens, reason },
  };
}

/** The end of a call, whichever of its models answers. */
interface Settling {
  readonly settled: CallSettlement;
  readonly draft: TurnDraft | undefined;
}

/** The part of a delivery that depends on the model. */
function offerOf(
  gateway: Gateway,
  checked: CheckedChat,
  { settled, draft }: Settling,
): ModelOffer {
  const { bounds, outputLimit } = checked;
  const { money } = settled.funds;
  const rounds = checked.call.searcher === undefined ? undefined : new PaidRounds(money, bounds);
  const call = rounds === undefined ? checked.call : { ...checked.call, rounds };
  const { request, body } = call;
  const counted = keptForCount(body, request.stream);
  return {
    call,
    settlement: new ChatSettlement(gateway, settled, { request, bounds, counted, rounds, draft }),
    paidTokens: paidOutputTokens(bounds, money.reservation.amountMicroVnd),
    outputLimit,
  };
}

/** Offer that is tried after the models before it have failed: the call passes to the terms of its model. */
function fallbackOf(gateway: Gateway, checked: CheckedChat, settling: Settling): Fallback {
  return async () => {
    const { terms, bounds: { estimatedInputTokens: input, outputTokens } } = checked;
    const { principal, model } = terms;
    const output = expectedOutput(gateway, principal, model, outputTokens);
    const { settled } = settling;
    await moveFunds(gateway, terms, settled.funds, { input, output });
    settled.moveTo(terms);
    return offerOf(gateway, checked, settling);
  };
}

/** Tries the routes for a call whose money is reserved, and settles it. */
async function deliver(
  gateway: Gateway,
  incoming: Incoming,
  checked: CheckedChat,
  settling: Settling,
): Promise<Reply | Response> {
  const { bounds, urls } = checked;
  const { settled } = settling;
  const { terms: { principal }, funds: { running: control } } = settled;
  const offer = offerOf(gateway, checked, settling);
  const { request, body } = offer.call;
  // A call that is not streamed runs to its end when its client leaves: the provider would finish and charge it
  // anyway. Reading the signal makes the server watch the connection, which costs as much as parsing the body, so
  // it is done while the provider works.
  const onSent = () => {
    if (request.stream) control.watchClient(incoming.request.signal);
  };
  if (!request.stream) incoming.answer = gateway.answers.open(principal.accountId);
  const { bufferedBody, answer: bufferedAnswer } = incoming;
  const { media: { fetchDocument }, bodies } = gateway;
  const documents = bounds.input.namesUnseen || urls.length > 0
    ? new RemoteDocuments(request, body, fetchDocument, bodies.open(principal.accountId))
    : undefined;
  const delivery: Delivery = {
    ...offer,
    gateway,
    control,
    fallbacks: checked.fallbacks?.map((one) => fallbackOf(gateway, one, settling)),
    bufferedBody,
    documents,
    urls,
    bufferedAnswer,
    dropped: new Set(),
  };
  return await answer(delivery, onSent);
}

/**
 * Finds a route and delivers its answer. `onSent` is called when the request was sent to the first route, or could
 * not be.
 */
async function answer(delivery: Delivery, onSent: () => void): Promise<Reply | Response> {
  if (!delivery.call.request.stream) {
    const found = await findRoute(delivery, () => undefined);
    invariant(found.result.kind === "answer", "no stream was asked for");
    return await deliverAnswer(found.delivery, found, found.result);
  }
  let statusSent: number | undefined;
  const finding = findRoute(delivery, () => statusSent);
  onSent();
  if (await isLate(delivery.gateway.deadlines, finding)) {
    statusSent = 200;
    return deliverEarly(delivery, finding);
  }
  const found = await finding;
  invariant(found.result.kind === "stream", "a stream was asked for");
  return deliverStream(found.delivery, found, found.result);
}
