/** Reads JSON answers that hold one list of results, without building the values of the list. */
import type { Span } from "../../calls/body/json_body.ts";
import type { Json } from "../../lib/json/json.ts";
import { JsonCursor, type JsonKey, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";

const errorKey = jsonKey("error");
const usageKey = jsonKey("usage");
const metaKey = jsonKey("meta");
const modelKey = jsonKey("model");

/** The parts of an answer that decide whether it is delivered, and the charge. */
export interface ListAnswer {
  /** Objects in the list; `undefined` if there is no list, or something else than objects in it. */
  readonly items: number | undefined;
  readonly usage: Json | undefined;
  readonly meta: Json | undefined;
  /** Whether the body of a 200 is in fact an error object. */
  readonly hasError: boolean;
  /** The place of the model's name, quotes included. */
  readonly model: Span | undefined;
}

/**
 * Reads an answer; `undefined` if the bytes are no JSON object.
 *
 * @param list the names that the list may have
 * @example
 * ```ts
 * import { jsonKey } from "../../lib/json/json_cursor.ts";
 * import { readListAnswer } from "./list_answer.ts";
 * const bytes = new TextEncoder().encode('{"data":[{"embedding":[1]},{"embedding":[2]}],"model":"m"}');
 * if (readListAnswer(bytes, [jsonKey("data")])?.items !== 2) throw new Error("wrong count");
 * ```
 */
export function readListAnswer(
  bytes: Uint8Array,
  list: readonly JsonKey[],
): ListAnswer | undefined {
  const cursor = new JsonCursor();
  try {
    cursor.reset(bytes, 0, bytes.length);
    if (!cursor.enterObject()) return undefined;
    let items: number | undefined;
    let usage: Json | undefined;
    let meta: Json | undefined;
    let model: Span | undefined;
    let hasError = false;
    while (cursor.nextMember()) {
      if (list.some((key) => cursor.keyIs(key))) items = countObjects(cursor);
      else if (cursor.keyIs(usageKey)) usage = cursor.takeValue();
      else if (cursor.keyIs(metaKey)) meta = cursor.takeValue();
      else {
        const isModel = cursor.keyIs(modelKey) && cursor.isString;
        hasError ||= cursor.keyIs(errorKey) && !cursor.isNull;
        const start = cursor.at;
        cursor.skip();
        if (isModel) model = { start, end: cursor.at };
      }
    }
    return { items, usage, meta, hasError, model };
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

function countObjects(cursor: JsonCursor): number | undefined {
  if (!cursor.enterArray()) {
    cursor.skip();
    return undefined;
  }
  let items = 0;
  let isStrange = false;
  while (cursor.nextElement()) {
    isStrange ||= cursor.first !== 0x7b;
    cursor.skip();
    items++;
  }
  return isStrange ? undefined : items;
}
