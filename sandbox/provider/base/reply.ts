/** Replies of the sandbox as steps to perform. */
import { encodeSseEvent } from "../../../core/lib/sse/writer.ts";
import type { Json } from "../../../core/lib/json/json.ts";
import type { Triggers } from "./triggers.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import {
  type ByteReader,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamResponse,
} from "../../../core/net/transport/transport.ts";

// The waits of the sandbox.

/** Resolves after `ms`, or at once when the signal aborts; never rejects. It is passed in so that tests need not sleep. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

/**
 * Creates a delay on the timers of the runtime.
 *
 * @example
 * ```ts
 * import { timerDelay } from "./reply.ts";
 * const controller = new AbortController();
 * const waiting = timerDelay()(60_000, controller.signal);
 * controller.abort();
 * await waiting;
 * ```
 */
export function timerDelay(timer: Timer = systemTimer): Delay {
  return (ms, signal) => {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = timer.start(done, ms);
      signal.addEventListener("abort", done, { once: true });
      function done(): void {
        stop();
        signal.removeEventListener("abort", done);
        resolve();
      }
    });
  };
}

/** One step of a reply on the connection. */
export type Step =
  | { readonly do: "send"; readonly bytes: Uint8Array }
  | { readonly do: "wait"; readonly ms: number }
  /** Sends nothing more and does not end. */
  | { readonly do: "stall" }
  /** Breaks the connection. */
  | { readonly do: "cut" };

/** An answer as a list of steps. The exchange performs them, so that the code that answers needs no timers. */
export interface Reply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Wait before status and headers are sent. */
  readonly waitMs: number;
  readonly steps: Iterable<Step>;
}

/** One event of a stream. Triggers count and delay only events with `delta`, which carry output. */
export interface StreamEvent {
  readonly data: string;
  readonly event?: string;
  readonly delta: boolean;
}

/** Makes a reply of JSON, with the effects of the triggers. */
export function jsonReply(
  status: number,
  body: Json,
  triggers: Triggers,
  headers: readonly (readonly [string, string])[] = [],
): Reply {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return {
    status,
    headers: new Map([
      ["content-type", "application/json"],
      ["content-length", String(bytes.length)],
      ...headers,
    ]),
    waitMs: triggers.slowMs ?? 0,
    steps: wholeSteps(bytes, triggers),
  };
}

function* wholeSteps(bytes: Uint8Array, triggers: Triggers): Generator<Step> {
  const half = bytes.length >> 1;
  if (triggers.stall) {
    yield { do: "stall" };
  } else if (triggers.cutAfter !== undefined || triggers.stallAfter !== undefined) {
    yield* sendSteps(bytes.subarray(0, half), triggers);
    yield { do: triggers.cutAfter !== undefined ? "cut" : "stall" };
  } else {
    yield* sendSteps(bytes, triggers);
  }
}

/** Makes a reply of an event stream, with the effects of the triggers. */
export function streamReply(
  events: Iterable<StreamEvent>,
  triggers: Triggers,
  errorEvent: StreamEvent,
): Reply {
  return {
    status: 200,
    headers: new Map([
      ["content-type", "text/event-stream; charset=utf-8"],
      ["cache-control", "no-cache"],
    ]),
    waitMs: 0,
    steps: streamSteps(events, triggers, errorEvent),
  };
}

function* streamSteps(
  events: Iterable<StreamEvent>,
  triggers: Triggers,
  errorEvent: StreamEvent,
): Generator<Step> {
  if (triggers.stall) {
    yield { do: "stall" };
    return;
  }
  const { stallAfter, cutAfter, errorAfter } = triggers;
  const troubleAt = stallAfter ?? cutAfter ?? errorAfter ?? Infinity;
  let deltas = 0;
  // An event is sent when the next one is known, so that a trigger still takes effect before the last one.
  let held: StreamEvent | undefined;
  for (const event of events) {
    if (held !== undefined) {
      yield* eventSteps(held, deltas, triggers);
      if (held.delta) deltas++;
    }
    if (deltas >= troubleAt) break;
    held = event;
  }
  if (troubleAt === Infinity) {
    if (held !== undefined && !triggers.noEnd) yield* eventSteps(held, deltas, triggers);
  } else if (stallAfter !== undefined) {
    yield { do: "stall" };
  } else if (cutAfter !== undefined) {
    yield { do: "cut" };
  } else {
    yield* eventSteps(errorEvent, 0, {});
  }
}

function* eventSteps(event: StreamEvent, deltas: number, triggers: Triggers): Generator<Step> {
  const waitMs = deltas === 0 ? triggers.slowMs : triggers.paceMs;
  if (event.delta && waitMs !== undefined) yield { do: "wait", ms: waitMs };
  yield* sendSteps(encodeSseEvent(event.data, event.event), triggers);
}

function* sendSteps(bytes: Uint8Array, triggers: Triggers): Generator<Step> {
  const size = triggers.splitBytes ?? bytes.length;
  for (let at = 0; at < bytes.length; at += size) {
    yield { do: "send", bytes: bytes.subarray(at, at + size) };
  }
}

// The exchange of a sandbox request, behind the interface of transports.

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
