/**
 * The answer stream of a call: forwards bytes as they come, meters them on the way, and settles the call before the
 * last event is released.
 *
 * It is a pull stream without a queue. A pull of the client reads one chunk of the provider
 * ({@linkcode ProviderStream}), pushes it through the pipe, and enqueues what comes out; nothing is read ahead, so an
 * open stream costs little memory and a slow client slows its provider down. The pipe holds the terminal event back.
 *
 * Most pulls get some bytes and no end. Where driver and sink can do without promises and copies, such a pull is one
 * synchronous pass ({@linkcode MeteredSource.onPiece}); everything else is left to the asynchronous loop, which goes on
 * from the state that the pass has left.
 *
 * A stream is in one of four phases:
 *
 * | phase     | meaning                                                          | leaves by            |
 * | --------- | ---------------------------------------------------------------- | -------------------- |
 * | `unsent`  | the preamble, with the first output, waits for the first pull    | a pull, an end       |
 * | `idle`    | the client has everything that arrived and does not ask for more | a pull, an end       |
 * | `pulling` | the client waits for the provider                                | bytes, an end        |
 * | `ended`   | an end was chosen; the call is settled once, then bytes released | never                |
 *
 * Every end goes through `#end`, and the first one wins:
 *
 * - the provider finished (`#finish`), or a bound stopped it (`#cut`);
 * - the provider broke or stalled, the gateway stopped the call, or our own code failed (`#break`);
 * - **the client left** (`cancel`): the provider is stopped at once and the produced output is charged. Only if the
 *   answer is already whole, its usage report is read first, for a bounded time.
 *
 * What the ends have in common is `#release`: settle, then release the last bytes. If settling fails, the stream ends
 * with an error or a broken connection, so that no client sees a complete answer that has no receipt.
 *
 * A stream has several bounds on its output (what the caller asked for, what the wallet pays): how far it may run, and
 * how it ends there. Each names a figure of output bytes up to which it need not be asked, so that a chunk costs one
 * comparison with the lowest of them.
 *
 * A read of the provider returns a view of a buffer that the next read reuses. A slice that waits for a bound is
 * therefore kept only until that next read.
 *
 * - Folder `core/calls/stream/`: answer streams on their way to the client: forwarded, metered, settled, also begun
 *   before a route has answered.
 * - In: the started stream of a route with its pipe, the bounds of the call, and a function that settles.
 * - Out: bytes for the client; one settlement.
 * - Never: releases the last event of an answer before the call is settled, or reads ahead of its client.
 */
import type { StreamEndCode } from "../../billing/usage/call_failure.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import { withResolvers } from "../../lib/runtime/built_ins.ts";
import type { PieceReceiver } from "../../net/transport/transport.ts";
import { knownFailure, type StartedStream } from "../attempts/attempt.ts";
import type { ByteSink, ByteSource } from "../../lib/bytes/byte_parts.ts";
import type { Outcome } from "../../billing/usage/receipt.ts";
import { type CallControl, stopError, type StopReason } from "../attempts/attempt_loop.ts";

/** Cut by which the gateway ends a stream that its provider would continue. */
export interface StreamCut {
  /** `length`: the style's own stop for length, where it has one; `error`: an error event. */
  readonly as: "length" | "error";
  /** The error event; used for `length` too where the style has no such stop. */
  readonly error: GatewayError;
  /** End that the receipt names; absent: the code of the error. */
  readonly code?: StreamEndCode;
  /** Use that is billed so far, for styles that report it at the end. */
  readonly usage: TokenUsage;
}

/** Lets a stream run up to some amount of output, and decides there whether it may continue. */
export interface StreamBound {
  /** Bytes of output up to which the bound need not be asked. Compared after every read, so a plain number. */
  readonly outputBytes: number;
  /**
   * Called when the output has passed `outputBytes`. Raises that figure, or returns how the stream ends. While a promise
   * is pending nothing is read, so it must settle within a bound of its own.
   */
  passed(reading: StreamReading): StreamCut | undefined | Promise<StreamCut | undefined>;
}

/** Bytes of a chunk that are always read in one go, so that slices stay worth their cost. */
const leastSliceBytes = 256;

/** All bounds of one stream. The first one that ends the stream wins. */
class StreamBounds {
  readonly #bounds: readonly StreamBound[];
  #leastBytes: number;

  constructor(bounds: readonly StreamBound[] = []) {
    this.#bounds = bounds;
    this.#leastBytes = this.#least();
  }

  /** Whether a bound has to be asked before more is read. */
  arePassed(reading: StreamReading): boolean {
    return reading.outputBytes > this.#leastBytes;
  }

  /**
   * Bytes of the stream that can be read before a bound has to be asked. A byte of output takes at least one byte of the
   * stream, so no bound is passed by more than a small slice, or the one event that ends in it.
   */
  room(reading: StreamReading): number {
    return Math.max(this.#leastBytes - reading.outputBytes, leastSliceBytes);
  }

  /** Asks every bound that was passed; returns how the stream ends, if it does. */
  async ask(reading: StreamReading): Promise<StreamCut | undefined> {
    for (const bound of this.#bounds) {
      if (reading.outputBytes <= bound.outputBytes) continue;
      const cut = await bound.passed(reading);
      if (cut !== undefined) return cut;
    }
    this.#leastBytes = this.#least();
    return undefined;
  }

  #least(): number {
    let least = Infinity;
    for (const { outputBytes } of this.#bounds) least = Math.min(least, outputBytes);
    return least;
  }
}

/** Milliseconds that a provider gets to close its body after the terminal event; then the connection is closed. */
export const drainAfterEndMs = 500;

/** Reads after the terminal event: a few bytes of framing follow it, and a peer that sends more floods. */
const drainReads = 16;

/** The limits and handlers of reading a provider's stream. */
interface ProviderStreamOptions {
  /** Longest silence of the provider while a read is pending. */
  readonly idleMs: number;
  /** Bytes after which the stream is given up, whatever they contain. Default: no bound. */
  readonly maxBytes: number | undefined;
  readonly deadlines: Deadlines;
}

/** Reads the stream of a provider that has produced its first output. */
class ProviderStream implements PieceReceiver {
  readonly pipe: StreamPipe;
  readonly reading: StreamReading;
  readonly #started: StartedStream;
  readonly #deadlines: Deadlines;
  readonly #idle: Deadline;
  readonly #idleMs: number;
  readonly #maxBytes: number;
  #readBytes = 0;
  /** Bytes that arrived and were not given to the pipe yet. Valid until the next read. */
  #unread: Uint8Array | undefined;
  #pendingRead: Promise<Uint8Array | null> | undefined;
  /** Waits for the result of a read without a promise. */
  #receiver: PieceReceiver | undefined;
  #stalled = false;

  constructor(started: StartedStream, { idleMs, maxBytes, deadlines }: ProviderStreamOptions) {
    this.#started = started;
    this.pipe = started.pipe;
    this.reading = started.pipe.reading;
    this.#unread = started.unread;
    this.#deadlines = deadlines;
    this.#idleMs = idleMs;
    this.#maxBytes = maxBytes ?? Infinity;
    this.#idle = deadlines.create(() => {
      if (this.#pendingRead === undefined && this.#receiver === undefined) return;
      this.#stalled = true;
      this.cancel();
    });
  }

  /** The provider was silent for too long and was stopped for it. */
  get stalled(): boolean {
    return this.#stalled;
  }

  /** Nothing more will be read that the client could see. */
  get isOver(): boolean {
    return this.reading.state !== "open" || this.#started.bodyEnded;
  }

  /** The provider has said why it stopped; only its usage report may still come. */
  get isAnswerWhole(): boolean {
    const { reading } = this;
    return reading.state === "open" && reading.stopReason !== undefined &&
      !this.#started.bodyEnded;
  }

  get hasUnread(): boolean {
    return this.#unread !== undefined;
  }

  /** Begins to read the next chunk; `null` is the end of the body. Give the result to {@linkcode arrived}. */
  read(): Promise<Uint8Array | null> {
    // Never disarmed between chunks, which would cost more than arming: when due, it checks for a pending read.
    this.#idle.arm(this.#idleMs);
    return this.#pendingRead = this.#started.body.read();
  }

  /** Whether {@linkcode readTo} can be used. */
  get readsWithoutPromises(): boolean {
    return this.#started.body.readTo !== undefined;
  }

  /** Like {@linkcode read}, but gives the result to a receiver, perhaps before it returns. */
  readTo(receiver: PieceReceiver): void {
    this.#idle.arm(this.#idleMs);
    this.#receiver = receiver;
    this.#started.body.readTo?.(this);
  }

  onPiece(bytes: Uint8Array | null): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onPiece(bytes);
  }

  onFailure(failure: unknown): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onFailure(failure);
  }

  /** The result of a read that was begun and is not over. */
  #takePending(): Promise<Uint8Array | null> | undefined {
    const pending = this.#pendingRead;
    this.#pendingRead = undefined;
    if (this.#receiver === undefined) return pending;
    const { promise, resolve, reject } = withResolvers<Uint8Array | null>();
    this.#receiver = { onPiece: resolve, onFailure: reject };
    return promise;
  }

  /**
   * Takes the result of a read.
   *
   * @throws {GatewayError} `upstream_unreachable` when the stream has more bytes than an answer can have
   */
  arrived(chunk: Uint8Array | null): void {
    this.#pendingRead = undefined;
    if (chunk === null) return;
    this.#readBytes += chunk.length;
    if (this.#readBytes > this.#maxBytes) throw tooLong();
    this.#unread = chunk;
  }

  /**
   * Gives at most `maxBytes` of what arrived to the pipe; returns what the client gets for them.
   *
   * @throws {GatewayError} when the bytes are no stream of the style
   */
  convert(maxBytes: number): Uint8Array {
    return this.pipe.push(this.#take(maxBytes));
  }

  /** Like {@linkcode convert}, but the result is valid only until something else is done with this or another pipe. */
  convertLent(maxBytes: number): Uint8Array {
    const bytes = this.#take(maxBytes);
    return this.pipe.pushLent?.(bytes) ?? this.pipe.push(bytes);
  }

  #take(maxBytes: number): Uint8Array {
    const chunk = this.#unread ?? nothing;
    if (chunk.length <= maxBytes) {
      this.#unread = undefined;
      return chunk;
    }
    this.#unread = chunk.subarray(maxBytes);
    return chunk.subarray(0, maxBytes);
  }

  /** Stops the idle timeout: the provider is not being waited for. */
  pause(): void {
    this.#idle.disarm();
  }

  /** Ends the exchange with the provider; a pending read rejects. */
  cancel(): void {
    this.#started.exchange.cancel();
  }

  /** Reads what is left after the terminal event (usually nothing), so that the connection returns to its pool. */
  async drain(): Promise<void> {
    const deadline = this.#armDrain();
    try {
      for (let i = 0; i < drainReads; i++) {
        if (await this.#started.body.read() === null) return;
      }
      this.cancel();
    } catch {
      this.cancel();
    } finally {
      deadline.disarm();
    }
  }

  /**
   * Reads the usage report that follows a whole answer whose client has left. Without it, a client that hangs up between
   * the last text and the report would have the whole answer and pay only for the visible part, not for reasoning.
   */
  async readReport(): Promise<void> {
    const deadline = this.#armDrain();
    try {
      if (this.#unread !== undefined) this.pipe.push(this.#unread);
      for (let i = 0; i < drainReads && this.reading.state === "open"; i++) {
        const chunk = await (this.#takePending() ?? this.#started.body.read());
        if (chunk === null) break;
        this.pipe.push(chunk);
      }
    } catch {
      // Without a report the produced output is counted.
    } finally {
      deadline.disarm();
      this.cancel();
    }
  }

  #armDrain(): Deadline {
    const deadline = this.#deadlines.create(() => this.cancel());
    deadline.arm(drainAfterEndMs);
    return deadline;
  }
}

const nothing = new Uint8Array(0);

function tooLong(): GatewayError {
  return new GatewayError(
    "upstream_unreachable",
    "The provider of this model sent more than an answer can be",
  );
}

// Bounds that several steps of a call share.

/** Milliseconds of silence after which the client gets a keep-alive, below the 30–60 s that proxies allow. */
export const keepAliveMs = 15_000;

// The ways in which an answer stream ends: the outcome on its receipt, and the bytes that the client gets after it.
//
// `core/billing/outcome.ts` has what each outcome costs.

/** The end of a stream: its outcome and the last bytes for the client. */
interface StreamEnd {
  readonly outcome: Outcome;
  /** End before it was whole; absent also where the client left. */
  readonly code?: StreamEndCode | undefined;
  /** Makes the last bytes. Called once, when nothing more will be read. May throw if the pipe itself has failed. */
  readonly lastBytes: () => Uint8Array;
}

/** The client closed the connection: what was produced is charged, and no last bytes are sent. */
const clientLeft: StreamEnd = {
  outcome: "client_gone",
  lastBytes: () => new Uint8Array(0),
};

/** The provider reported its end, or its body ended. */
function finished(pipe: StreamPipe): StreamEnd {
  const tail = pipe.end();
  const { state, sawOutput, usage, error } = pipe.reading;
  const isEmpty = !sawOutput && usage === undefined;
  const lastBytes = () => tail;
  if (state === "completed") return { outcome: isEmpty ? "empty" : "completed", lastBytes };
  // As the pipe has told the client.
  return { outcome: "broken", code: error?.code ?? "upstream_unreachable", lastBytes };
}

/** A bound was reached. */
function cutShort(pipe: StreamPipe, { as, error, usage, code }: StreamCut): StreamEnd {
  return {
    outcome: "cut",
    code: code ?? error.code,
    lastBytes: () => (as === "length" ? pipe.stopForLength(usage) : undefined) ?? pipe.fail(error),
  };
}

/** The provider failed, the gateway stopped the call, or the client stopped reading until its time was up. */
function brokenOff(
  pipe: StreamPipe,
  error: GatewayError,
  { stopped, hasLeft }: { readonly stopped: StopReason | undefined; readonly hasLeft: boolean },
): StreamEnd {
  const lastBytes = () => pipe.fail(error);
  if (hasLeft || stopped === "client_gone") return { outcome: "client_gone", lastBytes };
  return {
    outcome: stopped === "access_ended" ? "cut" : "broken",
    code: stopped ?? error.code,
    lastBytes,
  };
}

/** Needs of a metered stream. */
export interface MeteredStreamInput {
  readonly started: StartedStream;
  /** Sent after `keepAliveMs` of silence; a comment or ping of the client's style. */
  readonly keepAlive: Uint8Array;
  /** Longest silence of the provider. */
  readonly idleMs: number;
  readonly deadlines: Deadlines;
  readonly control: CallControl;
  /**
   * Debits and writes the receipt; the stream's reading says what was produced. Called exactly once per stream, however
   * it ends. While it is pending nothing that ends the stream is released. If it rejects with a {@linkcode GatewayError}
   * the stream ends with that error, otherwise the connection is broken off. `endCode` says what ended a stream before
   * it was whole.
   */
  readonly settle: (outcome: Outcome, endCode: StreamEndCode | undefined) => Promise<void>;
  /** Changes the last bytes once the call is settled. */
  readonly sealed?: (tail: Uint8Array) => Uint8Array;
  /** Each may end the stream early; the first that does wins. */
  readonly bounds?: readonly StreamBound[];
  /** Bytes of the provider after which the stream is given up, whatever they contain. */
  readonly maxBytes?: number;
  /** Resolves when the server has had the chance to send what was released before. */
  readonly bytesLeave: () => Promise<void>;
  /** Receives exceptions that are defects; the call is settled all the same. */
  readonly onBug: (error: unknown) => void;
}

/** See the table in the module's documentation. */
type Phase =
  | { readonly kind: "unsent"; readonly preamble: Uint8Array }
  | { readonly kind: "idle" }
  | { readonly kind: "pulling" }
  | { readonly kind: "ended"; readonly released: Promise<void> };

// Shared, so that a pull allocates nothing for its phase.
const idle: Phase = { kind: "idle" };
const pulling: Phase = { kind: "pulling" };

/** The source of a metered stream. `start` comes first and once; then `pull` and `cancel` as a stream calls them. */
export class MeteredSource implements ByteSource, PieceReceiver {
  readonly #input: MeteredStreamInput;
  readonly #provider: ProviderStream;
  readonly #bounds: StreamBounds;
  readonly #keepAlive: Deadline;
  #sink: ByteSink | undefined;
  #phase: Phase;
  /** Work that a pull which has returned already still waits for, other than bytes. */
  #continuing: Promise<void> | undefined;
  readonly #onStop = (): void => {
    const provider = this.#provider;
    if (this.#input.control.stopped === "client_gone" && provider.isAnswerWhole) {
      return void this.cancel();
    }
    if (!(this.#hasClientStalled && provider.isAnswerWhole)) provider.cancel();
    // A pending pull sees the cancelled provider. Without one, a client that stopped reading would keep its call open,
    // and unpaid, for ever.
    if (!this.#isPulling) void this.#break(undefined);
  };

  constructor(input: MeteredStreamInput) {
    this.#input = input;
    this.#provider = new ProviderStream(input.started, {
      idleMs: input.idleMs,
      maxBytes: input.maxBytes,
      deadlines: input.deadlines,
    });
    this.#bounds = new StreamBounds(input.bounds);
    this.#keepAlive = input.deadlines.create(() => this.#sendKeepAlive());
    this.#phase = { kind: "unsent", preamble: input.started.preamble };
  }

  start(sink: ByteSink): void {
    this.#sink = sink;
    this.#input.control.attach(this.#onStop);
  }

  pull(sink: ByteSink): Promise<void> | undefined {
    const phase = this.#phase;
    if (phase.kind === "ended") return phase.released;
    if (phase.kind !== "unsent" || phase.preamble.length === 0) return this.#next(sink);
    this.#phase = idle;
    sink.enqueue(phase.preamble);
    return undefined;
  }

  /** The client left. Stops the provider, at once while it still produces, then settles for what was produced. */
  async cancel(): Promise<void> {
    if (!this.#hasEnded && !this.#provider.isAnswerWhole) this.#provider.cancel();
    await this.#end(clientLeft);
  }

  // Getters, because the phase changes during an `await`, which the compiler's narrowing does not see.
  get #isPulling(): boolean {
    return this.#phase.kind === "pulling";
  }

  get #hasEnded(): boolean {
    return this.#phase.kind === "ended";
  }

  /** The call's time is up and no pull waits: not to read must not be cheaper than to leave. */
  get #hasClientStalled(): boolean {
    return this.#input.control.stopped === "call_timeout" && !this.#isPulling;
  }

  /** Forwards the next bytes for the client, or ends the stream. */
  #next(sink: ByteSink): Promise<void> | undefined {
    if (this.#continuing !== undefined) return this.#continuing.then(() => this.pull(sink));
    if (this.#isPulling) return undefined; // a keep-alive was sent while the read goes on
    const provider = this.#provider;
    this.#phase = pulling;
    // Never disarmed between events, which would cost more than arming: when due it checks for a pending pull.
    this.#keepAlive.arm(keepAliveMs);
    if (
      sink.lend === undefined || !provider.readsWithoutPromises || provider.hasUnread ||
      provider.isOver
    ) {
      return this.#forward(sink);
    }
    provider.readTo(this);
    return undefined;
  }

  /** The pass of a chunk that was read without a promise. */
  onPiece(chunk: Uint8Array | null): void {
    const sink = this.#sink;
    if (this.#hasEnded || sink === undefined) return; // the client left during the read
    const provider = this.#provider;
    const { reading } = provider;
    let hasSent = false;
    try {
      provider.arrived(chunk);
      if (chunk === null) return this.#continue(this.#finish());
      const out = provider.convertLent(this.#bounds.room(reading));
      hasSent = out.length > 0;
      if (hasSent) sink.lend?.(out);
    } catch (failure) {
      return this.onFailure(failure);
    }
    const isUsual = this.#input.control.stopped === undefined &&
      !this.#bounds.arePassed(reading) && (hasSent || !(provider.hasUnread || provider.isOver));
    if (!isUsual) this.#continue(this.#afterwards(sink, hasSent));
    else if (hasSent) this.#phase = idle;
    else provider.readTo(this);
  }

  onFailure(failure: unknown): void {
    this.#continue(this.#break(failure));
  }

  /** Keeps pulls waiting until what a pass has begun is over. */
  #continue(work: Promise<void>): void {
    this.#continuing = work.catch((failure) => this.#break(failure)).finally(() => {
      this.#continuing = undefined;
      if (this.#isPulling) this.#phase = idle;
    });
  }

  /** Goes on after a pass that met a bound, an end or a stop. */
  async #afterwards(sink: ByteSink, hasSent: boolean): Promise<void> {
    if (!await this.#isPullOver(hasSent)) await this.#forward(sink);
  }

  /** The same as a pass or several, for every sink and driver. */
  async #forward(sink: ByteSink): Promise<void> {
    const provider = this.#provider;
    try {
      if (provider.isOver) {
        // The end came in one read with what was released last, which must not wait while its receipt is made.
        await this.#input.bytesLeave();
        if (this.#hasEnded) return;
      }
      while (!provider.isOver) {
        if (!provider.hasUnread) {
          const chunk = await provider.read();
          if (this.#hasEnded) return; // the client left during the read
          provider.arrived(chunk);
          if (chunk === null) break;
        }
        const out = provider.convert(this.#bounds.room(provider.reading));
        if (out.length > 0) sink.enqueue(out);
        const isOver = this.#isPullOver(out.length > 0);
        if (isOver instanceof Promise ? await isOver : isOver) return;
      }
      await this.#finish();
    } catch (failure) {
      await this.#break(failure);
    } finally {
      if (this.#isPulling) this.#phase = idle;
    }
  }

  /** After bytes went through the pipe: asks bounds that were passed, and returns whether the pull has what it wanted. */
  #isPullOver(hasSent: boolean): boolean | Promise<boolean> {
    const provider = this.#provider;
    if (this.#bounds.arePassed(provider.reading) && !provider.isOver) {
      provider.pause(); // it waits while the bounds are asked, and its silence is no fault
      return this.#askBounds(hasSent);
    }
    if (!hasSent || this.#input.control.stopped === undefined) return hasSent;
    return this.#break(undefined).then(() => true);
  }

  async #askBounds(hasSent: boolean): Promise<boolean> {
    const cut = await this.#bounds.ask(this.#provider.reading);
    if (this.#hasEnded) return true;
    if (cut !== undefined) await this.#cut(cut);
    else if (!hasSent) return false;
    else if (this.#input.control.stopped !== undefined) await this.#break(undefined);
    return true;
  }

  #sendKeepAlive(): void {
    // A client that does not read is not waiting for anything; its next pull arms the deadline.
    if (!this.#isPulling || this.#sink === undefined) return;
    // Only while the client waits for bytes: one that does not read gets no queue built up for it.
    if ((this.#sink.desiredSize ?? -1) >= 0) this.#sink.enqueue(this.#input.keepAlive);
    this.#keepAlive.arm(keepAliveMs);
  }

  async #finish(): Promise<void> {
    const end = finished(this.#provider.pipe);
    void this.#provider.drain();
    await this.#end(end);
  }

  async #cut(cut: StreamCut): Promise<void> {
    this.#provider.cancel();
    await this.#end(cutShort(this.#provider.pipe, cut));
  }

  async #break(failure: unknown): Promise<void> {
    if (this.#phase.kind === "ended") return await this.#phase.released;
    const { control: { stopped } } = this.#input;
    const provider = this.#provider;
    const hasLeft = stopped === "client_gone" || this.#hasClientStalled;
    if (!(hasLeft && provider.isAnswerWhole)) provider.cancel();
    const error = stopped === undefined ? this.#errorOf(failure) : stopError(stopped);
    await this.#end(brokenOff(provider.pipe, error, { stopped, hasLeft }));
  }

  #errorOf(failure: unknown): GatewayError {
    if (this.#provider.stalled) {
      return new GatewayError("upstream_timeout", "The provider of this model stopped sending");
    }
    const known = knownFailure(failure);
    if (known !== undefined) return known;
    this.#input.onBug(failure);
    return new GatewayError("internal_error", "Something went wrong inside the gateway");
  }

  /** Ends the stream, unless it has ended already. */
  #end(end: StreamEnd): Promise<void> {
    const phase = this.#phase;
    if (phase.kind === "ended") return phase.released;
    // Paid for like the rest, so it is sent also when the call is stopped before the first pull.
    const preamble = phase.kind === "unsent" ? phase.preamble : undefined;
    const released = this.#release(end, preamble);
    this.#phase = { kind: "ended", released };
    return released;
  }

  /** Settles the call, then releases the last bytes. */
  async #release(
    { outcome, code, lastBytes }: StreamEnd,
    preamble: Uint8Array | undefined,
  ): Promise<void> {
    const sink = this.#sink;
    this.#provider.pause();
    this.#keepAlive.disarm();
    this.#input.control.detach(this.#onStop);
    if (outcome === "client_gone" && this.#provider.isAnswerWhole) {
      await this.#provider.readReport();
    }
    const tail = this.#orBug(lastBytes);
    try {
      await this.#input.settle(outcome, code);
    } catch (cause) {
      // Never a clean end without a receipt: the client must see that the answer is not whole.
      if (!(cause instanceof GatewayError)) return sink?.error(cause);
      return this.#leave(preamble, this.#orBug(() => this.#provider.pipe.fail(cause)));
    }
    const { sealed } = this.#input;
    const last = sealed === undefined || tail === undefined
      ? tail
      : this.#orBug(() => sealed(tail));
    this.#leave(preamble, last);
  }

  /** Sends the last bytes, and ends the client's stream. */
  #leave(preamble: Uint8Array | undefined, tail: Uint8Array | undefined): void {
    const sink = this.#sink;
    try {
      if (tail === undefined) return sink?.error(new Error("The stream broke"));
      if (preamble !== undefined && preamble.length > 0) sink?.enqueue(preamble);
      if (tail.length > 0) sink?.enqueue(tail);
      sink?.close();
    } catch {
      // The client left during settlement; no one is left to answer.
    }
  }

  /** The last bytes, or `undefined` where the pipe itself is what failed: then the connection breaks. */
  #orBug(lastBytes: () => Uint8Array): Uint8Array | undefined {
    try {
      return lastBytes();
    } catch (bug) {
      this.#input.onBug(bug);
      return undefined;
    }
  }
}

/** Makes the body of a streaming answer. */
export function meteredStream(input: MeteredStreamInput): ByteSource {
  return new MeteredSource(input);
}
