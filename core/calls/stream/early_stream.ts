/**
 * An answer stream that begins before any route has produced output. After some silence the client gets its status
 * and keep-alives while routes are still tried; then comes the stream of a route, or an error event.
 */
import type { ByteSink, ByteSource } from "../../lib/bytes/byte_parts.ts";
import { withResolvers } from "../../lib/runtime/built_ins.ts";
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { keepAliveMs, MeteredSource, type MeteredStreamInput } from "./metered_stream.ts";
import type { CallControl } from "../attempts/attempt_loop.ts";

/** Whether `finding` is still pending after the longest silence that a client gets. */
export async function isLate(deadlines: Deadlines, finding: Promise<unknown>): Promise<boolean> {
  const moment = withResolvers<boolean>();
  const deadline = deadlines.create(() => moment.resolve(true));
  deadline.arm(keepAliveMs);
  const inTime = () => false;
  const late = await Promise.race([finding.then(inTime, inTime), moment.promise]);
  deadline.disarm();
  return late;
}

/**
 * The result of the attempts. The call of an `error` is settled already; its bytes are the error event of the
 * client's style.
 */
export type Arrival =
  | { readonly kind: "stream"; readonly input: MeteredStreamInput }
  | { readonly kind: "error"; readonly bytes: Uint8Array };

/** Handlers for the end of the attempt loop, which the early stream needs. */
export interface ArrivalHandlers<Found> {
  /** Makes the stream of what was found; `undefined` if it is not a stream, which would be a defect. */
  readonly streamOf: (found: Found) => MeteredStreamInput | undefined;
  readonly errorEvent: (error: GatewayError) => Uint8Array;
  /** Releases the reservation of the call; does nothing if it was settled. */
  readonly abandon: () => void;
}

/**
 * Maps `finding`, which resolves with what was found or rejects with the settled failure, to an {@linkcode Arrival}.
 */
export function arrivalOf<Found>(
  finding: Promise<Found>,
  { streamOf, errorEvent, abandon }: ArrivalHandlers<Found>,
): Promise<Arrival> {
  return finding.then(
    (found): Arrival => {
      const input = streamOf(found);
      if (input !== undefined) return { kind: "stream", input };
      abandon();
      const error = new GatewayError("internal_error", "A stream was asked for");
      return { kind: "error", bytes: errorEvent(error) };
    },
    (failure): Arrival => {
      abandon();
      // Any other error means that a receipt could not be written: the connection is broken off.
      if (!(failure instanceof GatewayError)) throw failure;
      return { kind: "error", bytes: errorEvent(failure) };
    },
  );
}

/** Needs of a stream that begins before a route has answered. */
export interface EarlyStreamInput {
  /** Rejects if a receipt could not be written: the connection is broken off then. */
  readonly arrival: Promise<Arrival>;
  /** Sent at once and after each `keepAliveMs` of silence. */
  readonly keepAlive: Uint8Array;
  readonly deadlines: Deadlines;
  readonly control: CallControl;
}

class EarlySource implements ByteSource {
  readonly #input: EarlyStreamInput;
  #stream: MeteredSource | undefined;
  #arrived: Promise<void> | undefined;
  #keepAlive: Deadline | undefined;
  #left = false;

  constructor(input: EarlyStreamInput) {
    this.#input = input;
  }

  start(sink: ByteSink): void {
    const { keepAlive, deadlines } = this.#input;
    const timer = deadlines.create(() => {
      // As in the metered stream, nothing is queued for a client that does not read.
      if ((sink.desiredSize ?? -1) >= 0) sink.enqueue(keepAlive);
      timer.arm(keepAliveMs);
    });
    this.#keepAlive = timer;
    sink.enqueue(keepAlive);
    timer.arm(keepAliveMs);
    // Started without waiting for a pull: a client that does not read must not keep the call from ending.
    this.#arrived = this.#wait(sink, timer);
  }

  async #wait(sink: ByteSink, timer: Deadline): Promise<void> {
    try {
      const arrival = await this.#input.arrival;
      timer.disarm();
      if (arrival.kind === "stream") {
        this.#stream = new MeteredSource(arrival.input);
        this.#stream.start(sink);
      } else if (!this.#left) {
        sink.enqueue(arrival.bytes);
        sink.close();
      }
    } catch (cause) {
      timer.disarm();
      if (!this.#left) sink.error(cause);
    }
  }

  pull(sink: ByteSink): Promise<void> | undefined {
    return this.#stream === undefined ? this.#pullFirst(sink) : this.#stream.pull(sink);
  }

  async #pullFirst(sink: ByteSink): Promise<void> {
    await this.#arrived;
    await this.#stream?.pull(sink);
  }

  /** The client left: stops the attempts, and settles what they produced by then. */
  async cancel(): Promise<void> {
    this.#left = true;
    this.#keepAlive?.disarm();
    this.#input.control.stop("client_gone");
    await this.#arrived;
    await this.#stream?.cancel();
  }
}

/** Makes the body of an answer that begins early. */
export function earlyStream(input: EarlyStreamInput): ByteSource {
  return new EarlySource(input);
}
