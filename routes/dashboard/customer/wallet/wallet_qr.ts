/** Renders QR codes as SVG on the server, so that no image service learns who pays what. */
import { renderSVG } from "uqr";

/**
 * Renders a text as SVG: error correction M, a border of four modules. Always black on white: banking apps do not read
 * inverted codes.
 */
export function renderQr(text: string): string {
  return renderSVG(text, { ecc: "M", border: 4, blackColor: "#000", whiteColor: "#fff" });
}
