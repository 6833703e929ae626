/** Reads image answers without decoding their megabytes of base64. */
import { JsonCursor, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";

const dataKey = jsonKey("data");
const base64Key = jsonKey("b64_json");
const urlKey = jsonKey("url");
const errorKey = jsonKey("error");

/** The parts of an image answer that decide the charge. */
export interface ImageAnswerReading {
  /** The images that exist: elements of `data` with a non-empty `b64_json` or `url`. */
  readonly images: number;
  /**
   * Whether `data` is a list of pictures, or an empty one. Any other form may contain pictures that
   * were not counted, and delivering them would make them free.
   */
  readonly isUsable: boolean;
  /** Whether the body of a 200 is in fact an error object. */
  readonly hasError: boolean;
}

/**
 * Counts the images of a whole answer (`{ data: [{ b64_json | url }], … }`); `undefined` if the
 * bytes are not such JSON. Only the structure is read; base64 is skipped, never copied.
 *
 * @example
 * ```ts
 * import { readImageAnswer } from "./answer.ts";
 * const body = '{"created":1,"data":[{"b64_json":"aGk="},{"url":null},{"url":"https://example.com/i.png"}]}';
 * if (readImageAnswer(new TextEncoder().encode(body))?.images !== 2) throw new Error("wrong count");
 * ```
 */
export function readImageAnswer(bytes: Uint8Array): ImageAnswerReading | undefined {
  const cursor = new JsonCursor();
  try {
    cursor.reset(bytes, 0, bytes.length);
    if (!cursor.enterObject()) return undefined;
    let found: FoundImages = { images: 0, isUsable: false };
    let hasError = false;
    while (cursor.nextMember()) {
      if (cursor.keyIs(dataKey) && cursor.enterArray()) found = findImages(cursor);
      else {
        if (cursor.keyIs(errorKey) && !cursor.isNull) hasError = true;
        cursor.skip();
      }
    }
    return { ...found, hasError };
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

type FoundImages = Pick<ImageAnswerReading, "images" | "isUsable">;

function findImages(cursor: JsonCursor): FoundImages {
  let images = 0;
  let elements = 0;
  let isStrange = false;
  while (cursor.nextElement()) {
    elements++;
    if (cursor.enterObject()) {
      if (isImage(cursor)) images++;
    } else {
      isStrange ||= !cursor.isNull;
      cursor.skip();
    }
  }
  return { images, isUsable: !isStrange && (images > 0 || elements === 0) };
}

/** The place of a picture's object, braces included. */
export interface PicturePlace {
  readonly start: number;
  readonly end: number;
}

/** Finds the first pictures of a usable answer. */
export function findPictures(bytes: Uint8Array, atMost: number): readonly PicturePlace[] {
  const places: PicturePlace[] = [];
  const cursor = new JsonCursor();
  cursor.reset(bytes, 0, bytes.length);
  cursor.enterObject();
  while (cursor.nextMember()) {
    if (!cursor.keyIs(dataKey) || !cursor.enterArray()) {
      cursor.skip();
      continue;
    }
    places.length = 0; // named twice, the last one holds
    while (cursor.nextElement()) {
      const start = cursor.at;
      if (!cursor.enterObject()) cursor.skip();
      else if (isImage(cursor) && places.length < atMost) places.push({ start, end: cursor.at });
    }
  }
  return places;
}

/** Reads one element of `data`; returns whether it is an image. */
function isImage(cursor: JsonCursor): boolean {
  let present = false;
  while (cursor.nextMember()) {
    const mayHoldImage = cursor.keyIs(base64Key) || cursor.keyIs(urlKey);
    const holdsText = mayHoldImage && cursor.isString;
    const from = cursor.at;
    cursor.skip();
    if (holdsText && cursor.at - from > 2) present = true; // more than its two quotes
  }
  return present;
}
