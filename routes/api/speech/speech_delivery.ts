/** Delivers what the attempts of a speech call found, settled before its last byte. */
import type { Reply } from "../../../core/lib/http1/server/reply.ts";
import { answerHeaders } from "../../http/own_headers.ts";
import type { AttemptLoopResult } from "../../../core/calls/attempt_loop.ts";
import { arrivalOf, earlyStream } from "../../../core/calls/early_stream.ts";
import { meteredStream, type MeteredStreamInput } from "../../../core/calls/metered_stream.ts";
import { mediaErrorEvent } from "../../../core/media/events.ts";
import type { MediaExchange } from "../../../core/media/exchange.ts";
import { formatVnd } from "../../../core/billing/micro_vnd.ts";
import { costOfUnits } from "../../../core/billing/price.ts";
import type { Outcome } from "../../../core/billing/receipt.ts";
import { idleMs } from "../../../core/routing/timeouts.ts";
import { keepAliveComment } from "../../../core/lib/sse/writer.ts";
import { bytesLeave } from "../../http/bytes_leave.ts";
import type { SpeechResult } from "../../../core/media/speech/attempt.ts";
import type { MediaCall } from "../media/media_call.ts";
import { relayedBody } from "../media/relayed_body.ts";
import { streamOf } from "../response_headers.ts";

/** The speech of a route, as the attempt loop found it. */
export type FoundSpeech = Extract<
  AttemptLoopResult<MediaExchange, SpeechResult>,
  { readonly ok: true }
>;
type Events = Extract<SpeechResult, { readonly kind: "events" }>;
type Audio = Extract<SpeechResult, { readonly kind: "audio" }>;

/**
 * Outcomes that are charged. Half a file is useless and free; a client that leaves or loses access pays, since the
 * provider produced all of it.
 */
const chargedOutcomes: ReadonlySet<Outcome> = new Set<Outcome>(["completed", "client_gone", "cut"]);

/** Makes the function that settles the call. It lives as long as the answer, so it keeps nothing of the request. */
function settlerOf(
  { settlement }: MediaCall,
  { route, attempts }: FoundSpeech,
): (outcome: Outcome) => Promise<void> {
  return async (outcome) => {
    const units = chargedOutcomes.has(outcome) ? 1 : 0;
    const priceMicroVnd = costOfUnits(settlement.call.price, units);
    await settlement.settle({ outcome, status: 200, route, attempts }, { units, priceMicroVnd });
  };
}

function meteredInput(call: MediaCall, found: FoundSpeech, { started }: Events) {
  const { gateway, control, settlement } = call;
  return {
    started,
    keepAlive: keepAliveComment,
    deadlines: gateway.deadlines,
    control,
    idleMs: idleMs(gateway.config.catalog, found.route),
    settle: settlerOf(call, found),
    bytesLeave,
    onBug: settlement.onBug,
  } satisfies MeteredStreamInput;
}

function deliverAudio(call: MediaCall, found: FoundSpeech, audio: Audio): Response {
  const body = relayedBody({
    ...audio,
    control: call.control,
    onEnd: settlerOf(call, found),
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
export function deliverSpeech(call: MediaCall, found: FoundSpeech): Reply | Response {
  call.settlement.firstOutputAt(call.gateway.clock.monotonicMs());
  const { result } = found;
  if (result.kind === "audio") return deliverAudio(call, found, result);
  return streamOf(meteredStream(meteredInput(call, found, result)), call.headers);
}

/** Delivers a stream that begins before there is any speech: see `deliverEarly` of chat. */
export function deliverSpeechEarly(call: MediaCall, finding: Promise<FoundSpeech>): Reply {
  const { gateway, control, settlement, headers } = call;
  const arrival = arrivalOf(finding, {
    streamOf: (found) => {
      settlement.firstOutputAt(gateway.clock.monotonicMs());
      return found.result.kind === "events" ? meteredInput(call, found, found.result) : undefined;
    },
    errorEvent: (error) => mediaErrorEvent(error, settlement.call.requestId),
    abandon: () => settlement.abandon(),
  });
  call.input.incoming.bufferedBody?.keepUntil(finding);
  const { deadlines } = gateway;
  return streamOf(
    earlyStream({ arrival, keepAlive: keepAliveComment, deadlines, control }),
    headers,
  );
}
