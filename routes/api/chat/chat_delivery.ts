/**
 * Delivers the answer of a chat call and settles it: a whole answer, a stream, a stream that begins early, or the error
 * of the last route.
 *
 * The search for a route returns what it found; only this module settles a call, so that one place decides which
 * status and which bytes the client gets with which receipt.
 */
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import type { StartedStream, WholeAnswer } from "../../../core/calls/attempts/attempt.ts";
import { ArrayStream } from "../../../core/calls/exchange/gemini_body.ts";
import { responseOfEvent } from "../../../core/calls/request/kept_responses.ts";
import { arrivalOf, earlyStream, isLate } from "../../../core/calls/stream/early_stream.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../core/calls/stream/metered_stream.ts";
import { GatewayError, wireStatus } from "../../../core/lib/errors/errors.ts";
import { encodeSseEvent, keepAliveComment } from "../../../core/lib/sse/writer.ts";
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import { idleMs } from "../../../core/routing/timeouts.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { createNativePipe } from "../../../core/wire/convert/dialects.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";
import { bytesLeave } from "../../http/query.ts";
import {
  callHeaders,
  costHeaders,
  eventStream,
  streamOf,
  wholeAnswer,
} from "../call/response_headers.ts";
import { type Finding, findRoute } from "./chat_attempts.ts";
import type { AnsweredChat, FailedChat, FundedChat } from "./chat_stages.ts";

/**
 * Sent during silence: a ping event where the style has one, a comment where not
 * (docs/internals/WIRE_FORMATS.md#silence-in-streams). The `keepalive` event
 * that Responses providers send would break clients here: it must not come before `response.created`, and older
 * releases of the official library do not know it at all.
 */
const keepAlives: Record<Style, Uint8Array> = {
  messages: encodeSseEvent('{"type": "ping"}', "ping"),
  chat: keepAliveComment,
  responses: keepAliveComment,
  // The vendor's libraries read any other line as JSON.
  gemini: new TextEncoder().encode("\n\n"),
};

function headersOf(funded: FundedChat, dropped: readonly string[]): [string, string][] {
  const { call, settlement, outputLimit } = funded;
  return callHeaders({
    model: call.model,
    mappedFrom: settlement.terms.mappedFrom,
    price: settlement.terms.price,
    dropped,
    outputLimit,
  });
}

/** Delivers a whole answer, after settling it. */
async function deliverAnswer(answered: AnsweredChat, answer: WholeAnswer): Promise<Reply> {
  const { funded, begun, route, attempts } = answered;
  const { reading, clientBytes } = answer;
  const receipt = await funded.settlement.settle({
    outcome: reading.empty && reading.usage === undefined ? "empty" : "completed",
    status: 200,
    reading: { ...reading, sawOutput: !reading.empty },
    route,
    attempts,
    response: () => clientBytes,
  });
  const headers = [...headersOf(funded, begun.dropped), ...costHeaders(receipt)];
  const bytes = begun.cost?.whole(clientBytes, receipt) ?? clientBytes;
  return wholeAnswer(bytes, headers, funded.bufferedAnswer, funded.gateway.deadlines);
}

function meteredInput(
  { funded, route, attempts, begun }: AnsweredChat,
  started: StartedStream,
): MeteredStreamInput {
  const { gateway, call, settlement, control, paidTokens } = funded;
  const { cost } = begun;
  let receipt: Receipt | undefined;
  return {
    started,
    keepAlive: keepAlives[call.request.style],
    idleMs: idleMs(settlement.terms.catalog, route),
    deadlines: gateway.deadlines,
    control,
    bounds: [settlement.outputLimit(route, attempts), ...settlement.moneyBounds(paidTokens, route)],
    maxBytes: settlement.maxStreamBytes(route),
    settle: async (outcome, endCode) => {
      const { reading } = started.pipe;
      receipt = await settlement.settle({
        outcome,
        endCode,
        status: 200,
        reading,
        route,
        attempts,
        response: () => responseOfEvent(begun.lastEvent?.()),
      });
    },
    ...(cost !== undefined && {
      sealed: (tail: Uint8Array) => receipt === undefined ? tail : cost.tail(tail, receipt),
    }),
    bytesLeave,
    onBug: settlement.onBug,
  };
}

function streamType({ call }: FundedChat): string {
  return call.request.inArray === true ? "application/json" : eventStream;
}

/** Delivers a stream whose first output has arrived. */
function deliverStream(answered: AnsweredChat, started: StartedStream): Reply {
  const { funded, begun: { dropped } } = answered;
  const stream = meteredStream(meteredInput(answered, started));
  return streamOf(stream, headersOf(funded, dropped), streamType(funded));
}

/** Writes the error event for a failed call whose client already has its status. */
function errorEvent({ call }: FundedChat, error: GatewayError): Uint8Array {
  const { request, requestId, nowSeconds } = call;
  const pipe = createNativePipe(request.style, {
    clientModel: request.model,
    requestId,
    clientWantsUsage: request.wantsUsage,
    nowSeconds,
    injectedUsage: false,
  });
  return (request.inArray === true ? new ArrayStream(pipe) : pipe).fail(error);
}

/** Status of a stream that began before a route had answered. */
const earlyStatus = 200;

/**
 * Settles a call that no route has answered.
 *
 * @param statusSent the status that the client already has; default: that of the error
 * @throws {GatewayError} the client's error, in any case
 */
async function settleFailure(
  { funded: { call, control, settlement }, error, attempts }: FailedChat,
  statusSent?: number,
): Promise<never> {
  const style = call.request.style === "messages" ? "messages" : "chat";
  await settlement.settle({
    outcome: control.stopped === "client_gone" ? "client_gone" : "failed",
    status: statusSent ?? wireStatus(error, style),
    reading: undefined,
    route: undefined,
    attempts,
  });
  throw error;
}

/**
 * Delivers a stream that begins before there is any output: its client has waited for `keepAliveMs`, and proxies
 * would soon close the connection.
 */
function deliverEarly(funded: FundedChat, { ended, dropped }: Finding): Reply {
  const { gateway: { deadlines }, call, settlement, control, fallbacks } = funded;
  const answered = ended.then((end) => end.ok ? end : settleFailure(end, earlyStatus));
  const arrival = arrivalOf(answered, {
    streamOf: (found) =>
      found.result.kind === "stream" ? meteredInput(found, found.result) : undefined,
    errorEvent: (error) => errorEvent(funded, error),
    abandon: () => settlement.abandon(),
  });
  funded.bufferedBody?.keepUntil(answered);
  const keepAlive = keepAlives[call.request.style];
  const stream = earlyStream({ arrival, keepAlive, deadlines, control });
  // With several models it is not known yet which of them will answer.
  const headers = fallbacks.length > 0 ? [] : headersOf(funded, [...dropped]);
  return streamOf(stream, headers, streamType(funded));
}

/**
 * Finds a route for a funded call, delivers its answer, and settles the call.
 *
 * A call that is not streamed runs to its end when its client leaves: the provider would finish and charge it anyway.
 *
 * @throws {GatewayError} when no route answered; the call is settled then
 */
export async function deliverChat(
  funded: FundedChat,
  client: Pick<HttpRequest, "signal">,
): Promise<Reply> {
  const { gateway: { deadlines }, call: { request: { stream } }, control } = funded;
  const finding = findRoute(funded);
  if (stream) {
    // Reading the signal makes the server watch the connection, which costs as much as parsing the body, so it is done
    // while the provider works.
    control.watchClient(client.signal);
    if (await isLate(deadlines, finding.ended)) return deliverEarly(funded, finding);
  }
  const end = await finding.ended;
  if (!end.ok) return await settleFailure(end);
  const { result } = end;
  return result.kind === "stream" ? deliverStream(end, result) : await deliverAnswer(end, result);
}
