/**
 * `POST /v1/audio/transcriptions` and `/v1/audio/translations`. Charged by the second of audio.
 *
 * - Folder `routes/api/media/transcriptions/`: transcriptions and translations of audio.
 * - In: an admitted form with one audio file.
 * - Out: the text as the provider sent it, or its events, settled, with its receipt.
 * - Never: charges for half a transcript, or by a length that the caller declared.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { urlsOfBody } from "../../../../core/calls/body/body.ts";
import { isLate } from "../../../../core/calls/stream/early_stream.ts";
import { applyPrice, costOfUnits } from "../../../../core/billing/price.ts";
import {
  maxTranscriptionBodyBytes,
  readTranscriptionRequest,
  type TranscriptionResult,
  type TranscriptionTask,
  transcriptionWork,
} from "../../../../core/media/transcription/attempt.ts";
import { chooseModel } from "../../call/admission.ts";
import { startCall } from "../../call/call_settlement.ts";
import { wholeAnswer } from "../../call/whole_answer.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import {
  deliverEvents,
  deliverEventsEarly,
  type EventDelivery,
  type Found,
  settlerOf,
} from "../base/event_delivery.ts";
import { beginMediaCall, failedCall, type MediaCall, tryRoutes } from "../base/media_call.ts";
import { costHeaders } from "../../call/response_headers.ts";

/**
 * Tries the routes.
 *
 * @param statusSent the status that the client already has, if it has one
 * @throws {GatewayError} when no route gave a transcript; the call is settled then
 */
async function find(
  call: MediaCall<TranscriptionResult>,
  statusSent: () => number | undefined,
): Promise<Found<TranscriptionResult>> {
  const found = await tryRoutes(call);
  if (!found.ok) throw await failedCall(call, found, statusSent());
  return found;
}

async function deliver(
  delivery: EventDelivery,
  found: Found<TranscriptionResult>,
): Promise<Reply> {
  const { gateway, settlement, headers, bufferedAnswer } = delivery.call;
  settlement.firstOutputAt(gateway.clock.monotonicMs());
  const { result } = found;
  if (result.kind === "events") return deliverEvents(delivery, found, result.started);
  const receipt = await settlerOf(delivery, found)("completed");
  return wholeAnswer(
    result.bytes,
    [...headers, ...costHeaders(receipt)],
    bufferedAnswer,
    gateway.deadlines,
    result.contentType,
  );
}

/**
 * Serves one call. A transcript that breaks off at the provider is free; a client that leaves pays, since the provider
 * hears all of the audio.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveTranscription(
  gateway: Gateway,
  task: TranscriptionTask,
  incoming: Incoming,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming, {
    maxBytes: maxTranscriptionBodyBytes,
  });
  const contentType = incoming.request.headers.get("content-type") ?? "";
  const request = readTranscriptionRequest(task, body, contentType);
  const catalog = gateway.catalog.current;
  const chosen = incoming.chosen = chooseModel(catalog, request.model, "transcription", principal);
  if (hasIdempotencyKey(incoming)) {
    const known = await knownAnswer(gateway, incoming, principal, request.body);
    if (known !== undefined) return known;
  }
  const price = applyPrice(chosen.model.price);
  const { seconds } = request;
  const units = price.unit === "second" ? seconds : 1;
  const call = await beginMediaCall(gateway, {
    incoming,
    principal,
    chosen,
    style: "transcriptions",
    operation: "transcription",
    stream: request.stream,
    price,
    worstCaseMicroVnd: costOfUnits(price, units),
    dropped: [],
    urls: urlsOfBody(request.body),
    start,
  }, transcriptionWork(request, incoming.requestId));
  try {
    let statusSent: number | undefined;
    const finding = find(call, () => statusSent);
    if (request.stream && await isLate(gateway.deadlines, finding)) {
      statusSent = 200;
      return deliverEventsEarly({ call, units, seconds }, finding);
    }
    return await deliver({ call, units, seconds }, await finding);
  } catch (error) {
    call.settlement.abandon();
    throw error;
  }
}
