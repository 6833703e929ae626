/**
 * `POST /v1/audio/speech`: audio is relayed as it arrives; one price per call.
 *
 * - Folder `routes/api/media/speech/`: speech calls.
 * - In: an admitted request for a speech model.
 * - Out: audio or its events as they come, settled, with its receipt.
 * - Never: releases the last byte of audio before the call is settled.
 */
import { fetchedUrls } from "../../../../core/net/remote/fetched_urls.ts";
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { readMediaBody } from "../../../../core/calls/body/body.ts";
import { applyPrice, costOfUnits } from "../../../../core/billing/price.ts";
import {
  readSpeechRequest,
  type SpeechResult,
  speechWork,
} from "../../../../core/media/speech/attempt.ts";
import { chooseRoutes, startCall } from "../../call/admission.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { admitRequest, type Incoming, requireJson } from "../../call/incoming.ts";
import { type Found, type MediaCall, serveMediaCall } from "../base/media_call.ts";
import { deliverEvents, lateEvents, relayedBody, settlerOf } from "../base/event_delivery.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { answerHeaders } from "../../../http/own_headers.ts";

// Delivers what the attempts of a speech call found, settled before its last byte.

type Audio = Extract<SpeechResult, { readonly kind: "audio" }>;

function deliverAudio(call: MediaCall, found: Found<SpeechResult>, audio: Audio): Response {
  const settle = settlerOf({ call, units: 1 }, found);
  const body = relayedBody({
    ...audio,
    control: call.control,
    onEnd: async (outcome, endCode) => void await settle(outcome, endCode),
  });
  const cost = formatVnd(costOfUnits(call.settlement.terms.price, 1));
  return new Response(body, {
    headers: [
      ["content-type", audio.contentType],
      ...call.headers,
      [answerHeaders.costVnd, cost],
    ],
  });
}

/** Delivers the speech of a route that answered in time. */
function deliverSpeech(call: MediaCall, found: Found<SpeechResult>): Reply | Response {
  call.settlement.firstOutputAt(call.gateway.clock.monotonicMs());
  const { result } = found;
  if (result.kind === "audio") return deliverAudio(call, found, result);
  return deliverEvents({ call, units: 1 }, found, result.started);
}

/**
 * Serves one speech call. Audio that breaks off at the provider is free, since half a file is useless; a client that
 * leaves pays, since the provider produced all of it.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveSpeech(gateway: Gateway, incoming: Incoming): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  requireJson(incoming.request);
  const request = readSpeechRequest(body);
  const chosen = incoming.chosen = chooseRoutes(
    gateway.catalog.current,
    request.model,
    "speech",
    principal,
  );
  if (hasIdempotencyKey(incoming)) {
    const known = await knownAnswer(
      gateway,
      incoming,
      principal,
      readMediaBody(body, "application/json"),
    );
    if (known !== undefined) return known;
  }
  const price = applyPrice(chosen.model.price);
  return await serveMediaCall(
    gateway,
    incoming,
    {
      principal,
      chosen,
      start,
      style: "speech",
      operation: "speech",
      stream: request.events,
      size: body.length,
      price,
      reserved: costOfUnits(price, 1),
      fields: request.body.outline,
      urls: fetchedUrls(request.body.outline),
    },
    speechWork(request, incoming.requestId),
    {
      deliver: (call, found) => deliverSpeech(call, found),
      lateStream: (call, found) => lateEvents({ call, units: 1 }, found),
    },
  );
}
