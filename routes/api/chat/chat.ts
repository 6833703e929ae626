/**
 * POST /v1/messages, /v1/chat/completions and /v1/responses: one way for the three styles.
 *
 * `serveArrived` has the steps in their order, each of which makes the next stage of the call (`chat_stages.ts`).
 * See docs/behaviour.md#the-way-of-a-call.
 *
 * - Folder `routes/api/chat/`: chat calls of the three styles, and token counting.
 * - In: an admitted request for a chat model.
 * - Out: a whole answer or a stream, settled, with its receipt.
 * - Never: releases the last byte of an answer before its debit and receipt are durable.
 */
import { rangeAtFee } from "../../../core/billing/own_key_fee.ts";
import { applyPrice, maxUnitPrices } from "../../../core/billing/price.ts";
import { type JsonBody, parseJsonBody } from "../../../core/calls/body/json_body.ts";
import {
  chatBounds,
  type InitialReservation,
  initialReservation,
  leastOutputTokens,
  paidLimit,
  withinOutput,
} from "../../../core/calls/bounds/chat_bounds.ts";
import type { ChatCall } from "../../../core/calls/exchange/chat_call.ts";
import { readCostRequest } from "../../../core/calls/exchange/cost_in_body.ts";
import { geminiBody, type GeminiPath } from "../../../core/calls/exchange/gemini_body.ts";
import { maxAutomaticModels } from "../../../core/calls/request/automatic_models.ts";
import {
  chatBody,
  type ChatRequest,
  mayPreferRoutes,
  readChatRequest,
  readCompactRequest,
  refuseParts,
} from "../../../core/calls/request/chat_request.ts";
import { RemoteDocuments } from "../../../core/calls/request/remote_documents.ts";
import {
  preferencesText,
  refuseDearer,
  type RoutePreferences,
  settingsPricePath,
  takePreferences,
  wishOf,
  withPreferredRoutes,
} from "../../../core/calls/request/route_preferences.ts";
import { withPreset } from "../../../core/calls/request/presets.ts";
import { automaticOrder, type Catalog, type Model } from "../../../core/catalog/catalog.ts";
import { withTextRules } from "../../../core/calls/request/text_rules.ts";
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { fetchedUrls } from "../../../core/net/remote/fetched_urls.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import {
  callTags,
  chooseModel,
  type ChosenModel,
  refuseFreeChoices,
  refuseUnseenImages,
  startCall,
  type Terms,
  withRulesOf,
} from "../call/admission.ts";
import type { AmountBound, CallMoney } from "../call/call_money.ts";
import { CallSettlement } from "../call/call_settlement.ts";
import { expectedOutput, paidPrice, reserveFunds } from "../call/funds.ts";
import { hasIdempotencyKey, knownAnswer } from "../call/idempotency.ts";
import { admitRequest, checkVersion, type Incoming, requireJson } from "../call/incoming.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { localError, offerOf } from "./chat_attempts.ts";
import { deliverChat } from "./chat_delivery.ts";
import type { AdmittedChat, ArrivedChat, FundedChat, ReadChat } from "./chat_stages.ts";
import { withKeptTurns } from "./kept_responses.ts";
import { type FoundPreset, mayCallPreset, takePreset } from "./preset_request.ts";
import {
  chosenModels,
  coveringRange,
  fitting,
  isLimitOfModel,
  requestedModels,
} from "./preferred_models.ts";
import { CallSearcher, chooseSearch } from "./web_search.ts";

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
  return await serveArrived({ gateway, incoming, style, body, principal, start, path });
}

/** Serves POST /v1/responses/compact: a Responses call, by a provider that compacts conversations. */
export async function serveCompact(
  gateway: Gateway,
  incoming: Incoming,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  const style = "responses";
  return await serveArrived({ gateway, incoming, style, body, principal, start, compacts: true });
}

/**
 * Serves a chat call whose bytes have arrived: reads, admits, funds and delivers it.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveArrived(given: ArrivedChat): Promise<Reply | Response> {
  const isPlain = given.principal.ownKeys === undefined || given.gateway.ownKeys !== undefined;
  const arrived = isPlain ? given : await withOwnKeys(given);
  const { gateway, incoming, style, principal } = arrived;
  requireJson(incoming.request);
  if (style === "messages") checkVersion(incoming.request.headers);
  const reading = readChat(arrived);
  const read = reading instanceof Promise ? await reading : reading;
  const searching = withSearcher(arrived, admitChat(read));
  const admitted = searching.bounds.hostedTools.includes("mcp")
    ? (await import("./mcp.ts")).withMcp(arrived, searching)
    : searching;
  if (hasIdempotencyKey(incoming)) {
    const { preferences, tellsCost } = read;
    const body = { kind: "json", json: admitted.call.body } as const;
    const preferred = preferences === undefined ? "" : preferencesText(preferences);
    const said = tellsCost ? `${preferred} cost` : preferred;
    const known = await knownAnswer(gateway, incoming, principal, body, said);
    if (known !== undefined) return known;
  }
  const funded = await fundModel(arrived, admitted);
  try {
    return await deliverChat(funded, incoming.request);
  } catch (error) {
    funded.settlement.abandon();
    throw error;
  }
}

/** Gives a call the provider keys of its organisation. */
async function withOwnKeys(arrived: ArrivedChat): Promise<ArrivedChat> {
  const { withOwnKeys } = await import("../call/own_keys.ts");
  return { ...arrived, gateway: await withOwnKeys(arrived.gateway, arrived.principal) };
}

/** Reads a request. The preset that it calls is merged into it before anything else of it is read. */
function readChat(arrived: ArrivedChat): ReadChat | Promise<ReadChat> {
  const { gateway, principal, path, body, nested } = arrived;
  const parsed = parseJsonBody(body);
  const name = path?.model ?? parsed.outline["model"];
  return nested === undefined && mayCallPreset(name, parsed)
    ? takePreset(gateway, principal, parsed, name)
      .then(({ body, preset }) => readParsed(arrived, body, preset))
    : readParsed(arrived, parsed);
}

/** Takes what a body says to the gateway only out of it, and brings it into the form of its style. */
function readParsed(
  arrived: ArrivedChat,
  parsed: JsonBody,
  preset?: FoundPreset,
): ReadChat | Promise<ReadChat> {
  const { gateway, incoming, style, path, principal, nested } = arrived;
  const { headers } = incoming.request;
  const asksCost = nested === undefined && headers.get(requestHeaders.cost) === "true";
  const rules = principal.callRules;
  const isUsual = nested === undefined && rules?.tellsCost === true;
  const { body, tellsCost } = readCostRequest(style, parsed, asksCost, isUsual);
  const header = headers.get(requestHeaders.route);
  // A search of the gateway's own names its model itself.
  const defaults = nested === undefined ? rules?.defaults : undefined;
  const calls = preset?.preset.calls;
  const prefers = header !== null || defaults !== undefined || calls !== undefined ||
    mayPreferRoutes(style, body);
  const { providers } = gateway.catalog.current;
  const taken: Taken = prefers
    ? { ...takePreferences({ style, body, header, providers, defaults, preset: calls }), tellsCost }
    : { sent: body, preferences: undefined, tellsCost };
  const { sent } = taken;
  if (preset !== undefined) {
    return presetBody(arrived, sent, preset).then((styled) => readOf(arrived, taken, styled));
  }
  if (style === "responses") {
    return turnsBody(arrived, sent).then((styled) => readOf(arrived, taken, styled));
  }
  if (style === "chat") return readOf(arrived, taken, chatBody(sent));
  return readOf(arrived, taken, { body: path === undefined ? sent : geminiBody(sent, path) });
}

/** Puts the turns that a request continues into it. */
async function turnsBody(arrived: ArrivedChat, sent: JsonBody): Promise<StyledBody> {
  const { gateway, incoming, principal } = arrived;
  const styled = await withKeptTurns(gateway, incoming, principal.accountId, sent);
  return await withRuledTexts(arrived, sent, styled);
}

/** Merges a preset into a request. */
async function presetBody(
  arrived: ArrivedChat,
  sent: JsonBody,
  { called, model, preset }: FoundPreset,
): Promise<StyledBody> {
  const { style, path } = arrived;
  const styled = style === "chat" ? chatBody(sent) : { body: sent, dropped: [] };
  const merged = withPreset(style, styled.body, preset, path === undefined ? model : undefined);
  const { body } = await withRuledTexts(arrived, sent, merged);
  const whole = style === "responses" ? await turnsBody(arrived, body) : {
    body: path === undefined ? body : geminiBody(body, { ...path, model }),
  };
  return { ...whole, dropped: [...styled.dropped, ...merged.dropped], preset: called };
}

/** A parsed body, and what was taken out of it. */
type Taken = Pick<ReadChat, "sent" | "preferences" | "tellsCost">;

/** A body in the form of its style. */
type StyledBody =
  & Pick<ReadChat, "body">
  & Partial<Pick<ReadChat, "dropped" | "turn" | "continues" | "preset">>;

/**
 * Applies the rules of the key to what did not come with the request: a preset, or earlier turns, which another key may
 * have sent, or there were other rules.
 */
async function withRuledTexts(
  { principal: { callRules }, incoming }: ArrivedChat,
  sent: JsonBody,
  styled: StyledBody,
): Promise<StyledBody> {
  if (callRules?.texts === undefined || styled.body === sent) return styled;
  const { bytes, masked } = await withTextRules(styled.body.bytes, callRules.texts);
  if (masked.length === 0) return styled;
  incoming.masked = [...new Set([...incoming.masked ?? [], ...masked])];
  return { ...styled, body: parseJsonBody(bytes) };
}

function readOf(
  arrived: ArrivedChat,
  { sent, preferences, tellsCost }: Taken,
  { body, dropped = [], turn, continues, preset }: StyledBody,
): ReadChat {
  return { arrived, sent, body, dropped, turn, continues, preset, preferences, tellsCost };
}

/** Chooses the model, or the models, and computes what the call can cost. */
function admitChat(read: ReadChat): AdmittedChat {
  const { arrived, body, preferences, tellsCost } = read;
  const { gateway, incoming, style, principal, path, compacts } = arrived;
  const continues = compacts === true ? undefined : read.continues;
  if (principal.callRules?.parts !== undefined) {
    refuseParts(body.outline, principal.callRules.parts);
  }
  const catalog = gateway.catalog.current;
  const asked = compacts === true
    ? readCompactRequest(body.outline)
    : readChatRequest(style, body.outline);
  const inArray = path?.inArray === true;
  const request = inArray || tellsCost || continues !== undefined
    ? { ...asked, inArray, tellsCost, continues }
    : asked;
  const order = automaticOrder(request.model);
  if (preferences === undefined && order === undefined) {
    return admitModel(read, request, chooseModel(catalog, request.model, "chat", principal));
  }
  const { outline } = body;
  const { router } = gateway;
  const wanted = preferences ?? { models: [] };
  const [first, ...fallbacks] = fitting(
    order === undefined
      ? requestedModels(request.model, wanted, { catalog, principal })
      : chosenModels(order, wanted, { request, body: outline, catalog, principal, router }),
    ({ chosen, name }) => admitModel(read, { ...request, model: name }, chosen),
    order === undefined ? undefined : maxAutomaticModels,
  );
  incoming.chosen = first.terms;
  return { ...first, fallbacks };
}

/** Admits a request to one model. */
function admitModel(read: ReadChat, request: ChatRequest, asNamed: ChosenModel): AdmittedChat {
  const { arrived, sent, body, dropped, turn, preferences, preset } = read;
  const byName = preset === undefined ? asNamed : { ...asNamed, mappedFrom: preset };
  const { gateway, incoming, principal, start, compacts, nested } = arrived;
  const { requestId, request: { headers } } = incoming;
  const { style } = request;
  const named = { style, body, name: request.model, principal };
  // Who compacts a conversation searches for nothing, whatever tools it names.
  const { chosen: unbound, searchModel } = compacts === true ||
      byName.catalog.webSearchModel === undefined
    ? { chosen: byName }
    : chooseSearch(byName, named);
  const chosen = withRulesOf(principal, unbound);
  const { catalog, sort } = chosen;
  const model = preferences === undefined
    ? chosen.model
    : withPreferredRoutes(chosen.model, preferences, catalog.providers);
  incoming.chosen = chosen;
  refuseUnseenImages(model, body.outline);
  const urls = fetchedUrls(body.outline);
  refuseFreeChoices(model, request, body.outline);
  const price = applyPrice(model.price);
  const hasKeys = gateway.ownKeys !== undefined || hasSeveralKeys(model, catalog);
  const bounds = chatBounds(request, body, model, price, hasKeys);
  // A client that wants no store sends its items itself.
  const keptTurn = compacts === true || body.outline["store"] === false ? undefined : turn;
  refuseDear(model, bounds, preferences, principal);
  const call: ChatCall = {
    request,
    body,
    model,
    requestId,
    nowSeconds: Math.floor(start.startedAtMs / 1000),
    clientHeader: (name) => headers.get(name) ?? undefined,
    strict: headers.get(requestHeaders.strict) === "true" ||
      preferences?.requireParameters === true,
    noAutoCache: principal.callRules?.autoCache === false ? true : undefined,
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
    tags: nested === undefined ? callTags(incoming, principal, style, sent.outline) : nested.tags,
  };
  return { terms, call, bounds, urls, searchModel, turn: keptTurn, preferences };
}

/** Refuses a model that may cost more than the request or its key's settings accept. */
function refuseDear(
  model: Model,
  { reservedPrice, input: { tokens: inputTokens, isText } }: AdmittedChat["bounds"],
  preferences: RoutePreferences | undefined,
  { callRules }: Principal,
): void {
  if (preferences?.maxPrice === undefined && callRules?.maxPrice === undefined) return;
  const highest = maxUnitPrices(reservedPrice, { inputTokens, isText });
  if (callRules !== undefined) refuseDearer(model, highest, callRules, settingsPricePath);
  if (preferences !== undefined) refuseDearer(model, highest, preferences);
}

/** Whether a provider of the model has several keys. */
function hasSeveralKeys({ routes }: Model, { providers }: Catalog): boolean {
  return routes.some(({ provider }) => {
    const entry = providers[provider];
    return entry?.kind === "http" && entry.apiKeyEnv.length + entry.apiKeyVault.length > 1;
  });
}

/**
 * Funds a call for the first of its models that limits and budgets let begin.
 *
 * @throws {GatewayError} the refusal of its first model, if they let none; nothing is held then
 */
async function fundModel(arrived: ArrivedChat, admitted: AdmittedChat): Promise<FundedChat> {
  let current = admitted;
  let refusal: unknown;
  for (;;) {
    try {
      return await fundChat(arrived, current);
    } catch (error) {
      refusal ??= error;
      const [next, ...fallbacks] = current.fallbacks ?? [];
      if (next === undefined || !isLimitOfModel(error)) throw refusal;
      current = { ...next, fallbacks };
      arrived.incoming.chosen = next.terms;
      // Those of a limit that is passed over would tell the client to wait for it.
      arrived.incoming.rateFigures = undefined;
    }
  }
}

/**
 * Reserves what a call needs to begin, and bounds its output by what it got.
 *
 * @throws {GatewayError} the refusals of {@linkcode reserveFunds}; nothing is held then
 */
async function fundChat(
  { gateway, incoming, nested }: ArrivedChat,
  admitted: AdmittedChat,
): Promise<FundedChat> {
  const { terms, terms: { principal }, bounds, call, fallbacks = [], turn, urls } = admitted;
  const isNested = nested !== undefined;
  const initial = initialOf(gateway, admitted, isNested);
  const others = fallbacks.map((one) => initialOf(gateway, one, isNested));
  const funds = await reserveFunds(gateway, incoming, terms, {
    range: others.length === 0
      ? initial.range
      : coveringRange([initial, ...others].map(({ range }) => range)),
    // What one model may owe is not what another may: with several, too little money is a refusal.
    otherwise: others.length === 0 ? initial.unlimited : undefined,
    expectedTokens: {
      input: bounds.estimatedInputTokens,
      output: expectedOutput(gateway, principal, call.model, bounds.outputTokens),
    },
    localError: () => localError(gateway, admitted),
  });
  const { money, running } = funds;
  const settled = new CallSettlement(gateway, terms, funds);
  const draft = turn && gateway.keptResponses.draft(principal.accountId, turn);
  try {
    const offer = offerOf(gateway, paidCall(gateway, admitted, initial, money), settled, draft);
    const { request, body } = offer.call;
    if (!request.stream) incoming.answer = gateway.answers.open(principal.accountId);
    const { media: { fetchDocument }, bodies } = gateway;
    return {
      ...offer,
      gateway,
      settled,
      draft,
      control: running,
      fallbacks: fallbacks.map((one, i) => paidCall(gateway, one, others[i]!, money)),
      bufferedBody: incoming.bufferedBody,
      urls,
      documents: bounds.input.namesUnseen || urls.length > 0
        ? new RemoteDocuments(request, body, fetchDocument, bodies.open(principal.accountId))
        : undefined,
      bufferedAnswer: incoming.answer,
    };
  } catch (error) {
    draft?.drop();
    settled.abandon();
    throw error;
  }
}

function initialOf(
  { expectations, ownKeys }: Gateway,
  { call, bounds, terms: { principal: { key } } }: AdmittedChat,
  isNested: boolean,
): InitialReservation {
  const { request, model } = call;
  const initial = initialReservation(bounds, {
    stream: request.stream,
    expectedTokens: expectations.tokens(model, key.id),
    usualTokens: expectations.usualTokens(model, key.id),
    leastTokens: leastOutputTokens(request, call.body.outline),
    ...(isNested && { waits: false }),
  });
  const fee = ownKeys?.feeOf(model);
  if (fee === undefined) return initial;
  const { range, unlimited } = initial;
  return {
    ...initial,
    range: rangeAtFee(range, fee),
    unlimited: unlimited && rangeAtFee(unlimited, fee),
  };
}

/** Bounds the output of a call whose reservation does not cover all that it may cost, unless its stream can be stopped. */
function paidCall(
  gateway: Gateway,
  admitted: AdmittedChat,
  { isStoppable }: InitialReservation,
  money: CallMoney,
): AdmittedChat {
  return money.boundBy === undefined || isStoppable ? admitted : withPaidOutput(
    admitted,
    paidPrice(gateway, admitted.call.model, admitted.bounds, money),
    money.boundBy,
  );
}

/** Lets the gateway search the web for a model that cannot, as calls of the same account and key. */
function withSearcher(arrived: ArrivedChat, given: AdmittedChat): AdmittedChat {
  const admitted = given.fallbacks === undefined ? given : {
    ...given,
    fallbacks: given.fallbacks.map((one) => withSearcher(arrived, one)),
  };
  const { searchModel, preferences, terms: { principal, tags }, call } = admitted;
  if (searchModel === undefined) return admitted;
  const { gateway, incoming } = arrived;
  const searcher = new CallSearcher(
    gateway,
    { incoming, principal, searchModel, preferences },
    (search, body) =>
      serveArrived({
        gateway,
        incoming: search,
        style: "messages",
        body,
        principal,
        start: startCall(gateway),
        nested: { tags },
      }),
  );
  return { ...admitted, call: { ...call, searcher } };
}

/** Lowers the limit of a call to what its reservation pays for, if its request allows such a limit. */
function withPaidOutput(
  admitted: AdmittedChat,
  amountMicroVnd: bigint,
  reason: AmountBound,
): AdmittedChat {
  const { bounds, call } = admitted;
  const { request, body } = call;
  const tokens = paidLimit(bounds, request, body.outline, amountMicroVnd);
  if (tokens === undefined) return admitted;
  return {
    ...admitted,
    call: { ...call, request: { ...request, maxTokens: tokens }, outputLimit: tokens },
    bounds: withinOutput(bounds, tokens * request.choices),
    outputLimit: { tokens, reason },
  };
}
