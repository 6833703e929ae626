/**
 * Reads the binary frames of `application/vnd.amazon.eventstream`.
 *
 * A frame has a prelude (its length, the length of its headers, a CRC-32 of both), headers, a payload, and a CRC-32 of
 * all before it; numbers are big-endian.
 *
 * - Folder `core/lib/eventstream/`: the framing of AWS event streams.
 * - In: bytes in pieces of any length.
 * - Out: whole frames with checked sums.
 * - Never: interprets payloads.
 */
import { crc32 } from "../hash/crc32.ts";

/** Bytes of the largest frame: the payload bound of the format is 16 MiB, that of headers 128 KiB. */
const maxFrameBytes = 16 * 1024 * 1024 + 128 * 1024 + 16;

const preludeBytes = 12;
const checksumBytes = 4;

/** A frame: its headers of type text by name, and its payload. */
export interface EventFrame {
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Uint8Array;
}

/** Bytes that are no event stream. */
export class EventStreamFault extends Error {
  override name = "EventStreamFault";
}

/** Bytes of the values of header types without a length of their own, by type. */
const fixedValueBytes: readonly (number | undefined)[] = [
  0,
  0,
  1,
  2,
  4,
  8,
  undefined,
  undefined,
  8,
  16,
];
const textType = 7;

const text = new TextDecoder();

function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headers = new Map<string, string>();
  let at = 0;
  try {
    while (at < bytes.length) {
      const nameEnd = at + 1 + view.getUint8(at);
      const name = text.decode(bytes.subarray(at + 1, nameEnd));
      const type = view.getUint8(nameEnd);
      if (type >= fixedValueBytes.length) throw new EventStreamFault("unknown type of header");
      const fixed = fixedValueBytes[type];
      const start = nameEnd + (fixed === undefined ? 3 : 1);
      const end = start + (fixed ?? view.getUint16(nameEnd + 1));
      if (end > bytes.length) throw new EventStreamFault("cut header");
      if (type === textType) headers.set(name, text.decode(bytes.subarray(start, end)));
      at = end;
    }
  } catch (error) {
    if (error instanceof EventStreamFault) throw error;
    throw new EventStreamFault("cut header", { cause: error });
  }
  return headers;
}

/** Collects bytes until they are frames. Memory is bounded by that of the largest frame. */
export class EventStreamDecoder {
  #buffer = new Uint8Array(4096);
  #length = 0;

  /** Whether bytes of an unfinished frame are left: a body that ends now was cut. */
  get isWithinFrame(): boolean {
    return this.#length > 0;
  }

  /**
   * Takes the next bytes and returns the frames that are whole now.
   *
   * @throws {EventStreamFault} for a wrong sum, or a frame beyond its bounds
   */
  push(bytes: Uint8Array): EventFrame[] {
    this.#append(bytes);
    const frames: EventFrame[] = [];
    // Each frame is copied, so that its payload outlives the move of the rest.
    let at = 0;
    for (;;) {
      const rest = this.#buffer.subarray(at, this.#length);
      const length = frameLength(rest);
      if (length === undefined || rest.length < length) break;
      frames.push(readFrame(rest.slice(0, length)));
      at += length;
    }
    this.#buffer.copyWithin(0, at, this.#length);
    this.#length -= at;
    return frames;
  }

  #append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }
}

/** Reads the length of the frame that begins here; `undefined` while its prelude is not whole. */
function frameLength(bytes: Uint8Array): number | undefined {
  if (bytes.length < preludeBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, preludeBytes);
  // Checked first: a length that was damaged must not be waited for.
  if (crc32(bytes.subarray(0, 8)) !== view.getUint32(8)) {
    throw new EventStreamFault("wrong sum of a prelude");
  }
  const length = view.getUint32(0);
  const headerBytes = view.getUint32(4);
  if (length > maxFrameBytes || headerBytes > length - preludeBytes - checksumBytes) {
    throw new EventStreamFault("impossible length of a frame");
  }
  return length;
}

function readFrame(bytes: Uint8Array): EventFrame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - checksumBytes;
  if (crc32(bytes.subarray(0, end)) !== view.getUint32(end)) {
    throw new EventStreamFault("wrong sum of a frame");
  }
  const headersEnd = preludeBytes + view.getUint32(4);
  return {
    headers: readHeaders(bytes.subarray(preludeBytes, headersEnd)),
    payload: bytes.subarray(headersEnd, end),
  };
}
