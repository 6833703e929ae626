/** Reads QR codes from pixels. The package's types say "module", the program is the function itself. */
import jsqr from "jsqr";

type Reader = typeof jsqr.default;

function isReader(value: unknown): value is Reader {
  return typeof value === "function";
}

/** The text of the QR code in an RGBA picture; `undefined` if none is found. */
export function readQr(rgba: Uint8ClampedArray, width: number, height: number): string | undefined {
  const reader: unknown = jsqr;
  if (!isReader(reader)) throw new Error("The QR reader has another form");
  return reader(rgba, width, height)?.data;
}
