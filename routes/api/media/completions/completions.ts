/**
 * `POST /v1/completions`: by models that complete texts, and by chat models, which get the prompt as a message.
 *
 * - Folder `routes/api/media/completions/`: completions of texts.
 * - In: an admitted request with a prompt.
 * - Out: a completion, whole or streamed, settled, with its receipt.
 * - Never: releases the end of an answer before its debit and receipt are durable.
 */
import { fetchedUrls } from "../../../../core/net/remote/fetched_urls.ts";
import {
  chatBounds,
  initialReservation,
  leastOutputTokens,
  paidLimit,
  withinOutput,
} from "../../../../core/calls/bounds/chat_bounds.ts";
import {
  maxBytesOfAnswer,
  maxBytesWithReasoning,
  maxOutputBytes,
  maxStreamBytes,
  OutputLimit,
} from "../../../../core/calls/bounds/output_limit.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import type { Model } from "../../../../core/catalog/catalog.ts";
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import {
  chatBodyOf,
  completionAnswer,
  type CompletionResult,
  CompletionSource,
  completionWork,
} from "../../../../core/media/completion/attempt.ts";
import {
  type CompletionRequest,
  readCompletionRequest,
} from "../../../../core/media/completion/request.ts";
import { estimatedTokens } from "../../../../core/media/base/input_charge.ts";
import {
  type CallStart,
  chooseRoutes,
  refuseFreeChoices,
  startCall,
} from "../../call/admission.ts";
import type { CallCharge } from "../../call/call_settlement.ts";
import { serveArrived } from "../../chat/chat.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import {
  admitRequest,
  type AuthenticatedRequest,
  type Incoming,
  requireJson,
} from "../../call/incoming.ts";
import { type Found, type MediaCall, serveMediaCall } from "../base/media_call.ts";
import { expectedOutput, paidPrice } from "../../call/funds.ts";
import {
  costHeaders,
  outputLimitHeader,
  streamOf,
  wholeAnswer,
} from "../../call/response_headers.ts";
import {
  chargeForEndedChat,
  type EndedReading,
  providerUseOf,
  type QuotedChat,
} from "../../../../core/calls/bounds/chat_charge.ts";
import type { StartedStream } from "../../../../core/calls/attempts/attempt.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../../core/calls/stream/metered_stream.ts";
import type { AppliedPrice, Outcome } from "../../../../core/billing/usage/receipt.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import { idleMs } from "../../../../core/routing/timeouts.ts";
import { bytesLeave } from "../../../http/query.ts";

// Delivers what the attempts of a completion found, settled before its last byte.

/** A call with what pricing it needs. */
interface CompletionDelivery {
  readonly call: MediaCall;
  readonly quoted: QuotedChat;
}

function chargeOf({ quoted }: CompletionDelivery, outcome: Outcome, reading: EndedReading) {
  return chargeForEndedChat(quoted, { outcome, reading, runsTools: false, carriesTier: false });
}

/** The same with what the provider counted. */
function settledCharge(
  delivery: CompletionDelivery,
  outcome: Outcome,
  reading: EndedReading,
): CallCharge {
  const charge = chargeOf(delivery, outcome, reading);
  const charged = charge.usage;
  return {
    ...charge,
    providerUse: providerUseOf({ outcome, reading, charged, carriedTier: undefined }),
  };
}

function meteredInput(
  delivery: CompletionDelivery,
  { route, attempts }: Found<unknown>,
  started: StartedStream,
): MeteredStreamInput {
  const { call: { gateway, control, settlement }, quoted: { bounds, model } } = delivery;
  const { wantedOutputTokens } = bounds;
  const most = {
    answer: maxOutputBytes(wantedOutputTokens),
    withReasoning: maxBytesWithReasoning(wantedOutputTokens, model),
  };
  return {
    started,
    keepAlive: keepAliveComment,
    deadlines: gateway.deadlines,
    control,
    idleMs: idleMs(settlement.terms.catalog, route),
    bounds: [new OutputLimit(most, (reading) => chargeOf(delivery, "cut", reading).usage)],
    maxBytes: maxStreamBytes(wantedOutputTokens),
    settle: async (outcome, endCode) => {
      const charge = settledCharge(delivery, outcome, started.pipe.reading);
      await settlement.settle({ outcome, endCode, status: 200, route, attempts }, charge);
    },
    bytesLeave,
    onBug: settlement.onBug,
  };
}

/** Delivers the completion of a route that answered in time. */
async function deliverCompletion(
  delivery: CompletionDelivery,
  found: Found<CompletionResult>,
): Promise<Reply> {
  const { gateway, settlement, headers, bufferedAnswer } = delivery.call;
  settlement.firstOutputAt(gateway.clock.monotonicMs());
  const { result, route, attempts } = found;
  if (result.kind === "stream") {
    return streamOf(meteredStream(meteredInput(delivery, found, result.started)), headers);
  }
  const { reading, bytes } = result;
  const outcome = reading.empty && reading.usage === undefined ? "empty" : "completed";
  const charge = settledCharge(delivery, outcome, { ...reading, sawOutput: !reading.empty });
  const receipt = await settlement.settle({ outcome, status: 200, route, attempts }, charge);
  const all = [...headers, ...costHeaders(receipt)];
  return wholeAnswer(bytes, all, bufferedAnswer, gateway.deadlines);
}

/**
 * Serves one completion.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveCompletions(
  gateway: Gateway,
  incoming: Incoming,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const admitted = await admitRequest(gateway, incoming);
  requireJson(incoming.request);
  const sent = parseJsonBody(admitted.body);
  const { model } = sent.value;
  const found = typeof model === "string" ? gateway.catalog.current.find(model) : undefined;
  if (found?.kind === "completion") return await serveNative(gateway, incoming, admitted, start);
  const { principal } = admitted;
  const body = chatBodyOf(sent);
  const chat = { gateway, incoming, style: "chat", body, principal, start } as const;
  return await inCompletionForm(await serveArrived(chat));
}

/** Converts a chat answer; an answer that was kept for an idempotency key has its form already. */
async function inCompletionForm(reply: Reply | Response): Promise<Reply | Response> {
  if (!(reply instanceof Reply) || reply.body === null) return reply;
  const { status, body } = reply;
  const headers = [...reply.headers]
    .filter(([name]) => name !== "content-length")
    .map(([name, value]): [string, string] => [name, value]);
  const isStream = reply.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (isStream && !(body instanceof Uint8Array)) {
    return new Reply(status, headers, new CompletionSource(body));
  }
  const whole = body instanceof Uint8Array ? body : await reply.toResponse().bytes();
  return new Reply(status, headers, completionAnswer(whole));
}

/** A completion as the client asked for it, at the model's price. */
interface AskedCompletion {
  readonly request: CompletionRequest;
  readonly model: Model;
  readonly price: AppliedPrice;
}

/** Quotes the most that a completion can be. Beginnings of prompts are remembered for chats only. */
function quoteOf({ request, model, price }: AskedCompletion): QuotedChat {
  const { bounds: asked, body, input } = request;
  const bounds = {
    ...chatBounds(asked, body, model, price),
    estimatedInputTokens: estimatedTokens(input),
    prefixes: undefined,
  };
  return { model, request: { choices: asked.choices }, price, bounds };
}

/** Lowers a quote to what is reserved for it. */
function withinFunds(
  quoted: QuotedChat,
  { bounds: asked, body }: CompletionRequest,
  amountMicroVnd: bigint,
): { readonly tokens: number; readonly quoted: QuotedChat } {
  const tokens = paidLimit(quoted.bounds, asked, body.outline, amountMicroVnd) ?? 0;
  const bounds = withinOutput(quoted.bounds, tokens * asked.choices);
  return { tokens, quoted: { ...quoted, bounds } };
}

async function serveNative(
  gateway: Gateway,
  incoming: Incoming,
  { body, principal }: AuthenticatedRequest,
  start: CallStart,
): Promise<Reply | Response> {
  const request = readCompletionRequest(body);
  const { bounds: asked } = request;
  const catalog = gateway.catalog.current;
  const chosen = incoming.chosen = chooseRoutes(catalog, asked.model, "completion", principal);
  refuseFreeChoices(chosen.model, asked, request.body.value);
  if (hasIdempotencyKey(incoming)) {
    const keyed = { kind: "json", json: request.body } as const;
    const known = await knownAnswer(gateway, incoming, principal, keyed);
    if (known !== undefined) return known;
  }
  const { model } = chosen;
  const price = applyPrice(model.price);
  let quoted = quoteOf({ request, model, price });
  const { bounds } = quoted;
  let outputLimit: number | undefined;
  const work = completionWork({
    outputLimit: () => outputLimit,
    request,
    requestId: incoming.requestId,
    nowSeconds: Math.floor(start.startedAtMs / 1000),
    maxAnswerBytes: maxBytesOfAnswer(bounds.wantedOutputTokens),
  });
  const initial = initialReservation(bounds, {
    // The reservation does not follow the stream.
    stream: false,
    expectedTokens: bounds.outputTokens,
    usualTokens: gateway.expectations.usualTokens(model, principal.key.id),
    leastTokens: leastOutputTokens(asked, request.body.outline),
  });
  const expectedTokens = {
    input: bounds.estimatedInputTokens,
    output: expectedOutput(gateway, principal, model, bounds.outputTokens),
  };
  return await serveMediaCall(
    gateway,
    incoming,
    {
      principal,
      chosen,
      start,
      style: "completions",
      operation: "completion",
      stream: asked.stream,
      size: expectedTokens.output,
      price,
      reserved: initial.range,
      expectedTokens,
      fields: request.body.outline,
      urls: fetchedUrls(request.body.outline),
    },
    work,
    {
      begun({ gateway, settlement: { funds: { money } }, headers }) {
        const { boundBy: reason } = money;
        if (reason === undefined) return;
        const paid = withinFunds(quoted, request, paidPrice(gateway, model, bounds, money));
        quoted = paid.quoted;
        outputLimit = paid.tokens;
        headers.push(outputLimitHeader({ tokens: paid.tokens, reason }));
      },
      deliver: (call, found) => deliverCompletion({ call, quoted }, found),
      lateStream: (call, found) =>
        found.result.kind === "stream"
          ? meteredInput({ call, quoted }, found, found.result.started)
          : undefined,
    },
  );
}
