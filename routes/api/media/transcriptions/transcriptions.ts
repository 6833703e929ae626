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
import { taggedFields } from "../../../../core/calls/body/sent_tags.ts";
import { applyPrice, costOfUnits } from "../../../../core/billing/price.ts";
import {
  maxTranscriptionBodyBytes,
  readTranscriptionRequest,
  type TranscriptionResult,
  type TranscriptionTask,
  transcriptionWork,
} from "../../../../core/media/transcription/attempt.ts";
import { chooseRoutes, startCall } from "../../call/admission.ts";
import { costHeaders, wholeAnswer } from "../../call/response_headers.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import {
  deliverEvents,
  type EventDelivery,
  lateEvents,
  settlerOf,
} from "../base/event_delivery.ts";
import { type Found, type MediaCall, serveMediaCall } from "../base/media_call.ts";

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
  const chosen = incoming.chosen = chooseRoutes(catalog, request.model, "transcription", principal);
  if (hasIdempotencyKey(incoming)) {
    const known = await knownAnswer(gateway, incoming, principal, request.body);
    if (known !== undefined) return known;
  }
  const price = applyPrice(chosen.model.price);
  const { seconds } = request;
  const units = price.unit === "second" ? seconds : 1;
  const deliveryOf = (call: MediaCall): EventDelivery => ({ call, units, seconds });
  return await serveMediaCall(
    gateway,
    incoming,
    {
      principal,
      chosen,
      start,
      style: "transcriptions",
      operation: "transcription",
      stream: request.stream,
      size: seconds,
      price,
      reserved: costOfUnits(price, units),
      fields: taggedFields(request.body),
      urls: urlsOfBody(request.body),
    },
    transcriptionWork(request, incoming.requestId),
    {
      deliver: (call, found) => deliver(deliveryOf(call), found),
      lateStream: (call, found) => lateEvents(deliveryOf(call), found),
    },
  );
}
