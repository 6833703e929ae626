/** Delivers streams of calls that are charged whole or not at all: speech and transcripts. */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { asGatewayError, type StartedStream } from "../../../../core/calls/attempts/attempt.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../../core/calls/stream/metered_stream.ts";
import { costOfUnits } from "../../../../core/billing/price.ts";
import type { StreamEndCode } from "../../../../core/billing/usage/call_failure.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import { idleMs } from "../../../../core/routing/timeouts.ts";
import { bytesLeave } from "../../../http/query.ts";
import { streamOf } from "../../call/response_headers.ts";
import type { Found, MediaCall } from "./media_call.ts";
import { type CallControl, stopError } from "../../../../core/calls/attempts/attempt_loop.ts";
import type { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { ByteReader, UpstreamExchange } from "../../../../core/net/transport/transport.ts";

// Relays a binary answer to the client: one pull stream, which holds one chunk at a time.

/** A binary answer, with what relaying it needs. */
export interface RelayedBodyInput {
  readonly exchange: UpstreamExchange;
  readonly body: ByteReader;
  /** A chunk that was read to see that the answer has begun; sent first. */
  readonly firstChunk?: Uint8Array;
  readonly control: CallControl;
  /**
   * Called once, before the end is released: nothing that ends the stream is sent while it is pending. `endCode` says
   * what ended a body that is not whole.
   */
  readonly onEnd: (outcome: RelayedOutcome, endCode: StreamEndCode | undefined) => Promise<void>;
}

/** End of a relayed answer. */
export type RelayedOutcome = "completed" | "broken" | "client_gone" | "cut";

type Controller = ReadableStreamDefaultController<Uint8Array>;

class RelayedSource implements UnderlyingDefaultSource<Uint8Array> {
  readonly #input: RelayedBodyInput;
  #firstChunk: Uint8Array | undefined;
  #controller: Controller | undefined;
  /** A pull waits for the provider; its read rejects when the exchange is cancelled. */
  #pulling = false;
  #ended = false;
  readonly #onStop = (): void => {
    this.#input.exchange.cancel();
    // A client that does not read has no pull that could end the call.
    if (this.#pulling) return;
    const stopped = this.#input.control.stopped ?? "shutdown";
    // Not to read until the time is up must not be cheaper than to leave.
    const outcome = stopped === "call_timeout" ? "client_gone" : undefined;
    this.#break(stopError(stopped), outcome).catch(() => {});
  };

  constructor(input: RelayedBodyInput) {
    this.#input = input;
    this.#firstChunk = input.firstChunk;
  }

  start(controller: Controller): void {
    this.#controller = controller;
    this.#input.control.attach(this.#onStop);
  }

  async pull(controller: Controller): Promise<void> {
    const first = this.#firstChunk;
    if (first !== undefined) {
      this.#firstChunk = undefined;
      return controller.enqueue(first);
    }
    let chunk: Uint8Array | null;
    this.#pulling = true;
    try {
      chunk = await this.#input.body.read();
    } catch (failure) {
      return await this.#break(asGatewayError(failure));
    } finally {
      this.#pulling = false;
    }
    if (this.#ended) return; // the client left during the read
    if (chunk !== null) return controller.enqueue(chunk.slice()); // the driver reuses its buffer
    await this.#end("completed");
    controller.close();
  }

  async cancel(): Promise<void> {
    this.#input.exchange.cancel();
    await this.#end("client_gone");
  }

  async #end(outcome: RelayedOutcome, endCode?: StreamEndCode): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#input.control.detach(this.#onStop);
    await this.#input.onEnd(outcome, endCode);
  }

  /** Breaks the connection: binary data has no other way to show that it is incomplete. */
  async #break(
    error: GatewayError,
    outcome: RelayedOutcome = this.#input.control.stopped === "access_ended" ? "cut" : "broken",
  ): Promise<void> {
    if (this.#ended) return;
    this.#input.exchange.cancel();
    const { stopped } = this.#input.control;
    const endCode = outcome === "client_gone" || stopped === "client_gone"
      ? undefined
      : stopped ?? error.code;
    try {
      await this.#end(outcome, endCode);
    } finally {
      this.#controller?.error(error);
    }
  }
}

/** Makes the body. */
export function relayedBody(input: RelayedBodyInput): ReadableStream<Uint8Array> {
  return new ReadableStream(new RelayedSource(input), { highWaterMark: 0 });
}

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
    const priceMicroVnd = costOfUnits(settlement.terms.price, charged);
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
    idleMs: idleMs(settlement.terms.catalog, found.route),
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

/** Describes the stream of events that came late: see `deliverEarly` of chat. */
export function lateEvents(
  delivery: EventDelivery,
  found: Found<{ readonly kind: string; readonly started?: StartedStream }>,
): MeteredStreamInput | undefined {
  const { started } = found.result;
  return started && meteredInput(delivery, found, started);
}
