import { ByteRanges, joined } from "../../lib/bytes/byte_parts.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { maxSseEventBytes } from "../contract/limits.ts";
import {
  RepeatedFrame,
  type SseFrame,
  SseFrameTooLargeError,
  SseSplitter,
} from "../../lib/sse/frame.ts";
import { parseWithinDepth } from "../../lib/json/exact_json.ts";
import { JsonScanError } from "../../lib/json/json_cursor.ts";
import type { StreamPipe, StreamReading } from "../contract/contract.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { enterText, type StreamMeter } from "./reading.ts";

const nothing = new Uint8Array(0);
const newlines = new Uint8Array([0x0a, 0x0a]);

/** The parts of a native pipe that depend on the style: its error event, and its ends without the last event. */
export interface StreamEnding {
  errorEvent(error: GatewayError): Uint8Array;
  /** Writes the error that the upstream put into its stream, as the client may see it. */
  clientError?(error: GatewayError): GatewayError;
  /** Writes the end of a stream whose body ended without the last event; `undefined` if such a stream was cut. */
  missingEnd(): Uint8Array | undefined;
  /** Writes the events that end an open stream as if the cap on output was reached; absent if the style has none. */
  lengthStop?(usage: TokenUsage): Uint8Array;
}

/**
 * A pipe for a client that speaks the upstream's style: the bytes pass unchanged except for the edits of the meter that
 * reads them.
 *
 * Sends only whole frames, so that an error event never follows half an event. The last event of the stream waits for
 * {@linkcode end}.
 */
export class BytePipe implements StreamPipe {
  readonly reading: StreamReading;
  readonly #meter: StreamMeter;
  readonly #ending: StreamEnding;
  readonly #splitter = new SseSplitter(maxSseEventBytes);
  /** Output of this push. */
  readonly #ranges = new ByteRanges();
  readonly #visit = (frame: SseFrame): boolean =>
    this.reading.state === "open" ? this.#read(frame) : this.#readAfterEnd(frame);
  readonly #repeated = new RepeatedFrame();
  /**
   * Bytes that the client gets in place of those before and after the text of a repeated frame, where they are edited.
   */
  #editedBefore: Uint8Array | undefined;
  #editedAfter: Uint8Array | undefined;
  readonly #known = (bytes: Uint8Array, from: number): number => this.#passRepeated(bytes, from);
  #last: Uint8Array = nothing;
  #failure: GatewayError | undefined;

  constructor(meter: StreamMeter, ending: StreamEnding) {
    this.#meter = meter;
    this.#ending = ending;
    this.reading = meter.reading;
  }

  get heldBack(): Uint8Array {
    return this.#last;
  }

  push(bytes: Uint8Array): Uint8Array {
    this.#split(bytes);
    return this.#ranges.take(bytes);
  }

  pushLent(bytes: Uint8Array): Uint8Array {
    this.#split(bytes);
    return this.#ranges.lend();
  }

  #split(bytes: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.reading.state !== "open") return;
    try {
      this.#splitter.push(bytes, this.#visit, this.#known);
    } catch (error) {
      if (!(error instanceof SseFrameTooLargeError)) throw error;
      this.#failure = new GatewayError(
        "upstream_unreachable",
        "The provider sent an event beyond the size limit",
        { cause: error },
      );
    }
    // The output before the failure still reaches the client; the next call reports the failure.
    if (this.#failure !== undefined && this.#ranges.isEmpty) throw this.#failure;
  }

  end(): Uint8Array {
    const rest = this.reading.state === "open" && this.#failure === undefined
      ? this.#readRest()
      : nothing;
    if (this.reading.state === "completed") return concat(rest, this.#last);
    const error = this.reading.error ?? this.#failure;
    if (error !== undefined) return concat(rest, this.fail(error));
    const missing = this.#ending.missingEnd();
    if (missing !== undefined) {
      this.reading.state = "completed";
      return concat(rest, concat(this.#last, missing));
    }
    return concat(
      rest,
      this.fail(new GatewayError("upstream_unreachable", "The provider's answer broke off")),
    );
  }

  fail(error: GatewayError): Uint8Array {
    return this.#ending.errorEvent(error);
  }

  stopForLength(usage: TokenUsage): Uint8Array | undefined {
    return this.#ending.lengthStop?.(usage);
  }

  /** Passes a frame that differs from the last one in its text only; returns its end, or -1 if it is another one. */
  #passRepeated(bytes: Uint8Array, from: number): number {
    const repeated = this.#repeated;
    const end = repeated.match(bytes, from, bytes.length);
    if (end === -1) return -1;
    enterText(this.reading, repeated.textLength, this.#meter.text?.isAnswer === true);
    const before = this.#editedBefore;
    if (before === undefined) this.#leave(bytes, from, repeated.textStart);
    else this.#leave(before, 0, before.length);
    this.#leave(bytes, repeated.textStart, repeated.textEnd);
    const after = this.#editedAfter;
    if (after === undefined) this.#leave(bytes, repeated.textEnd, end);
    else this.#leave(after, 0, after.length);
    return end;
  }

  /** Learns a frame that has just passed, with its edits: they are the same in frames that repeat it. */
  #learn(frame: SseFrame): void {
    const { text, edits } = this.#meter;
    if (text === undefined || !text.isAlone) return;
    const { start, end } = text;
    if (!this.#repeated.learn(frame, start, end)) return;
    const { count } = edits;
    let before = 0;
    while (before < count && edits.at(before).end <= start) before++;
    this.#editedBefore = before === 0
      ? undefined
      : this.#editedRange(frame, [frame.start, start], [0, before]);
    this.#editedAfter = before === count
      ? undefined
      : this.#editedRange(frame, [end, frame.end], [before, count]);
    // A second text would be that of the learnt frame.
    if (before < count && this.#repeated.hasSecondText) this.#repeated.forget();
  }

  #read(frame: SseFrame): boolean {
    let fate;
    this.#repeated.forget();
    this.#meter.edits.clear();
    try {
      fate = this.#meter.read(frame);
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error;
      this.#failure = new GatewayError(
        "upstream_unreachable",
        "The provider sent an event that cannot be read",
        { cause: error },
      );
      return false;
    }
    const { error } = this.reading;
    if (error !== undefined) this.reading.error = this.#ending.clientError?.(error) ?? error;
    if (fate !== "drop") this.#leaveHeld();
    if (fate === "pass") {
      this.#leaveEdited(frame);
      this.#learn(frame);
    } else if (fate !== "drop") this.#last = this.#edited(frame);
    return this.reading.state !== "error";
  }

  /** Accepts Chat's `[DONE]` after the last event, which some servers of other styles send. */
  #readAfterEnd(frame: SseFrame): boolean {
    if (frame.payloadIs("[DONE]")) {
      this.#last = concat(this.#last, frame.bytes.slice(frame.start, frame.end));
    }
    return false;
  }

  /** Releases a frame that could have been the last one. */
  #leaveHeld(): void {
    if (this.#last.length === 0) return;
    this.#leave(this.#last, 0, this.#last.length);
    this.#last = nothing;
  }

  #leaveEdited(frame: SseFrame): void {
    const { edits } = this.#meter;
    let readAt = frame.start;
    for (let i = 0; i < edits.count; i++) {
      const { start, end, text } = edits.at(i);
      this.#leave(frame.bytes, readAt, start);
      if (text.length > 0) this.#leave(text, 0, text.length);
      readAt = end;
    }
    this.#leave(frame.bytes, readAt, frame.end);
  }

  /** Copies the frame, with the edits for the client. */
  #edited(frame: SseFrame): Uint8Array {
    return this.#editedRange(frame, [frame.start, frame.end], [0, this.#meter.edits.count]);
  }

  /** Copies a range of the frame, with the edits in it. */
  #editedRange(
    { bytes }: SseFrame,
    [from, to]: readonly [from: number, to: number],
    [first, after]: readonly [first: number, after: number],
  ): Uint8Array {
    const { edits } = this.#meter;
    const pieces: Uint8Array[] = [];
    let readAt = from;
    for (let i = first; i < after; i++) {
      const { start, end, text } = edits.at(i);
      pieces.push(bytes.subarray(readAt, start), text);
      readAt = end;
    }
    return joined([...pieces, bytes.slice(readAt, to)]);
  }

  #leave(bytes: Uint8Array, start: number, end: number): void {
    this.#ranges.add(bytes, start, end);
  }

  /**
   * Some servers leave out the blank line after their last event. The standard drops such an event, but it may be the
   * usage report or the end of the stream, so the pipe reads and closes it. Half an event is still dropped.
   */
  #readRest(): Uint8Array {
    const frame = this.#splitter.takeRest();
    if (frame === undefined || (frame.dataLines === 0 && frame.bareObject === undefined)) {
      return nothing;
    }
    try {
      parseWithinDepth(frame.payloadIs("[DONE]") ? "null" : frame.bareObject ?? frame.data);
    } catch {
      return nothing;
    }
    this.#read(frame);
    this.#failure = undefined;
    if (this.#last.length > 0) this.#last = concat(this.#last, newlines);
    const rest = this.#ranges.take(undefined);
    return rest.length > 0 ? concat(rest, newlines) : nothing;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  if (second.length === 0) return first;
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
