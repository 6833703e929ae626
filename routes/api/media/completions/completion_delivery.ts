/** Delivers what the attempts of a completion found, settled before its last byte. */
import {
  chargeForEndedChat,
  type EndedReading,
  type QuotedChat,
} from "../../../../core/calls/bounds/chat_charge.ts";
import {
  mostBytesWithReasoning,
  mostOutputBytes,
  mostStreamBytes,
  OutputLimit,
} from "../../../../core/calls/bounds/output_limit.ts";
import type { StartedStream } from "../../../../core/calls/attempts/attempt.ts";
import { arrivalOf, earlyStream } from "../../../../core/calls/stream/early_stream.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../../core/calls/stream/metered_stream.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import type { CompletionResult } from "../../../../core/media/completion/attempt.ts";
import { mediaErrorEvent } from "../../../../core/media/base/events.ts";
import { idleMs } from "../../../../core/routing/timeouts.ts";
import { bytesLeave } from "../../../http/bytes_leave.ts";
import { wholeAnswer } from "../../call/whole_answer.ts";
import type { Found } from "../base/event_delivery.ts";
import { providerUseOf } from "../../../../core/calls/bounds/provider_use.ts";
import type { CallCharge } from "../../call/call_settlement.ts";
import type { MediaCall } from "../base/media_call.ts";
import { costHeaders, streamOf } from "../../call/response_headers.ts";

/** A call with what pricing it needs. */
export interface CompletionDelivery {
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
  const { call: { gateway, control, settlement, input }, quoted: { bounds, model } } = delivery;
  const { wantedOutputTokens } = bounds;
  const most = {
    answer: mostOutputBytes(wantedOutputTokens),
    withReasoning: mostBytesWithReasoning(wantedOutputTokens, model),
  };
  return {
    started,
    keepAlive: keepAliveComment,
    deadlines: gateway.deadlines,
    control,
    idleMs: idleMs(input.chosen.catalog, route),
    bounds: [new OutputLimit(most, (reading) => chargeOf(delivery, "cut", reading).usage)],
    mostBytes: mostStreamBytes(wantedOutputTokens),
    settle: async (outcome, endCode) => {
      const charge = settledCharge(delivery, outcome, started.pipe.reading);
      await settlement.settle({ outcome, endCode, status: 200, route, attempts }, charge);
    },
    bytesLeave,
    onBug: settlement.onBug,
  };
}

/** Delivers the completion of a route that answered in time. */
export async function deliverCompletion(
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

/** Delivers a stream that begins before there is any text: see `deliverEarly` of chat. */
export function deliverEarly(
  delivery: CompletionDelivery,
  finding: Promise<Found<CompletionResult>>,
): Reply {
  const { gateway, control, settlement, headers, input } = delivery.call;
  const arrival = arrivalOf(finding, {
    streamOf: (found) => {
      settlement.firstOutputAt(gateway.clock.monotonicMs());
      const { result } = found;
      return result.kind === "stream" ? meteredInput(delivery, found, result.started) : undefined;
    },
    errorEvent: (error) => mediaErrorEvent(error, settlement.call.requestId),
    abandon: () => settlement.abandon(),
  });
  input.incoming.bufferedBody?.keepUntil(finding);
  const { deadlines } = gateway;
  return streamOf(
    earlyStream({ arrival, keepAlive: keepAliveComment, deadlines, control }),
    headers,
  );
}
