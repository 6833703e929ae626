/** Prices image calls by the images that were delivered, whatever was requested (outcome table). */
import { costOfUnits } from "../../billing/price.ts";
import type { AppliedPrice, Outcome } from "../../billing/usage/receipt.ts";

/** The facts about an image call at its end. */
export interface ImageEnd {
  readonly outcome: Outcome;
  readonly price: AppliedPrice;
  /** Images requested: never more than these are charged. */
  readonly asked: number;
  /** Images that arrived completely. */
  readonly finished: number;
  /** Images of which at least a preview arrived. */
  readonly begun: number;
}

/** The images that are charged, and their cost. */
export interface ImageCharge {
  readonly units: number;
  readonly priceMicroVnd: bigint;
}

/**
 * Prices the end of an image call.
 *
 * Finished images are charged. A client that leaves during an image pays for that one too, since
 * its preview was delivered and the provider charges for it; so does one whose key is revoked
 * meanwhile. If the provider breaks off, an unfinished image is free. A price per request is
 * charged once if at least one image counts.
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
