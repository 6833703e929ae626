/** What an image answer holds, told without decoding its megabytes of base64. */
import { JsonCursor, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";

const dataKey = jsonKey("data");
const base64Key = jsonKey("b64_json");
const urlKey = jsonKey("url");
const errorKey = jsonKey("error");

/** What matters of an image answer. */
export interface ImageAnswerReading {
  /** Images that are really there: elements of `data` with a non-empty `b64_json` or `url`. */
  readonly images: number;
  /**
   * `data` is a list of pictures, or an empty one. What is written in another way may hold pictures that nobody counted:
   * delivered, they would be free.
   */
  readonly isUsable: boolean;
  /** A 200 whose body is an error object in truth. */
  readonly hasError: boolean;
}

/**
 * Counts the images of a whole answer (`{ data: [{ b64_json | url }], … }`). `undefined` if the bytes are no such
 * JSON. Only structure is looked at; base64 is stepped over, never copied.
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

/** Where the object of a picture stands, braces included. */
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

/** Walks through one element of `data`. */
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
