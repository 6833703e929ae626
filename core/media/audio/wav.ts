/** The length of WAV files (RIFF, RF64) with samples of a fixed size. */
import { asciiAt, viewOf } from "./bytes.ts";

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
