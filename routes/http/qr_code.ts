/**
 * Draws QR codes, so that no image service learns who pays what: as SVG for pages, and as PNG, which phones keep among
 * their pictures and bank apps read from there.
 */
import { crc32, deflateSync } from "node:zlib";
import { encode, renderSVG } from "uqr";

/** Pixels of one module: a code of 45 modules then fits a phone's screen. */
const modulePixels = 12;

/** Light modules around the code, which readers need. */
const borderModules = 4;

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/** Writes a chunk of a PNG: length, type, data, and the check sum of both. */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Draws a text as a black-and-white PNG with error correction M. */
export function qrPng(text: string): Uint8Array<ArrayBuffer> {
  const { data: modules } = encode(text, { ecc: "M", border: borderModules });
  const side = modules.length * modulePixels;
  const rowBytes = Math.ceil(side / 8);
  // Each row begins with its filter, 0: the bytes as they are. A set bit is white.
  const pixels = new Uint8Array((1 + rowBytes) * side);
  for (let y = 0; y < side; y++) {
    const row = modules[Math.floor(y / modulePixels)] ?? [];
    const start = y * (1 + rowBytes) + 1;
    for (let x = 0; x < side; x++) {
      if (row[Math.floor(x / modulePixels)] === true) continue;
      const at = start + (x >> 3);
      pixels[at] = (pixels[at] ?? 0) | (0x80 >> (x & 7));
    }
  }
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, side);
  view.setUint32(4, side);
  head.set([1, 0, 0, 0, 0], 8); // one bit of grey, no interlace
  return joined([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", new Uint8Array(deflateSync(pixels))),
    chunk("IEND", new Uint8Array(0)),
  ]);
}

/** Renders a text as SVG with error correction M. Always black on white: banking apps do not read inverted codes. */
export function renderQr(text: string): string {
  return renderSVG(text, {
    ecc: "M",
    border: borderModules,
    blackColor: "#000",
    whiteColor: "#fff",
  });
}
