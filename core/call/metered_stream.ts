/**
 * The answer stream of a call: one hand-written pull stream, bytes forwarded as they come, metered on the way, and
 * settled before its last event is released.
 */
import type { StreamPipe } from "../dialects/contract.ts";
import type { Deadlines } from "../deadlines.ts";
import { GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Outcome } from "../receipt.ts";
import { asGatewayError, type StartedStream } from "./attempt.ts";
import { type CallControl, stopError } from "./call_control.ts";

export interface MeteredStreamInput {
  readonly started: StartedStream;
  /** Sent after `limits.keepAliveMs` of silence; a comment or ping of the client's style. */
  readonly keepAlive: Uint8Array;
  readonly deadlines: Deadlines;
  readonly control: CallControl;
  /**
   * Debits and writes the receipt; the stream's reading says what was produced. Called exactly once per stream.
   * While it is pending nothing that ends the stream is released; if it rejects the connection is broken off.
   */
  readonly settle: (outcome: Outcome) => Promise<void>;
}

/** Bytes and reads granted to an upstream after its terminal event, so that its connection can be used again. */
const drainReads = 16;

class MeteredSource implements UnderlyingDefaultSource<Uint8Array> {
  readonly #input: MeteredStreamInput;
  readonly #pipe: StreamPipe;
  #preamble: Uint8Array | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #settled = false;
  #stalled = false;
  readonly #cancelUpstream = () => this.#input.started.exchange.cancel();
  readonly #keepAlive;
  readonly #idle;

  constructor(input: MeteredStreamInput) {
    this.#input = input;
    this.#pipe = input.started.pipe;
    this.#preamble = input.started.preamble;
    this.#keepAlive = input.deadlines.create(() => this.#sendKeepAlive());
    this.#idle = input.deadlines.create(() => {
      this.#stalled = true;
      input.started.exchange.cancel();
    });
    input.control.attach(this.#cancelUpstream);
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
  }

  #sendKeepAlive(): void {
    // Only while the client waits for bytes: a client that does not read gets no queue built up for it.
    if (this.#settled || (this.#controller?.desiredSize ?? -1) < 0) return;
    this.#controller?.enqueue(this.#input.keepAlive);
    this.#keepAlive.arm(limits.keepAliveMs);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { started } = this.#input;
    const { reading } = this.#pipe;
    if (this.#preamble !== undefined) {
      const preamble = this.#preamble;
      this.#preamble = undefined;
      if (preamble.length > 0) return controller.enqueue(preamble);
    }
    if (started.bodyEnded) return await this.#finish(controller);
    this.#keepAlive.arm(limits.keepAliveMs);
    try {
      while (reading.state === "open") {
        this.#idle.arm(limits.upstreamIdleMs);
        const chunk = await started.body.read();
        if (this.#settled) return; // the client left while we waited
        if (chunk === null) break;
        const out = this.#pipe.push(chunk);
        if (out.length > 0) return controller.enqueue(out);
      }
    } catch (failure) {
      return await this.#break(controller, failure);
    } finally {
      this.#idle.disarm();
      this.#keepAlive.disarm();
    }
    await this.#finish(controller);
  }

  /** The upstream said it is done, or its body ended. */
  async #finish(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#settled) return;
    const tail = this.#pipe.end();
    const { reading } = this.#pipe;
    const empty = !reading.sawOutput && reading.usage === undefined;
    const outcome = reading.state === "completed" ? (empty ? "empty" : "completed") : "broken";
    void this.#drain();
    await this.#release(controller, outcome, tail);
  }

  /** The upstream broke, stalled, or the call was stopped from outside. */
  async #break(
    controller: ReadableStreamDefaultController<Uint8Array>,
    failure: unknown,
  ): Promise<void> {
    if (this.#settled) return;
    const { control, started } = this.#input;
    started.exchange.cancel();
    const error = control.stopped !== undefined
      ? stopError(control.stopped)
      : this.#stalled
      ? new GatewayError("upstream_timeout", "The provider of this model stopped sending")
      : asGatewayError(failure);
    await this.#release(controller, "broken", this.#pipe.fail(error));
  }

  async #release(
    controller: ReadableStreamDefaultController<Uint8Array>,
    outcome: Outcome,
    tail: Uint8Array,
  ): Promise<void> {
    this.#settled = true;
    this.#input.control.detach(this.#cancelUpstream);
    try {
      await this.#input.settle(outcome);
    } catch (cause) {
      // Never a clean end without a receipt: the client must see that the answer is not whole.
      controller.error(cause);
      return;
    }
    try {
      if (tail.length > 0) controller.enqueue(tail);
      controller.close();
    } catch {
      // The client left while we settled; the receipt is written, there is nobody to tell.
    }
  }

  /** Reads what is left after the terminal event (usually nothing), so that the connection returns to its pool. */
  async #drain(): Promise<void> {
    const { started } = this.#input;
    const patience = this.#input.deadlines.create(() => started.exchange.cancel());
    patience.arm(limits.drainAfterEndMs);
    try {
      for (let i = 0; i < drainReads; i++) {
        if (await started.body.read() === null) return;
      }
      started.exchange.cancel();
    } catch {
      started.exchange.cancel();
    } finally {
      patience.disarm();
    }
  }

  /** The client left: stop the upstream at once, then pay for what was produced. */
  async cancel(): Promise<void> {
    this.#idle.disarm();
    this.#keepAlive.disarm();
    this.#input.started.exchange.cancel();
    if (this.#settled) return;
    this.#settled = true;
    this.#input.control.detach(this.#cancelUpstream);
    await this.#input.settle("client_gone");
  }
}

/** Makes the body of a streaming answer. */
export function meteredStream(input: MeteredStreamInput): ReadableStream<Uint8Array> {
  return new ReadableStream(new MeteredSource(input), { highWaterMark: 0 });
}
