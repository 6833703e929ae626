import { readQr } from "../../support/browser/qr_reader.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { parseOrderCode } from "../../../core/payments/order_code.ts";
import { orderVietQr } from "../../../core/payments/receiving_account.ts";
import { renderQr } from "../../../routes/dashboard/wallet/wallet_qr.ts";
import { receivingAccount } from "../../support/worlds/topup_world.ts";

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
