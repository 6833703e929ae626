/**
 * The answer stream of a call: one hand-written pull stream, bytes forwarded as they come, metered on the way, and
 * settled before its last event is released.
 */
import type { Deadline, Deadlines } from "../lib/time/deadlines.ts";
import type { StreamPipe, StreamReading } from "../wire/contract.ts";
import { GatewayError } from "../errors.ts";
import { keepAliveMs } from "./limits.ts";
import type { TokenUsage } from "../billing/token_usage.ts";
import type { Outcome } from "../billing/receipt.ts";
import { knownFailure, type StartedStream } from "./attempt.ts";
import { type CallControl, stopError } from "./call_control.ts";

/**
 * Milliseconds that a provider gets to close its body after the terminal event; then the connection is
 * closed.
 */
export const drainAfterEndMs = 500;

/** Reads after the terminal event: a few bytes of framing follow it, and a peer that sends more floods. */
const drainReads = 16;

/** How the gateway ends a stream that its upstream would go on with. */
export interface StreamCut {
  /** `length`: the style's own stop for length, where it has one; `error`: an error event. */
  readonly as: "length" | "error";
  /** The error event, also of styles without a stop for length. */
  readonly error: GatewayError;
  /** What is billed so far, for styles that report it at the end. */
  readonly usage: TokenUsage;
}

/** Lets a stream run up to some amount of output, and decides there whether it may go on. */
export interface StreamBound {
  /** Bytes of output up to which nothing is asked; compared after every read, so a plain figure. */
  readonly outputBytes: number;
  /**
   * The output has passed `outputBytes`. Raises that figure, or returns how the stream ends. While a promise is pending
   * nothing is read; it must settle within a bound of its own.
   */
  passed(reading: StreamReading): StreamCut | undefined | Promise<StreamCut | undefined>;
}

export interface MeteredStreamInput {
  readonly started: StartedStream;
  /** Sent after `keepAliveMs` of silence; a comment or ping of the client's style. */
  readonly keepAlive: Uint8Array;
  /** Longest silence of the upstream. */
  readonly idleMs: number;
  readonly deadlines: Deadlines;
  readonly control: CallControl;
  /**
   * Debits and writes the receipt; the stream's reading says what was produced. Called exactly once per stream, however
   * it ends. While it is pending nothing that ends the stream is released; if it rejects the connection is broken off.
   */
  readonly settle: (outcome: Outcome) => Promise<void>;
  /** Each may end the stream early; the first that does wins. */
  readonly bounds?: readonly StreamBound[];
  /** Bytes of the upstream beyond which the stream is broken off, whatever they hold. */
  readonly mostBytes?: number;
  /** Resolves when what was released before has had its turn to leave. */
  readonly bytesLeave: () => Promise<void>;
  /** Told of an exception that nobody foresaw; the call is settled all the same. */
  readonly onBug: (error: unknown) => void;
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** The source of a metered stream. `start` comes first and once; then `pull` and `cancel` as a stream calls them. */
export class MeteredSource implements UnderlyingDefaultSource<Uint8Array> {
  readonly #input: MeteredStreamInput;
  readonly #pipe: StreamPipe;
  readonly #keepAlive: Deadline;
  readonly #idle: Deadline;
  #controller: Controller | undefined;
  #preamble: Uint8Array | undefined;
  /** A pull waits for the upstream; it will see by itself when that is cancelled. */
  #pulling = false;
  #stalled = false;
  /** The read that a pull waits for, if one does. */
  #nextChunk: Promise<Uint8Array | null> | undefined;
  #readBytes = 0;
  readonly #mostBytes: number;
  /** The least of all bounds. */
  #boundBytes: number;
  /** Of the last read: what would have passed a bound before that was asked. Valid until the next read. */
  #unread: Uint8Array | undefined;
  /** Set by the first of all ends: the upstream's, a failure, a stop, the client's. There is no second one. */
  #ending: Promise<void> | undefined;
  readonly #onStop = (): void => {
    if (this.#input.control.stopped === "client_gone" && this.#isWhole) return void this.cancel();
    if (!(this.#isUnread && this.#isWhole)) this.#input.started.exchange.cancel();
    // A client that does not read pulls nothing: without this its call would stay open, and unpaid, for ever.
    if (!this.#pulling) void this.#break(undefined);
  };

  constructor(input: MeteredStreamInput) {
    this.#input = input;
    this.#pipe = input.started.pipe;
    this.#preamble = input.started.preamble;
    this.#boundBytes = leastBound(input.bounds);
    this.#mostBytes = input.mostBytes ?? Infinity;
    this.#unread = input.started.unread;
    this.#keepAlive = input.deadlines.create(() => this.#sendKeepAlive());
    this.#idle = input.deadlines.create(() => {
      if (!this.#pulling) return;
      this.#stalled = true;
      input.started.exchange.cancel();
    });
  }

  start(controller: Controller): void {
    this.#controller = controller;
    this.#input.control.attach(this.#onStop);
  }

  pull(controller: Controller): Promise<void> | undefined {
    if (this.#ending !== undefined) return this.#ending;
    const preamble = this.#preamble;
    this.#preamble = undefined;
    if (preamble === undefined || preamble.length === 0) return this.#forward(controller);
    controller.enqueue(preamble);
    return undefined;
  }

  /** Forwards the next bytes there are, or ends the stream. */
  async #forward(controller: Controller): Promise<void> {
    const { started, idleMs, control } = this.#input;
    this.#pulling = true;
    // Never disarmed between events, which would cost more than arming: when due they ask whether a pull waits.
    this.#keepAlive.arm(keepAliveMs);
    try {
      if (this.#isOver) {
        // The end came in one read with what was released last, which must not wait while its receipt is made.
        await this.#input.bytesLeave();
        if (this.#ending !== undefined) return;
      }
      while (!this.#isOver) {
        let chunk: Uint8Array | null | undefined = this.#unread;
        if (chunk === undefined) {
          this.#idle.arm(idleMs);
          this.#nextChunk = started.body.read();
          chunk = await this.#nextChunk;
          if (this.#ending !== undefined) return; // the client left while we waited
          this.#nextChunk = undefined;
          if (chunk === null) break;
          this.#readBytes += chunk.length;
          if (this.#readBytes > this.#mostBytes) throw tooLong();
        }
        const out = this.#pipe.push(this.#slice(chunk));
        if (out.length > 0) controller.enqueue(out);
        if (this.#pipe.reading.outputBytes > this.#boundBytes && !this.#isOver) {
          const cut = await this.#askBounds();
          if (this.#ending !== undefined) return;
          if (cut !== undefined) return await this.#cut(cut);
        }
        if (out.length === 0) continue;
        if (control.stopped === undefined) return;
        return await this.#break(undefined);
      }
      await this.#finish();
    } catch (failure) {
      await this.#break(failure);
    } finally {
      this.#pulling = false;
    }
  }

  /**
   * As much of a read as can be looked at before a bound must be asked: a byte of output takes at least one of the
   * stream. The rest waits, so no bound is passed by more than a small slice, or the one event that ends in it.
   */
  #slice(chunk: Uint8Array): Uint8Array {
    const room = Math.max(this.#boundBytes - this.#pipe.reading.outputBytes, leastSliceBytes);
    if (chunk.length <= room) {
      this.#unread = undefined;
      return chunk;
    }
    this.#unread = chunk.subarray(room);
    return chunk.subarray(0, room);
  }

  /** Asks every bound that was passed. Slow or not: the upstream waits meanwhile, and its silence is no fault. */
  async #askBounds(): Promise<StreamCut | undefined> {
    const { reading } = this.#pipe;
    this.#idle.disarm();
    for (const bound of this.#input.bounds ?? []) {
      if (reading.outputBytes <= bound.outputBytes) continue;
      const cut = await bound.passed(reading);
      if (cut !== undefined) return cut;
    }
    this.#boundBytes = leastBound(this.#input.bounds);
    return undefined;
  }

  /** A bound ends the stream: the upstream is stopped, what came is settled. */
  async #cut(cut: StreamCut): Promise<void> {
    this.#input.started.exchange.cancel();
    await this.#end("cut", () => this.#cutWords(cut));
  }

  #cutWords({ as, error, usage }: StreamCut): Uint8Array | undefined {
    try {
      return (as === "length" ? this.#pipe.stopForLength(usage) : undefined) ??
        this.#pipe.fail(error);
    } catch (bug) {
      this.#input.onBug(bug);
      return undefined;
    }
  }

  /** Nothing more is to be read that the client could see. */
  get #isOver(): boolean {
    return this.#pipe.reading.state !== "open" || this.#input.started.bodyEnded;
  }

  #sendKeepAlive(): void {
    // A client that does not read is not waiting for anything; its next pull arms again.
    if (!this.#pulling || this.#ending !== undefined || this.#controller === undefined) return;
    // Only while the client waits for bytes: one that does not read gets no queue built up for it.
    if ((this.#controller.desiredSize ?? -1) >= 0) this.#controller.enqueue(this.#input.keepAlive);
    this.#keepAlive.arm(keepAliveMs);
  }

  /** The upstream said it is done, or its body ended. */
  async #finish(): Promise<void> {
    const tail = this.#pipe.end();
    const { reading } = this.#pipe;
    const empty = !reading.sawOutput && reading.usage === undefined;
    const outcome = reading.state === "completed" ? (empty ? "empty" : "completed") : "broken";
    void this.#drain();
    await this.#end(outcome, () => tail);
  }

  /** The upstream broke or stalled, the call was stopped from outside, or we failed ourselves. */
  async #break(failure: unknown): Promise<void> {
    if (this.#ending !== undefined) return await this.#ending;
    const { control: { stopped }, started } = this.#input;
    const hasLeft = stopped === "client_gone" || this.#isUnread;
    if (!(hasLeft && this.#isWhole)) started.exchange.cancel();
    const error = stopped === undefined ? this.#errorOf(failure) : stopError(stopped);
    const outcome = hasLeft ? "client_gone" : stopped === "access_ended" ? "cut" : "broken";
    await this.#end(outcome, () => this.#lastWords(error));
  }

  /** The time is up and nobody waits for bytes: the client stopped reading, which must not be cheaper than to leave. */
  get #isUnread(): boolean {
    return this.#input.control.stopped === "call_timeout" && !this.#pulling;
  }

  #errorOf(failure: unknown): GatewayError {
    if (this.#stalled) {
      return new GatewayError("upstream_timeout", "The provider of this model stopped sending");
    }
    const known = knownFailure(failure);
    if (known !== undefined) return known;
    this.#input.onBug(failure);
    return new GatewayError("internal_error", "Something went wrong inside the gateway");
  }

  /** The error event, or nothing where the pipe itself is what failed: then the connection breaks. */
  #lastWords(error: GatewayError): Uint8Array | undefined {
    try {
      return this.#pipe.fail(error);
    } catch (bug) {
      this.#input.onBug(bug);
      return undefined;
    }
  }

  /** `lastWords` is asked once everything was read that will be. */
  #end(outcome: Outcome, lastWords: () => Uint8Array | undefined): Promise<void> {
    this.#ending ??= this.#release(outcome, lastWords);
    return this.#ending;
  }

  async #release(outcome: Outcome, lastWords: () => Uint8Array | undefined): Promise<void> {
    const controller = this.#controller;
    this.#idle.disarm();
    this.#keepAlive.disarm();
    this.#input.control.detach(this.#onStop);
    if (outcome === "client_gone" && this.#isWhole) await this.#readReport();
    const tail = lastWords();
    try {
      await this.#input.settle(outcome);
    } catch (cause) {
      // Never a clean end without a receipt: the client must see that the answer is not whole.
      controller?.error(cause);
      return;
    }
    try {
      if (tail === undefined) return controller?.error(new Error("The stream broke"));
      // Stopped before the first pull: what the client pays for is sent all the same.
      const preamble = this.#preamble;
      if (preamble !== undefined && preamble.length > 0) controller?.enqueue(preamble);
      if (tail.length > 0) controller?.enqueue(tail);
      controller?.close();
    } catch {
      // The client left while we settled; the receipt is written, there is nobody to tell.
    }
  }

  /** Reads what is left after the terminal event (usually nothing), so that the connection returns to its pool. */
  async #drain(): Promise<void> {
    const { started, deadlines } = this.#input;
    const deadline = deadlines.create(() => started.exchange.cancel());
    deadline.arm(drainAfterEndMs);
    try {
      for (let i = 0; i < drainReads; i++) {
        if (await started.body.read() === null) return;
      }
      started.exchange.cancel();
    } catch {
      started.exchange.cancel();
    } finally {
      deadline.disarm();
    }
  }

  /** The upstream has said why it stopped, and only its report of what that cost may still come. */
  get #isWhole(): boolean {
    const { reading } = this.#pipe;
    return reading.state === "open" && reading.stopReason !== undefined &&
      !this.#input.started.bodyEnded;
  }

  /**
   * Reads what follows a whole answer whose client has left: whoever hangs up between the last word and the report
   * of usage has the answer, hidden reasoning included, and would pay for the words it saw.
   */
  async #readReport(): Promise<void> {
    const { started, deadlines } = this.#input;
    const deadline = deadlines.create(() => started.exchange.cancel());
    deadline.arm(drainAfterEndMs);
    try {
      if (this.#unread !== undefined) this.#pipe.push(this.#unread);
      for (let i = 0; i < drainReads && this.#pipe.reading.state === "open"; i++) {
        const chunk = await (this.#nextChunk ?? started.body.read());
        this.#nextChunk = undefined;
        if (chunk === null) break;
        this.#pipe.push(chunk);
      }
    } catch {
      // No report: what was produced is counted instead.
    } finally {
      deadline.disarm();
      started.exchange.cancel();
    }
  }

  /** The client left: stop the upstream, at once while it still produces, then pay for what was produced. */
  async cancel(): Promise<void> {
    if (this.#ending === undefined && !this.#isWhole) this.#input.started.exchange.cancel();
    await this.#end("client_gone", () => new Uint8Array(0));
  }
}

function tooLong(): GatewayError {
  return new GatewayError(
    "upstream_unreachable",
    "The provider of this model sent more than an answer can be",
  );
}

/** Bytes that are worth a look at the events in them. */
const leastSliceBytes = 256;

function leastBound(bounds: readonly StreamBound[] | undefined): number {
  let least = Infinity;
  for (const { outputBytes } of bounds ?? []) least = Math.min(least, outputBytes);
  return least;
}

/** Makes the body of a streaming answer. */
export function meteredStream(input: MeteredStreamInput): ReadableStream<Uint8Array> {
  return new ReadableStream(new MeteredSource(input), { highWaterMark: 0 });
}
