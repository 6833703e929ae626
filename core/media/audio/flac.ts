/** The length of FLAC (RFC 9639): the samples of its frames are counted, not the total of its header. */
import { viewOf } from "./bytes.ts";

/** Bytes of the longest frame header: sync, codes, a number of 7 bytes, block size, rate, check. */
export const maxFlacHeaderBytes = 16;

const checks = new Uint8Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ ((value & 0x80) === 0 ? 0 : 0x107);
  return value;
});

/** What all frames of a stream share. */
export interface FlacStream {
  readonly rate: number;
}

/** Reads STREAMINFO, whose body is at `at`; `undefined` if it is not whole. */
export function flacStream(bytes: Uint8Array, at: number): FlacStream | undefined {
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
export function flacFrameSamples(bytes: Uint8Array, at: number): number | undefined {
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
