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
  readChatRequest,
  readCompactRequest,
} from "../../../core/calls/request/chat_request.ts";
import { geminiBody, type GeminiPath } from "../../../core/calls/exchange/gemini_body.ts";
import { isLate } from "../../../core/calls/stream/early_stream.ts";
import { RemoteDocuments } from "../../../core/calls/request/remote_documents.ts";
import type { Catalog, Model } from "../../../core/catalog/catalog.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import type { AmountBound } from "../call/call_money.ts";
import {
  type CallStart,
  callTags,
  chooseModel,
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
  findRoute,
  localError,
} from "./chat_attempts.ts";
import { expectedOutput, reserveFunds } from "../call/funds.ts";
import { hasIdempotencyKey, knownAnswer } from "../call/idempotency.ts";
import { CallSettlement } from "../call/call_settlement.ts";
import type { CallTags } from "../../../core/billing/usage/call_tags.ts";
import { ChatSettlement, PaidRounds } from "./chat_settlement.ts";
import type { Gateway } from "../gateway/gateway.ts";
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
import { applyPrice } from "../../../core/billing/price.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import type { OutputLimitNotice } from "../call/response_headers.ts";

// Reads and checks a chat request, before any money is reserved for it.

/** A chat call that was read and checked. Nothing is reserved for it yet. */
interface CheckedChat {
  readonly terms: Terms;
  readonly call: ChatCall;
  readonly bounds: ChatBounds;
  readonly urls: readonly FetchedUrl[];
  /** Runs the searches of the model, which can run none itself. */
  readonly searchModel?: Model | undefined;
  /** What is kept of the call for later turns; absent: nothing. */
  readonly turn?: TurnInput | undefined;
  /** Set if the provider gets a lower limit of output than the client's, because no more is paid for. */
  readonly outputLimit?: OutputLimitNotice | undefined;
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

/** Chooses the model and computes what the call can cost. */
function checkChat(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
  { principal, start, path, compacts, isNested, tags: given }: AdmittedChat,
  { sent, styled: { body, dropped = [], turn } }: {
    readonly sent: JsonBody;
    readonly styled: StyledBody;
  },
): CheckedChat {
  const { requestId, request: { headers } } = incoming;
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
  const { model } = incoming.chosen = chosen;
  refuseUnseenImages(model, body.outline);
  const urls = fetchedUrls(body.outline);
  refuseFreeChoices(model, request, body.outline);
  const price = applyPrice(model.price);
  const bounds = chatBounds(request, body, model, price, hasSeveralKeys(model, catalog));
  // A client that wants no store sends its items itself.
  const keptTurn = compacts === true || body.outline["store"] === false ? undefined : turn;
  const call: ChatCall = {
    request,
    body,
    model,
    requestId,
    nowSeconds: Math.floor(start.startedAtMs / 1000),
    clientHeader: (name) => headers.get(name) ?? undefined,
    strict: headers.get(requestHeaders.strict) === "true",
    dropped,
    ...(keptTurn !== undefined && { onItem: gateway.recentItems.keeper(principal.accountId) }),
  };
  const terms: Terms = {
    ...chosen,
    requestId,
    principal,
    start,
    style,
    stream: request.stream,
    price,
    tags: isNested === true ? given : callTags(incoming.request, principal, style, sent.outline),
  };
  return { terms, call, bounds, urls, searchModel, turn: keptTurn };
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
  /** What the path of a Gemini request says. */
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
  const { body: bytes, principal, isNested, path } = admitted;
  requireJson(incoming.request);
  if (style === "messages") checkVersion(incoming.request.headers);
  const sent = parseJsonBody(bytes);
  const styled = style === "responses"
    ? await withKeptTurns(gateway, incoming, principal.accountId, sent)
    : styledBody(style, sent, path);
  const read = checkChat(gateway, style, incoming, admitted, { sent, styled });
  const checked = withSearcher(gateway, incoming, read);
  if (hasIdempotencyKey(incoming)) {
    const body = { kind: "json", json: checked.call.body } as const;
    const known = await knownAnswer(gateway, incoming, principal, body);
    if (known !== undefined) return known;
  }
  const { terms, bounds, call } = checked;
  const keyId = principal.key.id;
  const initial = initialReservation(bounds, {
    stream: call.request.stream,
    expectedTokens: gateway.expectations.tokens(call.model, keyId),
    usualTokens: gateway.expectations.usualTokens(call.model, keyId),
    leastTokens: leastOutputTokens(call.request, call.body.outline),
    ...(isNested === true && { waits: false }),
  });
  const funds = await reserveFunds(gateway, incoming, terms, {
    range: initial.range,
    otherwise: initial.unlimited,
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
    const { reservation: { amountMicroVnd }, boundBy } = funds.money;
    const paid = boundBy === undefined || initial.isStoppable
      ? checked
      : withPaidOutput(checked, amountMicroVnd, boundBy);
    return await deliver(gateway, incoming, paid, { settled: settlement, draft });
  } catch (error) {
    draft?.drop();
    settlement.abandon();
    throw error;
  }
}

/** Lets the gateway search the web for a model that cannot, as calls of the same account and key. */
function withSearcher(gateway: Gateway, incoming: Incoming, checked: CheckedChat): CheckedChat {
  const { searchModel, terms: { principal, tags }, call } = checked;
  if (searchModel === undefined) return checked;
  const searcher = new CallSearcher(
    gateway,
    { incoming, principal, searchModel },
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

/** Tries the routes for a call whose money is reserved, and settles it. */
async function deliver(
  gateway: Gateway,
  incoming: Incoming,
  checked: CheckedChat,
  { settled, draft }: {
    readonly settled: CallSettlement;
    readonly draft: TurnDraft | undefined;
  },
): Promise<Reply | Response> {
  const { bounds, urls, outputLimit } = checked;
  const { terms: { principal }, funds: { money, running: control } } = settled;
  const rounds = checked.call.searcher === undefined ? undefined : new PaidRounds(money, bounds);
  const call = rounds === undefined ? checked.call : { ...checked.call, rounds };
  const { request, body } = call;
  const counted = keptForCount(body, request.stream);
  const input = { request, bounds, counted, rounds, draft };
  const settlement = new ChatSettlement(gateway, settled, input);
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
    gateway,
    call,
    settlement,
    control,
    paidTokens: paidOutputTokens(bounds, money.reservation.amountMicroVnd),
    outputLimit,
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
    return await deliverAnswer(delivery, found, found.result);
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
  return deliverStream(delivery, found, found.result);
}
