/** Writes small pictures as PNG files (ISO/IEC 15948), uncompressed, so that sizes are known. */

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Maximum length of a stored block of DEFLATE (RFC 1951, section 3.2.4). */
const blockBytes = 65_535;

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return ((b << 16) | a) >>> 0;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) bytes[4 + i] = type.charCodeAt(i);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

/** Wraps bytes in a zlib stream (RFC 1950) of stored blocks. */
function stored(raw: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(raw.length / blockBytes));
  const bytes = new Uint8Array(2 + blocks * 5 + raw.length + 4);
  const view = new DataView(bytes.buffer);
  bytes.set([0x78, 0x01]);
  let at = 2;
  for (let block = 0; block < blocks; block++) {
    const part = raw.subarray(block * blockBytes, (block + 1) * blockBytes);
    bytes[at] = block === blocks - 1 ? 1 : 0;
    view.setUint16(at + 1, part.length, true);
    view.setUint16(at + 3, ~part.length & 0xffff, true);
    bytes.set(part, at + 5);
    at += 5 + part.length;
  }
  view.setUint32(at, adler32(raw));
  return bytes;
}

/**
 * Draws a gradient whose colours are derived from `seed`.
 *
 * @example
 * ```ts
 * import { drawPng } from "./media_png.ts";
 * const png = drawPng({ width: 16, height: 9, seed: 7 });
 * const view = new DataView(png.buffer);
 * if (view.getUint32(16) !== 16 || view.getUint32(20) !== 9) throw new Error("wrong size");
 * ```
 */
export function drawPng(
  picture: { readonly width: number; readonly height: number; readonly seed: number },
): Uint8Array<ArrayBuffer> {
  const { width, height, seed } = picture;
  const raw = new Uint8Array(height * (1 + width * 3));
  let at = 0;
  for (let y = 0; y < height; y++) {
    raw[at++] = 0; // no filter
    for (let x = 0; x < width; x++) {
      raw[at++] = (seed + Math.floor(x * 255 / width)) & 0xff;
      raw[at++] = (seed * 3 + Math.floor(y * 255 / height)) & 0xff;
      raw[at++] = (seed * 7 + Math.floor((x + y) * 255 / (width + height))) & 0xff;
    }
  }
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 2, 0, 0, 0], 8); // 8 bits per channel, true colour
  const parts = [
    Uint8Array.from(signature),
    chunk("IHDR", header),
    chunk("IDAT", stored(raw)),
    chunk("IEND", new Uint8Array(0)),
  ];
  const png = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    png.set(part, offset);
    offset += part.length;
  }
  return png;
}
