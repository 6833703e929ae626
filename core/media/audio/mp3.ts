/** The length of MPEG audio (layers 1 to 3, ISO/IEC 11172-3 and 13818-3): its frames are counted. */
import { asciiAt } from "./bytes.ts";

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
