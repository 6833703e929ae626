/** What an image call costs: the images that came, whatever was asked for (outcome table). */
import { costOfUnits } from "../../billing/price.ts";
import type { AppliedPrice, Outcome } from "../../billing/receipt.ts";

export interface ImageEnd {
  readonly outcome: Outcome;
  readonly price: AppliedPrice;
  /** Images asked for: never more than these are charged. */
  readonly asked: number;
  /** Images that came whole. */
  readonly finished: number;
  /** Images of which at least a preview came. */
  readonly begun: number;
}

export interface ImageCharge {
  readonly units: number;
  readonly priceMicroVnd: bigint;
}

/**
 * Prices the end of an image call.
 *
 * Finished images are charged. A client that leaves while an image is in the making pays for that one too: its preview
 * was delivered and its provider charges for it; so does one whose key is revoked meanwhile. When the provider breaks off, an unfinished image is free.
 * A price per request is charged once if at least one image counts.
 *
 * @example
 * ```ts
 * import { chargeForImages } from "./charge.ts";
 * const price = { unit: "image", perUnitMicroVnd: 1_000_000_000n } as const;
 * const charge = chargeForImages({ outcome: "completed", price, asked: 4, finished: 3, begun: 3 });
 * if (charge.priceMicroVnd !== 3_000_000_000n) throw new Error("not by images returned");
 * ```
 */
export function chargeForImages(end: ImageEnd): ImageCharge {
  const count = end.outcome === "failed" || end.outcome === "empty"
    ? 0
    : end.outcome === "client_gone" || end.outcome === "cut"
    ? end.begun
    : end.finished;
  const images = Math.min(count, end.asked);
  const units = end.price.unit === "request" ? Math.min(images, 1) : images;
  return { units, priceMicroVnd: costOfUnits(end.price, units) };
}
