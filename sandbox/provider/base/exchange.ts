/** The exchange of a sandbox request, behind the interface of transports. */
import {
  type ByteReader,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamResponse,
} from "../../../core/net/transport/transport.ts";
import type { Delay } from "./delay.ts";
import type { Reply, Step } from "./reply.ts";

/** Performs the steps of a reply one after the other; cancelling the exchange ends its waits. */
export class SandboxExchange implements UpstreamExchange {
  readonly response: Promise<UpstreamResponse>;
  readonly #delay: Delay;
  readonly #abort = new AbortController();
  readonly #reply: Reply;

  constructor(reply: Reply, delay: Delay) {
    this.#reply = reply;
    this.#delay = delay;
    this.response = this.#respond();
    // A caller that only cancels does not await the response, so its rejection must not count as unhandled.
    this.response.catch(() => {});
  }

  cancel(): void {
    this.#abort.abort();
  }

  async #respond(): Promise<UpstreamResponse> {
    const { waitMs, status, headers, steps } = this.#reply;
    if (waitMs > 0) await this.#delay(waitMs, this.#abort.signal);
    this.#checkCancelled();
    return {
      status,
      header: (name) => headers.get(name),
      body: this.#reader(steps[Symbol.iterator]()),
    };
  }

  #reader(steps: Iterator<Step>): ByteReader {
    // The buffer is reused as in a real driver, so that tests find a caller that keeps a view.
    let buffer = new Uint8Array(512);
    let ended = false;
    return {
      read: async () => {
        for (;;) {
          this.#checkCancelled();
          if (ended) return null;
          const next = steps.next();
          if (next.done) {
            ended = true;
            return null;
          }
          if (next.value.do === "send") {
            const { bytes } = next.value;
            if (bytes.length > buffer.length) buffer = new Uint8Array(bytes.length);
            buffer.set(bytes);
            return buffer.subarray(0, bytes.length);
          }
          await this.#perform(next.value);
        }
      },
    };
  }

  async #perform(step: Exclude<Step, { do: "send" }>): Promise<void> {
    switch (step.do) {
      case "wait":
        await this.#delay(step.ms, this.#abort.signal);
        break;
      case "stall":
        await aborted(this.#abort.signal);
        break;
      case "cut":
        throw new UpstreamFailure("cut", "The sandbox cut the connection");
    }
    this.#checkCancelled();
  }

  #checkCancelled(): void {
    if (this.#abort.signal.aborted) {
      throw new UpstreamFailure("cancelled", "The exchange was cancelled");
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
