/** The length of MPEG audio (layers 1 to 3, ISO/IEC 11172-3 and 13818-3): its frames are counted. */

// Reads numbers and marks of binary files.

/** Whether the file has these characters, one byte each, at a place. */
export function asciiAt(bytes: Uint8Array, at: number, text: string): boolean {
  if (at + text.length > bytes.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

/** Makes a view of a part of the file. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Reads bits from the most significant one of each byte; past the end they are 0. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, startByte = 0) {
    this.#bytes = bytes;
    this.#at = startByte * 8;
  }

  /** Reads up to 32 bits. */
  read(bits: number): number {
    let value = 0;
    for (let i = 0; i < bits; i++, this.#at++) {
      const byte = this.#bytes[this.#at >> 3] ?? 0;
      value = value * 2 + ((byte >> (7 - (this.#at & 7))) & 1);
    }
    return value;
  }
}

// The length of FLAC (RFC 9639): the samples of its frames are counted, not the total of its header.

/** Bytes of the longest frame header: sync, codes, a number of 7 bytes, block size, rate, check. */
const maxFlacHeaderBytes = 16;

const checks = new Uint8Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ ((value & 0x80) === 0 ? 0 : 0x107);
  return value;
});

/** Facts that all frames of a stream share. */
export interface FlacStream {
  readonly rate: number;
}

/** Reads STREAMINFO, whose body is at `at`; `undefined` if it is not whole. */
function flacStream(bytes: Uint8Array, at: number): FlacStream | undefined {
  if (at + 34 > bytes.length) return undefined;
  const rate = viewOf(bytes).getUint32(at + 10) >>> 12;
  return rate === 0 ? undefined : { rate };
}

function numberBytes(first: number): number | undefined {
  if (first < 0x80) return 1;
  const ones = Math.clz32(~first & 0xff) - 24;
  return ones < 2 || ones > 7 ? undefined : ones;
}

/** Returns the samples of the frame whose header is at `at`; `undefined` if there is none. */
function flacFrameSamples(bytes: Uint8Array, at: number): number | undefined {
  if (bytes[at] !== 0xff || (bytes[at + 1]! & 0xfe) !== 0xf8) return undefined;
  const codes = bytes[at + 2] ?? 0;
  const sizeCode = codes >> 4;
  const rateCode = codes & 15;
  const channels = (bytes[at + 3] ?? 0) >> 4;
  const bits = ((bytes[at + 3] ?? 0) >> 1) & 7;
  if (sizeCode === 0 || rateCode === 15 || channels > 10 || bits === 3) return undefined;
  if (((bytes[at + 3] ?? 0) & 1) !== 0) return undefined;
  const number = numberBytes(bytes[at + 4] ?? 0xff);
  if (number === undefined) return undefined;
  let end = at + 4 + number;
  let samples = sizeCode === 1 ? 192 : sizeCode < 6 ? 144 << sizeCode : 1 << sizeCode;
  if (sizeCode === 6) samples = (bytes[end] ?? 0) + 1;
  if (sizeCode === 7) samples = (bytes[end] ?? 0) * 256 + (bytes[end + 1] ?? 0) + 1;
  end += sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0;
  end += rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0;
  let check = 0;
  for (let i = at; i < end; i++) check = checks[check ^ (bytes[i] ?? 0)]!;
  return end < bytes.length && check === bytes[end] ? samples : undefined;
}

/** Returns the seconds of a file; `undefined` if it has no frame. */
export function measureFlac(bytes: Uint8Array): number | undefined {
  const stream = flacStream(bytes, 8);
  if (stream === undefined) return undefined;
  let at = 4;
  for (let isLast = false; !isLast && at + 4 <= bytes.length;) {
    isLast = (bytes[at]! & 0x80) !== 0;
    at += 4 + (viewOf(bytes).getUint32(at) & 0xffffff);
  }
  if (flacFrameSamples(bytes, at) === undefined) return undefined;
  // Frames do not say how long they are. A header has a check of its own, and repeats what holds for the whole stream:
  // blocking, rate and bits, so hardly any other bytes look like one.
  const [, blocking, codes = 0, bits = 0] = bytes.subarray(at, at + 4);
  let samples = 0;
  for (; at >= 0 && at < bytes.length; at = bytes.indexOf(0xff, at + 1)) {
    const isLike = bytes[at + 1] === blocking && ((bytes[at + 2]! ^ codes) & 15) === 0 &&
      ((bytes[at + 3]! ^ bits) & 15) === 0;
    if (isLike) samples += flacFrameSamples(bytes, at) ?? 0;
  }
  return samples / stream.rate;
}

// The length of Opus packets (RFC 6716 section 3.1), which their first bytes decide.

/** Samples of one packet at most: 120 ms. */
const maxPacketSamples = 5_760;

/** Opus counts in these, whatever the rate of the recording. */
export const opusHertz = 48_000;

/** Returns the samples of a packet by its first two bytes. */
export function opusPacketSamples(first: number, second: number): number {
  const mode = first >> 3;
  const frame = mode < 12
    ? [480, 960, 1_920, 2_880][mode & 3]!
    : mode < 16
    ? [480, 960][mode & 1]!
    : [120, 240, 480, 960][mode & 3]!;
  const code = first & 3;
  const frames = code === 0 ? 1 : code === 3 ? second & 63 : 2;
  return Math.min(frame * frames, maxPacketSamples);
}

// The length of Ogg files (RFC 3533) with Opus or FLAC: their packets are counted, not their positions.

/** Bytes of a packet that are read: the first one of FLAC has 51 before its frames. */
const headBytes = 64;

/** One logical stream of a file. */
interface Stream {
  /** Beginning of the packet that is being put together. */
  readonly head: Uint8Array;
  headLength: number;
  packets: number;
  rate: number;
  codec: "opus" | "flac" | undefined;
  samples: number;
}

function newStream(): Stream {
  return {
    head: new Uint8Array(headBytes),
    headLength: 0,
    packets: 0,
    rate: 0,
    codec: undefined,
    samples: 0,
  };
}

function identify(stream: Stream): void {
  const { head } = stream;
  if (asciiAt(head, 0, "OpusHead")) {
    stream.codec = "opus";
    stream.rate = opusHertz;
  } else if (asciiAt(head, 0, "\x7fFLAC") && asciiAt(head, 9, "fLaC")) {
    const found = flacStream(head, 17);
    if (found === undefined) return;
    stream.codec = "flac";
    stream.rate = found.rate;
  }
}

function addPacket(stream: Stream): void {
  const { head, headLength } = stream;
  if (stream.packets === 0) identify(stream);
  else if (stream.codec === "opus" && headLength > 0 && !asciiAt(head, 0, "OpusTags")) {
    stream.samples += opusPacketSamples(head[0]!, headLength > 1 ? head[1]! : 0);
  } else if (stream.codec === "flac") {
    // One byte more than a header, whose check needs a byte after it.
    stream.samples += flacFrameSamples(head.subarray(0, maxFlacHeaderBytes + 1), 0) ?? 0;
  }
  stream.packets++;
  stream.headLength = 0;
}

function addBytes(stream: Stream, bytes: Uint8Array): void {
  const part = bytes.subarray(0, headBytes - stream.headLength);
  stream.head.set(part, stream.headLength);
  stream.headLength += part.length;
}

/** Returns the seconds of all streams together; `undefined` if one has another encoding. */
export function measureOgg(bytes: Uint8Array): number | undefined {
  const view = viewOf(bytes);
  const streams: Stream[] = [];
  const current = new Map<number, Stream>();
  let at = 0;
  while (at + 27 <= bytes.length && asciiAt(bytes, at, "OggS")) {
    const serial = view.getUint32(at + 14);
    let stream = current.get(serial);
    const begins = (bytes[at + 5]! & 2) !== 0;
    if (stream === undefined || begins) {
      stream = newStream();
      streams.push(stream);
      current.set(serial, stream);
    }
    const segments = bytes[at + 26]!;
    let body = at + 27 + segments;
    for (let i = 0; i < segments; i++) {
      const length = bytes[at + 27 + i] ?? 0;
      addBytes(stream, bytes.subarray(body, body + length));
      body += length;
      if (length < 255) addPacket(stream);
    }
    at = body;
  }
  let seconds = 0;
  for (const stream of streams) {
    if (stream.codec === undefined) return undefined;
    seconds += stream.samples / stream.rate;
  }
  return seconds;
}

// The length of WAV files (RIFF, RF64) with samples of a fixed size.

/** Encodings with a fixed number of bytes for each sample: PCM, float, A-law, µ-law. */
const fixedSizeFormats: ReadonlySet<number> = new Set([1, 3, 6, 7]);
/** The encoding that a longer header names. */
const extensible = 0xfffe;

interface Format {
  readonly bytesPerSecond: number;
}

function readFormat(bytes: Uint8Array, at: number, size: number): Format | undefined {
  if (size < 16 || at + size > bytes.length) return undefined;
  const view = viewOf(bytes);
  const tag = view.getUint16(at, true);
  const format = tag === extensible && size >= 26 ? view.getUint16(at + 24, true) : tag;
  const channels = view.getUint16(at + 2, true);
  const rate = view.getUint32(at + 4, true);
  const bits = view.getUint16(at + 14, true);
  if (!fixedSizeFormats.has(format)) return undefined;
  const bytesPerSecond = channels * Math.ceil(bits / 8) * rate;
  return bytesPerSecond > 0 ? { bytesPerSecond } : undefined;
}

/** Returns the seconds of a file; `undefined` for an encoding whose samples have no fixed size. */
export function measureWav(bytes: Uint8Array): number | undefined {
  const view = viewOf(bytes);
  let format: Format | undefined;
  let dataBytes = 0;
  for (let at = 12; at + 8 <= bytes.length;) {
    const start = at + 8;
    const size = view.getUint32(at + 4, true);
    if (asciiAt(bytes, at, "fmt ")) format ??= readFormat(bytes, start, size);
    if (!asciiAt(bytes, at, "data")) {
      at = start + size + (size & 1);
      continue;
    }
    // Recorders that never came back to write the size leave 0 or the largest number.
    const rest = bytes.length - start;
    const isOpen = size === 0 || size > rest;
    dataBytes += isOpen ? rest : size;
    at = isOpen ? bytes.length : start + size + (size & 1);
  }
  return format && dataBytes / format.bytesPerSecond;
}

/** kbit/s by index, for MPEG 1 by layer, and for MPEG 2 and 2.5. */
const bitRates: Readonly<Record<"1.1" | "1.2" | "1.3" | "2.1" | "2.2", readonly number[]>> = {
  "1.1": [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  "1.2": [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  "1.3": [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  "2.1": [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  "2.2": [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
/** Samples per second of MPEG 1; half of it in MPEG 2, a quarter in MPEG 2.5. */
const sampleRates = [44_100, 48_000, 32_000];

interface Frame {
  readonly bytes: number;
  readonly seconds: number;
}

/** Reads a frame's header; `undefined` if there is none, or if its bit rate is "free", which states no length. */
function frameAt(bytes: Uint8Array, at: number): Frame | undefined {
  const second = bytes[at + 1] ?? 0;
  const third = bytes[at + 2] ?? 0;
  if (bytes[at] !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 3; // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
  const layer = 4 - ((second >> 1) & 3);
  const rateIndex = (third >> 2) & 3;
  const rate = sampleRates[rateIndex];
  if (version === 1 || layer === 4 || rate === undefined) return undefined;
  const isFirst = version === 3;
  const rates = isFirst
    ? bitRates[layer === 1 ? "1.1" : layer === 2 ? "1.2" : "1.3"]
    : bitRates[layer === 1 ? "2.1" : "2.2"];
  const kilobits = rates[(third >> 4) - 1];
  if (kilobits === undefined) return undefined;
  const hertz = rate / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1_152;
  const padding = (third >> 1) & 1;
  const length = layer === 1
    ? (Math.floor(12_000 * kilobits / hertz) + padding) * 4
    : Math.floor(samples * 125 * kilobits / hertz) + padding;
  return { bytes: length, seconds: samples / hertz };
}

/** Returns the place after tags of the kind ID3v2. */
function afterTags(bytes: Uint8Array): number {
  let at = 0;
  while (asciiAt(bytes, at, "ID3") && at + 10 <= bytes.length) {
    const size = [6, 7, 8, 9].reduce((sum, i) => sum * 128 + (bytes[at + i]! & 0x7f), 0);
    const footer = (bytes[at + 5]! & 0x10) === 0 ? 0 : 10;
    at += 10 + size + footer;
  }
  return at;
}

/** Whether the first frame has a table of contents in place of sound. */
function isIndex(bytes: Uint8Array, at: number): boolean {
  return [13, 21, 36].some((skip) =>
    asciiAt(bytes, at + skip, "Xing") || asciiAt(bytes, at + skip, "Info")
  ) || asciiAt(bytes, at + 36, "VBRI");
}

/** Returns the seconds of a file; `undefined` if it has no two frames in a row. */
export function measureMp3(bytes: Uint8Array): number | undefined {
  let seconds = 0;
  let frames = 0;
  let isInStep = false;
  for (let at = afterTags(bytes); at >= 0 && at + 4 <= bytes.length;) {
    const frame = frameAt(bytes, at);
    const isFrame = frame !== undefined &&
      (isInStep || frameAt(bytes, at + frame.bytes) !== undefined);
    if (!isFrame) {
      isInStep = false;
      at = bytes.indexOf(0xff, at + 1);
      continue;
    }
    if (frames > 0 || !isIndex(bytes, at)) seconds += frame.seconds;
    frames++;
    isInStep = true;
    at += frame.bytes;
  }
  return frames > 1 ? seconds : undefined;
}
