/**
 * Converts frames that differ from the one before in a text only: the text moves from the bytes around it to the bytes that
 * the client's style has around it, without being decoded.
 */
import type { ByteRanges } from "../../lib/bytes/byte_ranges.ts";
import { utf16Length } from "../../lib/bytes/utf16_length.ts";
import type { SseFrame } from "../../lib/sse/frame.ts";
import { RepeatedFrame } from "../../lib/sse/repeated_frame.ts";
import type { StreamReading } from "../contract/contract.ts";
import type { StreamEvent } from "../conversation/mod.ts";
import type { RepeatableText, StreamDecoder, StreamEncoder } from "../stream/dialect.ts";
import { enterText } from "../stream/reading.ts";

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

/** What a repeated frame is converted with. */
export interface RepeatedTextOptions {
  readonly decoder: StreamDecoder;
  readonly encoder: StreamEncoder;
  readonly reading: StreamReading;
}

/** The repeated texts of one converted stream. */
export class RepeatedText {
  readonly #options: RepeatedTextOptions;
  readonly #repeated = new RepeatedFrame();
  #kind: RepeatableText["kind"] = "text";
  #block = 0;
  #before: Uint8Array = nothing;
  #after: Uint8Array = nothing;

  constructor(options: RepeatedTextOptions) {
    this.#options = options;
  }

  get isKnown(): boolean {
    return this.#repeated.isKnown;
  }

  forget(): void {
    this.#repeated.forget();
  }

  /** Learns from a frame that gave only `event`, for which `written` was written. */
  learn(frame: SseFrame, data: string, event: StreamEvent, written: string): void {
    const text = this.#options.decoder.repeatableText;
    if (text === undefined || event.type !== text.kind || frame.dataLines !== 1) return;
    const around = this.#options.encoder.textFrame?.(text.kind, event.block);
    if (around === undefined || written !== around.before + event.json + around.after) return;
    const quoteAt = frame.payloadStart + encoder.encode(data.slice(0, text.at)).length;
    if (!this.#repeated.learnText(frame, quoteAt + 1)) return;
    this.#kind = text.kind;
    this.#block = event.block;
    this.#before = encoder.encode(around.before);
    this.#after = encoder.encode(around.after);
  }

  /** Converts the frame that begins at `from`; returns its end, or -1 if it is another one. */
  convert(bytes: Uint8Array, from: number, out: ByteRanges): number {
    const repeated = this.#repeated;
    const end = repeated.match(bytes, from, bytes.length);
    if (end === -1) return -1;
    const { textStart, textEnd, textLength } = repeated;
    const units = utf16Length(bytes, textStart, textEnd);
    if (units <= 0) return -1;
    const escapes = textEnd - textStart - textLength;
    const { decoder, encoder: writer, reading } = this.#options;
    decoder.passed?.(this.#kind, units - escapes);
    writer.passed?.(this.#kind, this.#block, units - escapes);
    enterText(reading, textLength, this.#kind === "text");
    out.add(this.#before, 0, this.#before.length);
    out.add(bytes, textStart - 1, textEnd + 1);
    out.add(this.#after, 0, this.#after.length);
    return end;
  }
}
