/** Delivers what the attempts of a speech call found, settled before its last byte. */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { costOfUnits } from "../../../../core/billing/price.ts";
import type { SpeechResult } from "../../../../core/media/speech/attempt.ts";
import { answerHeaders } from "../../../http/own_headers.ts";
import { deliverEvents, type Found, settlerOf } from "../base/event_delivery.ts";
import type { MediaCall } from "../base/media_call.ts";
import { relayedBody } from "../base/relayed_body.ts";

type Audio = Extract<SpeechResult, { readonly kind: "audio" }>;

function deliverAudio(call: MediaCall, found: Found<SpeechResult>, audio: Audio): Response {
  const settle = settlerOf({ call, units: 1 }, found);
  const body = relayedBody({
    ...audio,
    control: call.control,
    onEnd: async (outcome, endCode) => void await settle(outcome, endCode),
  });
  const cost = formatVnd(costOfUnits(call.input.price, 1));
  return new Response(body, {
    headers: [
      ["content-type", audio.contentType],
      ...call.headers,
      [answerHeaders.costVnd, cost],
    ],
  });
}

/** Delivers the speech of a route that answered in time. */
export function deliverSpeech(call: MediaCall, found: Found<SpeechResult>): Reply | Response {
  call.settlement.firstOutputAt(call.gateway.clock.monotonicMs());
  const { result } = found;
  if (result.kind === "audio") return deliverAudio(call, found, result);
  return deliverEvents({ call, units: 1 }, found, result.started);
}
