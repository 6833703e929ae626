/** Delivers what the attempt loop found: a whole answer, a stream, or a stream that began early. */
import type { BufferedAnswer } from "../../../core/lib/bytes/answer_budget.ts";
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import type { BufferedBody } from "../../../core/lib/bytes/body_budget.ts";
import type { StartedStream, WholeAnswer } from "../../../core/calls/attempts/attempt.ts";
import type { AttemptLoopResult, CallControl } from "../../../core/calls/attempts/attempt_loop.ts";
import type { ChatCall, ChatExchange } from "../../../core/calls/exchange/chat_call.ts";
import type { FetchedUrl } from "../../../core/net/remote/fetched_urls.ts";
import { arrivalOf, earlyStream } from "../../../core/calls/stream/early_stream.ts";
import { ArrayStream } from "../../../core/calls/exchange/gemini_body.ts";
import type { RemoteDocuments } from "../../../core/calls/request/remote_documents.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../core/calls/stream/metered_stream.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { createNativePipe } from "../../../core/wire/convert/dialects.ts";
import type { GatewayError } from "../../../core/lib/errors/errors.ts";
import { idleMs } from "../../../core/routing/timeouts.ts";
import { encodeSseEvent, keepAliveComment } from "../../../core/lib/sse/writer.ts";
import { bytesLeave } from "../../http/query.ts";
import type { ChatSettlement } from "./chat_settlement.ts";
import type { Gateway } from "../gateway/gateway.ts";
import {
  callHeaders,
  costHeaders,
  eventStream,
  type OutputLimitNotice,
  streamOf,
} from "../call/response_headers.ts";
import { wholeAnswer } from "../call/whole_answer.ts";

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

/** An admitted chat call, with what finding and delivering its answer needs. */
export interface Delivery {
  readonly gateway: Gateway;
  readonly call: ChatCall;
  readonly settlement: ChatSettlement;
  readonly control: CallControl;
  /** Output tokens that were reserved when the call began. */
  readonly paidTokens: number;
  readonly outputLimit: OutputLimitNotice | undefined;
  /** The counted memory of the request's body, which is kept as long as routes are tried. */
  readonly bufferedBody: BufferedBody | undefined;
  /** URLs in the request that its provider would fetch. */
  readonly urls: readonly FetchedUrl[];
  /** Documents that the request only names; absent where it names none. */
  readonly documents: RemoteDocuments | undefined;
  /** Counts the memory of a whole answer; absent for a stream. */
  readonly bufferedAnswer: BufferedAnswer | undefined;
  /** Request fields that the routes tried so far could not carry, for an answer that begins before a route is found. */
  readonly dropped: Set<string>;
}

/** The route that answered, with its first output. */
export type Found = Extract<
  AttemptLoopResult<ChatExchange, StartedStream | WholeAnswer>,
  { readonly ok: true }
>;

function headersOf(delivery: Delivery, dropped: readonly string[]): [string, string][] {
  const { call, settlement, outputLimit } = delivery;
  return callHeaders({
    model: call.model,
    mappedFrom: settlement.terms.mappedFrom,
    price: settlement.terms.price,
    dropped,
    outputLimit,
  });
}

/** Delivers a whole answer, after settling it. */
export async function deliverAnswer(
  delivery: Delivery,
  found: Found,
  answer: WholeAnswer,
): Promise<Reply> {
  const { reading, clientBytes } = answer;
  const receipt = await delivery.settlement.settle({
    outcome: reading.empty && reading.usage === undefined ? "empty" : "completed",
    status: 200,
    reading: { ...reading, sawOutput: !reading.empty },
    route: found.route,
    attempts: found.attempts,
  });
  const headers = [...headersOf(delivery, found.begun.dropped), ...costHeaders(receipt)];
  return wholeAnswer(clientBytes, headers, delivery.bufferedAnswer, delivery.gateway.deadlines);
}

function meteredInput(
  delivery: Delivery,
  found: Found,
  started: StartedStream,
): MeteredStreamInput {
  const { gateway, call, settlement, control, paidTokens } = delivery;
  const { route, attempts } = found;
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
      await settlement.settle({ outcome, endCode, status: 200, reading, route, attempts });
    },
    bytesLeave,
    onBug: settlement.onBug,
  };
}

function streamType({ call }: Delivery): string {
  return call.request.inArray === true ? "application/json" : eventStream;
}

/** Delivers a stream whose first output has arrived. */
export function deliverStream(
  delivery: Delivery,
  found: Found,
  started: StartedStream,
): Reply {
  const stream = meteredStream(meteredInput(delivery, found, started));
  return streamOf(stream, headersOf(delivery, found.begun.dropped), streamType(delivery));
}

/** Writes the error event for a failed call whose client already has its status. */
function errorEvent({ call }: Delivery, error: GatewayError): Uint8Array {
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

/**
 * Delivers a stream that begins before there is any output: its client has waited for `keepAliveMs`, and proxies
 * would soon close the connection. `finding` resolves with what was found, or rejects with the settled failure.
 */
export function deliverEarly(delivery: Delivery, finding: Promise<Found>): Reply {
  const { gateway, call, settlement, control } = delivery;
  const arrival = arrivalOf(finding, {
    streamOf: (found) =>
      found.result.kind === "stream" ? meteredInput(delivery, found, found.result) : undefined,
    errorEvent: (error) => errorEvent(delivery, error),
    abandon: () => settlement.abandon(),
  });
  delivery.bufferedBody?.keepUntil(finding);
  const stream = earlyStream({
    arrival,
    keepAlive: keepAlives[call.request.style],
    deadlines: gateway.deadlines,
    control,
  });
  return streamOf(stream, headersOf(delivery, [...delivery.dropped]), streamType(delivery));
}
