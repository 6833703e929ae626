/**
 * Reads `POST /v1/images/generations` and `/v1/images/edits`, as JSON or as a form.
 *
 * See docs/media.md#images.
 */
import type { DescribedMember } from "../../lib/json/schemas.ts";
import { refuseMergedFields } from "../../calls/body/json_body.ts";
import { mergedField } from "../../wire/billable_features/asked_for.ts";
import { fieldsOfBody, type MediaBody, readMediaBody } from "../../calls/body/body.ts";
import {
  type MediaFields,
  referenceCount,
  referenceField,
  refuseField,
  textField,
} from "../../calls/body/fields.ts";
import {
  eventsFlag,
  listSchema,
  mediaPrompt,
  modelName,
  pictureSchema,
  wholeNumber,
} from "../../calls/body/request_field.ts";
import type { MediaReference } from "../../calls/body/reference.ts";
import { costOfUnits } from "../../billing/price.ts";
import type { AppliedPrice, Outcome } from "../../billing/usage/receipt.ts";

// Prices image calls by the images that were delivered, whatever was requested (outcome table).

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
 * import { chargeForImages } from "./request.ts";
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

/** Images of one request (`n`): what the image API allows. Bounds the price before it is looked up. */
const maxImagesPerRequest = 10;

/** Reference images of one edit: what the image API allows. */
const maxImageReferences = 16;

/** Previews of one streamed image: what the image API allows. */
const maxPartialImages = 3;

/** Pixels of the shorter side of an image: no model makes smaller ones. */
const minImageSidePixels = 64;

/** Pixels of the longer side of an image: no model makes larger ones. */
const maxImageSidePixels = 8_192;

/** The endpoints of images. */
export type ImageEndpoint = "generations" | "edits";

/** An image request that was read and checked. */
export interface ImageRequest {
  readonly endpoint: ImageEndpoint;
  readonly model: string;
  /** Images requested; bounds the charge. */
  readonly count: number;
  readonly stream: boolean;
  /** In the order of {@linkcode referenceFields}, then of the request. Only on edits. */
  readonly references: readonly MediaReference[];
  readonly mask: MediaReference | undefined;
  readonly body: MediaBody;
}

/**
 * The fields that may contain a reference: four names that clients use, and the SDK's list of its
 * JSON form.
 */
export const referenceFields = [
  "image",
  "image_url",
  "reference_image",
  "ref_image",
  "images",
] as const;

const count = wholeNumber("n", { min: 1, max: maxImagesPerRequest, about: { default: 1 } });

/** Previews are bounded like `n`, since the provider charges tokens for each. */
const partialImages = wholeNumber("partial_images", {
  min: 0,
  max: maxPartialImages,
  about: { description: "Previews of each picture of a stream." },
});

/** The fields of both endpoints that the document names. */
export const imageFields: readonly DescribedMember[] = [
  modelName,
  mediaPrompt,
  count,
  {
    name: "size",
    schema: {
      type: "string",
      description:
        `\`<W>x<H>\`, each side ${minImageSidePixels} to ${maxImageSidePixels}, or \`auto\`.`,
    },
  },
  eventsFlag,
  partialImages,
];

/** The fields of edits that the document names. */
export const imageEditFields: readonly DescribedMember[] = [
  ...imageFields,
  {
    name: "image",
    isRequired: true,
    schema: {
      description: `Up to ${maxImageReferences} pictures.`,
      anyOf: [pictureSchema, listSchema(pictureSchema, maxImageReferences, "Several pictures.")],
    },
  },
  { name: "mask", schema: pictureSchema },
];

/**
 * Reads an image request. Fields that are not checked here are forwarded unchanged.
 *
 * @throws {GatewayError} `invalid_request`, `invalid_json` or `unsupported_media_type`, naming the
 * field at fault
 */
export function readImageRequest(
  endpoint: ImageEndpoint,
  bytes: Uint8Array,
  contentType: string,
): ImageRequest {
  const body = readMediaBody(bytes, contentType);
  refuseMerged(body);
  const fields = fieldsOfBody(body);
  const model = modelName.read(fields);
  mediaPrompt.read(fields);
  checkSize(fields);
  partialImages.read(fields);
  return {
    endpoint,
    model,
    count: count.read(fields) ?? 1,
    stream: eventsFlag.read(fields),
    references: endpoint === "edits" ? readReferences(fields) : [],
    mask: endpoint === "edits" ? readMask(fields) : undefined,
    body,
  };
}

/**
 * Refuses `extra_body` in a form: it is a text that a provider may or may not parse as an object,
 * and no client needs it.
 */
function refuseMerged(body: MediaBody): void {
  if (body.kind === "json") return refuseMergedFields(body.json.value);
  if (body.parts.some(({ name }) => name === mergedField)) {
    refuseField(mergedField, "is not supported in forms; send its fields beside it");
  }
}

/** Refuses sizes that no model makes; providers check their own. */
function checkSize(fields: MediaFields): void {
  const size = textField(fields, "size");
  if (size === undefined || size === "auto") return;
  const match = /^([1-9]\d{1,4})x([1-9]\d{1,4})$/.exec(size);
  const fits = match?.slice(1).map(Number)
    .every((side) => side >= minImageSidePixels && side <= maxImageSidePixels);
  if (fits !== true) {
    refuseField(
      "size",
      `must be <W>x<H>, each from ${minImageSidePixels} to ${maxImageSidePixels}, or auto`,
    );
  }
}

function readReferences(fields: MediaFields): MediaReference[] {
  const given = referenceFields.reduce((sum, field) => sum + referenceCount(fields, field), 0);
  if (given === 0) {
    refuseField("image", "is required: a reference image as URL, data URL, base64 or file");
  }
  if (given > maxImageReferences) {
    refuseField("image", `at most ${maxImageReferences} reference images, ${given} were sent`);
  }
  return referenceFields.flatMap((field) => referenceField(fields, field));
}

function readMask(fields: MediaFields): MediaReference | undefined {
  const [mask, ...more] = referenceField(fields, "mask");
  if (more.length > 0) refuseField("mask", "must be one image");
  return mask;
}
