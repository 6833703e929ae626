/** Relays a binary answer to the client: one pull stream, which holds one chunk at a time. */
import { asGatewayError } from "../../../../core/calls/attempts/attempt.ts";
import { type CallControl, stopError } from "../../../../core/calls/attempts/call_control.ts";
import type { StreamEndCode } from "../../../../core/billing/usage/call_failure.ts";
import type { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { ByteReader, UpstreamExchange } from "../../../../core/net/transport/transport.ts";

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

/** How a relayed answer ended. */
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
