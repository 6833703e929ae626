/**
 * Reads and checks the body of `POST /v1/videos` by the rules of its model.
 *
 * See docs/media.md#parameters.
 */
import { type DescribedMember, text } from "../../lib/json/schemas.ts";
import {
  type MediaFields,
  referenceCount,
  referenceField,
  refuseField,
  textField,
  wholeNumberField,
} from "../../calls/body/fields.ts";
import { mediaPrompt, modelName, pictureSchema } from "../../calls/body/request_field.ts";
import type { MediaReference } from "../../calls/body/reference.ts";
import { parseRemoteUrl } from "../../net/remote/remote_url.ts";
import {
  type AspectRatio,
  aspectRatios,
  type VideoRules,
} from "../../catalog/entries/video_rules.ts";

/** A request that its model accepts. */
export interface VideoRequest {
  readonly prompt: string;
  /** As requested. */
  readonly seconds: number | undefined;
  /** The length that is billed: `seconds`, or the model's default. */
  readonly billedSeconds: number;
  /**
   * The length for the provider and the client: the same, or the nearest one that the model can
   * make.
   */
  readonly sentSeconds: number;
  /** `<W>x<H>`: as requested, or chosen by the aspect ratio, or the model's default. */
  readonly size: string;
  readonly aspectRatio: AspectRatio;
  /** `undefined` for models without this parameter. */
  readonly resolution: string | undefined;
  readonly inputReferences: readonly MediaReference[];
  readonly lastFrame: MediaReference | undefined;
  readonly inputVideoUrl: string | undefined;
  /**
   * Fields that this endpoint does not know. They are not forwarded: an unknown field might change
   * the price.
   */
  readonly unknownFields: readonly string[];
  /** Fields that the model can follow only approximately. */
  readonly approximatedFields: readonly string[];
}

/** The fields of the endpoint; what a model takes of them is in its rules. */
export const videoFields: readonly DescribedMember[] = [
  modelName,
  mediaPrompt,
  {
    name: "seconds",
    schema: {
      anyOf: [{ type: "integer", minimum: 1 }, { type: "string", pattern: "^[1-9]\\d{0,2}$" }],
    },
  },
  {
    name: "size",
    schema: { type: "string", description: "`<W>x<H>`, one of the model's sizes." },
  },
  { name: "aspect_ratio", schema: { type: "string", enum: [...aspectRatios] } },
  {
    name: "input_reference",
    schema: { anyOf: [pictureSchema, { type: "array", items: pictureSchema }] },
  },
  {
    name: "image_url",
    schema: {
      anyOf: [pictureSchema, { type: "array", items: pictureSchema }],
      description: "Another name of `input_reference`.",
    },
  },
  { name: "last_frame", schema: pictureSchema },
  {
    name: "input_video",
    schema: { type: "string", format: "uri", description: "An http(s) URL." },
  },
  { name: "resolution", schema: text },
];

const knownFields: ReadonlySet<string> = new Set(videoFields.map(({ name }) => name));

/** Joins words as `a`, `a or b`, `a, b or c`. */
function either(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/**
 * Checks a request against the rules of its model.
 *
 * `aspect_ratio` without `size` selects the first size of that ratio, or the nearest one if the
 * model has none; both given and in conflict is an error. `image_url` is another name for
 * `input_reference`.
 *
 * @example
 * ```ts
 * import { fieldsOfJson } from "../../calls/body/fields.ts";
 * import { readVideoRequest } from "./request.ts";
 * import { specVideoRules } from "../../catalog/entries/video_rules.ts";
 * const fields = fieldsOfJson({ prompt: "a cat", aspect_ratio: "16:9" });
 * const request = readVideoRequest(fields, specVideoRules.A, "video-a");
 * if (request.size !== "1280x720" || request.billedSeconds !== 5) throw new Error("wrong defaults");
 * ```
 *
 * @throws {GatewayError} `invalid_request` that names the field at fault
 */
export function readVideoRequest(
  fields: MediaFields,
  rules: VideoRules,
  model: string,
): VideoRequest {
  const prompt = mediaPrompt.read(fields);
  const seconds = readSeconds(fields, rules, model);
  const { isNearest, ...shape } = readShape(fields, rules, model);
  const resolution = readResolution(fields, rules, model);
  const inputReferences = readInputReferences(fields, rules, model);
  return {
    prompt,
    seconds,
    billedSeconds: seconds ?? rules.defaultSeconds,
    sentSeconds: seconds ?? nearestSeconds(rules, rules.defaultSeconds),
    ...shape,
    resolution,
    inputReferences,
    lastFrame: readLastFrame(fields, rules, model, inputReferences.length),
    inputVideoUrl: readInputVideo(fields, rules, model),
    unknownFields: [...fields.keys()].filter((name) => !knownFields.has(name)),
    approximatedFields: isNearest ? ["aspect_ratio"] : [],
  };
}

function isAllowed(rules: VideoRules, seconds: number): boolean {
  return rules.seconds.some(({ from, to }) => from <= seconds && seconds <= to);
}

/**
 * Returns the nearest length; of two equally near ones the longer, so that a client gets no less
 * than is billed.
 */
function nearestSeconds(rules: VideoRules, seconds: number): number {
  const lengths = rules.seconds.map(({ from, to }) => Math.min(Math.max(seconds, from), to));
  return lengths.reduce((best, length) => {
    const nearer = Math.abs(length - seconds) - Math.abs(best - seconds);
    return nearer < 0 || (nearer === 0 && length > best) ? length : best;
  });
}

function readSeconds(fields: MediaFields, rules: VideoRules, model: string): number | undefined {
  const seconds = wholeNumberField(fields, "seconds");
  if (seconds === undefined) return undefined;
  if (seconds !== "invalid" && isAllowed(rules, seconds)) return seconds;
  const ranges = rules.seconds.map(({ from, to }) => from === to ? `${from}` : `${from} to ${to}`);
  refuseField("seconds", `must be ${either(ranges)} for ${model}`);
}

function readShape(
  fields: MediaFields,
  rules: VideoRules,
  model: string,
): { size: string; aspectRatio: AspectRatio; isNearest: boolean } {
  const ratioText = textField(fields, "aspect_ratio");
  const ratio = aspectRatios.find((known) => known === ratioText);
  const ofRatio = rules.sizes.find((rule) => rule.ratio === ratio);
  if (ratioText !== undefined && ratio === undefined) {
    refuseField("aspect_ratio", `must be ${either(aspectRatios)}`);
  }
  const sizeText = textField(fields, "size");
  if (sizeText === undefined) {
    const nearest = ratio === undefined ? rules.sizes[0]! : nearestSize(rules, ratio);
    const chosen = ofRatio ?? nearest;
    const isNearest = ratio !== undefined && ofRatio === undefined;
    return { size: chosen.size, aspectRatio: chosen.ratio, isNearest };
  }
  const chosen = rules.sizes.find((rule) => rule.size === sizeText);
  if (chosen === undefined) {
    refuseField("size", `must be ${either(rules.sizes.map((rule) => rule.size))} for ${model}`);
  }
  if (ratio !== undefined && chosen.ratio !== ratio) {
    refuseField(
      "aspect_ratio",
      `${ratio} is in conflict with size ${chosen.size}; send one of them`,
    );
  }
  return { size: chosen.size, aspectRatio: chosen.ratio, isNearest: false };
}

/**
 * Returns the size whose aspect ratio differs least, by the factor between the two; the first of
 * equally near ones.
 */
function nearestSize({ sizes }: VideoRules, ratio: AspectRatio): VideoRules["sizes"][number] {
  const distance = ({ size }: VideoRules["sizes"][number]) =>
    Math.abs(Math.log(shapeOf(size, "x") / shapeOf(ratio, ":")));
  return sizes.reduce((best, rule) => {
    // Ratios that mirror each other are equally near to a square, except for the last digit of a
    // double.
    return distance(best) - distance(rule) > 1e-9 ? rule : best;
  });
}

/** Divides width by height. */
function shapeOf(text: string, separator: string): number {
  const [width, height] = text.split(separator).map(Number);
  return width! / height!;
}

function readResolution(
  fields: MediaFields,
  rules: VideoRules,
  model: string,
): string | undefined {
  const resolution = textField(fields, "resolution");
  if (rules.resolutions.length === 0) {
    if (resolution !== undefined) refuseField("resolution", `is not supported by ${model}`);
    return undefined;
  }
  if (resolution !== undefined && !rules.resolutions.includes(resolution)) {
    refuseField("resolution", `must be ${either(rules.resolutions)} for ${model}`);
  }
  return resolution ?? rules.resolutions[0];
}

function readInputReferences(
  fields: MediaFields,
  rules: VideoRules,
  model: string,
): MediaReference[] {
  const most = rules.maxInputReferences;
  const given = referenceCount(fields, "input_reference") + referenceCount(fields, "image_url");
  if (given > most) {
    refuseField("input_reference", `at most ${most} images for ${model}, ${given} were sent`);
  }
  return [...referenceField(fields, "input_reference"), ...referenceField(fields, "image_url")];
}

function readLastFrame(
  fields: MediaFields,
  rules: VideoRules,
  model: string,
  inputReferenceCount: number,
): MediaReference | undefined {
  if (!fields.has("last_frame")) return undefined;
  if (!rules.lastFrame) refuseField("last_frame", `is not supported by ${model}`);
  const [frame, ...more] = referenceField(fields, "last_frame");
  if (frame === undefined || more.length > 0) refuseField("last_frame", "must be one image");
  if (inputReferenceCount === 0) {
    refuseField("last_frame", "needs input_reference as the first frame");
  }
  return frame;
}

function readInputVideo(
  fields: MediaFields,
  rules: VideoRules,
  model: string,
): string | undefined {
  if (!fields.has("input_video")) return undefined;
  if (!rules.inputVideo) refuseField("input_video", `is not supported by ${model}`);
  const text = textField(fields, "input_video");
  const url = parseRemoteUrl(text ?? "");
  if (typeof url === "string") refuseField("input_video", url);
  return url.href;
}
