/** A QR code as SVG, made on the server: no picture service learns who pays what. */
import { renderSVG } from "uqr";

/**
 * Renders a text as SVG. Error correction M; a border of four modules, as readers expect. Black on white in any theme:
 * banking apps do not read inverted codes.
 */
export function renderQr(text: string): string {
  return renderSVG(text, { ecc: "M", border: 4, blackColor: "#000", whiteColor: "#fff" });
}
