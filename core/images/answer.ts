/** What an image answer holds, told without decoding its megabytes of base64. */
import { JsonCursor, jsonKey, JsonScanError } from "../sse/json_cursor.ts";

const dataKey = jsonKey("data");
const base64Key = jsonKey("b64_json");
const urlKey = jsonKey("url");
const errorKey = jsonKey("error");

/** What matters of an image answer. */
export interface ImageAnswerReading {
  /** Images that are really there: elements of `data` with a non-empty `b64_json` or `url`. */
  readonly images: number;
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
    let images = 0;
    let hasError = false;
    while (cursor.nextMember()) {
      if (cursor.keyIs(dataKey) && cursor.enterArray()) images = countImages(cursor);
      else {
        if (cursor.keyIs(errorKey) && !cursor.isNull) hasError = true;
        cursor.skip();
      }
    }
    return { images, hasError };
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

function countImages(cursor: JsonCursor): number {
  let images = 0;
  while (cursor.nextElement()) {
    if (!cursor.enterObject()) {
      cursor.skip();
      continue;
    }
    let present = false;
    while (cursor.nextMember()) {
      const isImage = cursor.keyIs(base64Key) || cursor.keyIs(urlKey);
      if (isImage && cursor.isString) {
        const from = cursor.at;
        cursor.skip();
        if (cursor.at - from > 2) present = true; // more than its two quotes
      } else cursor.skip();
    }
    if (present) images++;
  }
  return images;
}
