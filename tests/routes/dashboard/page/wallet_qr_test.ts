import { inflateSync } from "node:zlib";
import { readQr } from "../../../support/browser/qr_reader.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import { orderVietQr } from "../../../../core/trade/bank/receiving_account.ts";
import { qrPng, renderQr } from "../../../../routes/http/qr_code.ts";
import { receivingAccount } from "../../../support/worlds/topup_world.ts";

/** Draws the SVG into pixels: a white rectangle and black squares is all it may hold. */
function pixels(svg: string, scale: number): { data: Uint8ClampedArray; side: number } {
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
  assert(size > 0 && svg.includes(`<rect fill="#fff" width="${size}" height="${size}"/>`));
  const squares = [...svg.matchAll(/M(\d+),(\d+)h(\d+)v\3h-\3z/g)];
  assertEquals(svg.split("M").length - 1, squares.length);
  const unit = Number(squares[0]![3]);
  const side = (size / unit) * scale;
  const data = new Uint8ClampedArray(side * side * 4).fill(255);
  for (const [, x, y] of squares) {
    for (let row = 0; row < scale; row++) {
      for (let column = 0; column < scale; column++) {
        const at = ((Number(y) / unit) * scale + row) * side + (Number(x) / unit) * scale + column;
        data.set([0, 0, 0], at * 4);
      }
    }
  }
  return { data, side };
}

Deno.test("the QR code of an order reads back as its text, with its quiet zone", () => {
  const code = parseOrderCode("ST7K2M9QXJ")!;
  for (const amountVnd of [10_000n, 200_000n, 499_000_000n]) {
    const text = orderVietQr(receivingAccount, code, amountVnd);
    const svg = renderQr(text);
    const { data, side } = pixels(svg, 4);
    assertEquals(readQr(data, side, side), text);
    // Four white modules on each side.
    for (let at = 0; at < side * 4 * 4; at++) assertEquals(data[at * 4], 255);
  }
});

Deno.test("an order's QR code stays small: capitals keep it at version 5", () => {
  const text = orderVietQr(receivingAccount, parseOrderCode("ST7K2M9QXJ")!, 200_000n);
  const size = Number(/viewBox="0 0 (\d+) /.exec(renderQr(text))?.[1]) / 10;
  assertEquals(size, 37 + 8);
});

Deno.test("the SVG holds no script, style or link", () => {
  assert(
    !/<(?!\/?(svg|rect|path)\b)|style=|href=|on\w+=/.test(renderQr('X"><script>alert(1)</script>')),
  );
});

/** Reads a PNG with one bit of grey into pixels, checking its frame. */
function pngPixels(png: Uint8Array): { data: Uint8ClampedArray; side: number } {
  const view = new DataView(png.buffer, png.byteOffset);
  assertEquals([...png.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10]);
  const side = view.getUint32(16);
  assertEquals([view.getUint32(20), png[24], png[25]], [side, 1, 0]);
  const bodyAt = 8 + 12 + view.getUint32(8);
  const packed = png.subarray(bodyAt + 8, bodyAt + 8 + view.getUint32(bodyAt));
  const rows = inflateSync(packed);
  const rowBytes = Math.ceil(side / 8) + 1;
  assertEquals(rows.length, rowBytes * side);
  const data = new Uint8ClampedArray(side * side * 4).fill(255);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const isWhite = (rows[y * rowBytes + 1 + (x >> 3)]! >> (7 - (x & 7))) & 1;
      if (isWhite === 0) data.set([0, 0, 0], (y * side + x) * 4);
    }
  }
  return { data, side };
}

Deno.test("the picture of an order's QR code reads back as its text", () => {
  const text = orderVietQr(receivingAccount, parseOrderCode("ST7K2M9QXJ")!, 200_000n);
  const { data, side } = pngPixels(qrPng(text));
  assertEquals(readQr(data, side, side), text);
  for (let at = 0; at < side * 48; at++) assertEquals(data[at * 4], 255);
});
