/** The end of a media call: debited and written down exactly once, or its reservation given back. */
import type { Model, Route } from "../../../core/catalog/catalog.ts";
import { errorName, unforeseen } from "../../../core/lib/error_line.ts";
import type { RequestId } from "../../../core/lib/ids.ts";
import type { AttemptResult } from "../../../core/calls/route_attempt.ts";
import type { AppliedPrice, Attempt, Outcome, Receipt } from "../../../core/billing/receipt.ts";
import type { Principal } from "../../../kv/api_keys/key_directory.ts";
import type { Attachment, Reservation } from "../../../kv/wallet/mod.ts";
import type { TryTiming } from "../../telemetry/telemetry.ts";
import type { KeyedCall } from "../keyed_call.ts";
import type { Gateway } from "../gateway.ts";

/** When and where in a trace a call began. */
export interface CallStart {
  readonly startedAtMs: number;
  readonly startedMonotonicMs: number;
  readonly origin: unknown;
}

/** The first thing an endpoint does. */
export function startCall(gateway: Gateway): CallStart {
  return {
    startedAtMs: gateway.clock.nowMs(),
    startedMonotonicMs: gateway.clock.monotonicMs(),
    origin: gateway.observer.begin(),
  };
}

export interface MediaSettlementInput {
  readonly requestId: RequestId;
  readonly principal: Principal;
  readonly model: Model;
  readonly mappedFrom: string | undefined;
  /** Style of the endpoint, as receipts name it. */
  readonly style: "images" | "speech" | "videos";
  readonly stream: boolean;
  readonly price: AppliedPrice;
  readonly reservation: Reservation;
  readonly start: CallStart;
  /** Told when the call is over, whatever happened. An object: a closure made beside the request would keep its body. */
  readonly running: { end(): void };
  /** Set if the client sent an idempotency key; a video brings rows of its own. */
  readonly keyedCall?: KeyedCall | undefined;
}

export interface MediaEnd {
  readonly outcome: Outcome;
  readonly status: number;
  readonly units: number;
  readonly priceMicroVnd: bigint;
  readonly route: Route | undefined;
  readonly attempts: readonly Attempt[];
}

const kindOfStyle = { images: "image", speech: "speech", videos: "video" } as const;

export class MediaSettlement {
  readonly input: MediaSettlementInput;
  readonly #gateway: Gateway;
  readonly #tries: TryTiming[] = [];
  #firstOutputMs: number | undefined;
  #ended = false;
  /** Writes down an exception that nobody foresaw. */
  readonly onBug = (error: unknown): void => {
    this.#gateway.log.event("error", "unexpected error", {
      request_id: this.input.requestId,
      ...unforeseen(error),
    });
  };

  constructor(gateway: Gateway, input: MediaSettlementInput) {
    this.#gateway = gateway;
    this.input = input;
  }

  #elapsedMs(): number {
    return Math.round(this.#gateway.clock.monotonicMs() - this.input.start.startedMonotonicMs);
  }

  /** Notes the moment at which output began. */
  firstOutput(): void {
    this.#firstOutputMs = this.#elapsedMs();
  }

  /** Notes a try of a route that ended at `endedMs`. */
  tried(route: Route, result: AttemptResult, endedMs: number): void {
    this.#tries.push({
      route: route.id,
      result: result.kind === "failed" ? result.error.code : result.kind,
      startedMs: endedMs - result.ms,
      endedMs,
    });
  }

  /** Debits and writes the receipt, with rows of the caller if any; resolves when all are durable. */
  async settle(end: MediaEnd, attach?: Attachment): Promise<Receipt> {
    const { requestId, principal, model, mappedFrom, style, stream, price } = this.input;
    this.#ended = true;
    const settleStartedMs = this.#gateway.clock.monotonicMs();
    try {
      const receipt = await this.#gateway.wallet.settle(this.input.reservation, {
        requestId,
        keyId: principal.key.id,
        kind: kindOfStyle[style],
        model: model.id,
        ...(mappedFrom === undefined ? {} : { mappedFrom }),
        style,
        ...(end.route === undefined ? {} : { route: end.route.id }),
        startedAtMs: this.input.start.startedAtMs,
        latencyMs: this.#elapsedMs(),
        ...(this.#firstOutputMs === undefined ? {} : { firstOutputMs: this.#firstOutputMs }),
        status: end.status,
        stream,
        outcome: end.outcome,
        estimated: false,
        units: end.units,
        price,
        priceMicroVnd: end.priceMicroVnd,
        attempts: end.attempts,
      }, attach ?? this.input.keyedCall?.rows(end));
      this.#gateway.log.call(receipt, {
        origin: this.input.start.origin,
        startedMs: this.input.start.startedMonotonicMs,
        tries: this.#tries,
        settleStartedMs,
        endedMs: this.#gateway.clock.monotonicMs(),
        stopReason: undefined,
      });
      return receipt;
    } catch (error) {
      // Only when the ledger was closed over it: the client sees a broken connection, the reservation goes back.
      this.#gateway.log.event("error", "a call was not settled", {
        request_id: requestId,
        error: errorName(error),
      });
      throw error;
    } finally {
      this.input.running.end();
    }
  }

  /** No route gave anything, or the client left before one did: a receipt of 0. */
  async settleFailed(
    end: Pick<MediaEnd, "status" | "attempts"> & { readonly clientGone: boolean },
  ): Promise<void> {
    await this.settle({
      outcome: end.clientGone ? "client_gone" : "failed",
      status: end.status,
      units: 0,
      priceMicroVnd: 0n,
      route: undefined,
      attempts: end.attempts,
    });
  }

  /** The call ended before a provider was asked: the reservation goes back. */
  abandon(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gateway.wallet.release(this.input.reservation);
    void this.input.keyedCall?.abandon();
    this.input.running.end();
  }
}
