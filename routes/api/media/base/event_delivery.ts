/** Delivers streams of calls that are charged whole or not at all: speech and transcripts. */
import { arrivalOf, earlyStream } from "../../../../core/calls/stream/early_stream.ts";
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import type { StartedStream } from "../../../../core/calls/attempts/attempt.ts";
import type { AttemptLoopResult } from "../../../../core/calls/attempts/attempt_loop.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../../core/calls/stream/metered_stream.ts";
import { costOfUnits } from "../../../../core/billing/price.ts";
import type { StreamEndCode } from "../../../../core/billing/usage/call_failure.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import { mediaErrorEvent } from "../../../../core/media/base/events.ts";
import type { MediaExchange } from "../../../../core/media/base/exchange.ts";
import { idleMs } from "../../../../core/routing/timeouts.ts";
import { bytesLeave } from "../../../http/bytes_leave.ts";
import { streamOf } from "../../call/response_headers.ts";
import type { MediaCall } from "./media_call.ts";

/** The answer of a route, as the attempt loop found it. */
export type Found<Result> = Extract<
  AttemptLoopResult<MediaExchange, Result>,
  { readonly ok: true }
>;

/** A call with its answer that has begun. */
export interface EventDelivery {
  readonly call: MediaCall;
  /** Units that are charged for a whole answer. */
  readonly units: number;
  /** Of the sound that the provider hears, where it is measured. */
  readonly seconds?: number;
}

/**
 * Outcomes that are charged. Half an answer is useless and free; a client that leaves or loses access pays, since the
 * provider produced all of it.
 */
const chargedOutcomes: ReadonlySet<Outcome> = new Set<Outcome>(["completed", "client_gone", "cut"]);

/** Makes the function that settles the call. It lives as long as the answer, so it keeps nothing of the request. */
export function settlerOf(
  { call: { settlement }, units, seconds }: EventDelivery,
  { route, attempts }: Pick<Found<unknown>, "route" | "attempts">,
) {
  return async (outcome: Outcome, endCode?: StreamEndCode) => {
    const charged = chargedOutcomes.has(outcome) ? units : 0;
    const priceMicroVnd = costOfUnits(settlement.call.price, charged);
    const end = { outcome, endCode, status: 200, route, attempts } as const;
    // A provider that heard all of the sound is paid, whatever became of the answer.
    const providerUse = { units, seconds };
    return await settlement.settle(end, { units: charged, priceMicroVnd, providerUse });
  };
}

function meteredInput(
  delivery: EventDelivery,
  found: Found<unknown>,
  started: StartedStream,
): MeteredStreamInput {
  const { gateway, control, settlement } = delivery.call;
  const settle = settlerOf(delivery, found);
  return {
    started,
    keepAlive: keepAliveComment,
    deadlines: gateway.deadlines,
    control,
    idleMs: idleMs(delivery.call.input.chosen.catalog, found.route),
    settle: async (outcome, endCode) => void await settle(outcome, endCode),
    bytesLeave,
    onBug: settlement.onBug,
  };
}

/** Delivers events of a route that answered in time. */
export function deliverEvents(
  delivery: EventDelivery,
  found: Found<unknown>,
  started: StartedStream,
): Reply {
  return streamOf(meteredStream(meteredInput(delivery, found, started)), delivery.call.headers);
}

/** Delivers a stream that begins before there is an answer: see `deliverEarly` of chat. */
export function deliverEventsEarly<
  Result extends { readonly kind: string; readonly started?: StartedStream },
>(delivery: EventDelivery, finding: Promise<Found<Result>>): Reply {
  const { gateway, control, settlement, headers, input } = delivery.call;
  const arrival = arrivalOf(finding, {
    streamOf: (found) => {
      settlement.firstOutputAt(gateway.clock.monotonicMs());
      const { started } = found.result;
      return started && meteredInput(delivery, found, started);
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
