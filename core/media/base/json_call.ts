/** Runs calls that send a JSON body and get one JSON answer with a list: embeddings, ranks, moderation. */
import { type JsonBody, type Span, withFields } from "../../calls/body/json_body.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole, uncountedBodyBytes } from "../../net/transport/read_whole.ts";
import type { RouteStyle } from "../../catalog/catalog.ts";
import { type ByteParts, joined, withFewPieces } from "../../lib/bytes/byte_parts.ts";
import { singleWriteBytes } from "../../net/http1/heads.ts";
import { JsonCursor, type JsonKey, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";
import { type MediaExchange, type MediaWork, readNoResult } from "./exchange.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";

// Reads JSON answers that hold one list of results, without building the values of the list.

/** The schema of `usage`, whose members are the provider's. */
export const reportedUsageSchema: JsonObject = {
  type: "object",
  description: "What the provider reports.",
};

const errorKey = jsonKey("error");
const usageKey = jsonKey("usage");
const metaKey = jsonKey("meta");
const modelKey = jsonKey("model");

/** A member of a result that decides whether a client can read it. */
export interface ResultMember {
  /** The names that vendors have for it. */
  readonly keys: readonly JsonKey[];
  /** A result without this member, or with `null` in its place, is none. */
  readonly isRequired: boolean;
  /** Moves the cursor behind the value; returns whether a client can read it. */
  readonly read: (cursor: JsonCursor) => boolean;
}

/** The declared shape of the results of one answer. Its readers may remember what earlier results had. */
export type ResultShape = readonly ResultMember[];

/** A reader of values that a client can read where the cursor, at their beginning, says so. */
export function readWhere(isReadable: (cursor: JsonCursor) => boolean): ResultMember["read"] {
  return (cursor) => {
    const found = isReadable(cursor);
    cursor.skip();
    return found;
  };
}

/** A reader of places in the input: each is below `inputs`, and none occurs twice. */
export function readPlaces(inputs: number): ResultMember["read"] {
  const seen = new Set<number>();
  return (cursor) => {
    const place = cursor.takeWholeNumber();
    if (place === undefined || place >= inputs || seen.has(place)) return false;
    seen.add(place);
    return true;
  };
}

/** The parts of an answer that decide whether it is delivered, and the charge. */
export interface ListAnswer {
  /** Results in the list; `undefined` if there is no list, or something in it is no result. */
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
 * import { type JsonCursor, jsonKey } from "../../lib/json/json_cursor.ts";
 * import { readListAnswer } from "./json_call.ts";
 * const bytes = new TextEncoder().encode('{"data":[{"embedding":[1]},{"embedding":[2]}],"model":"m"}');
 * const vector = { keys: [jsonKey("embedding")], isRequired: true, read: (at: JsonCursor) => at.skipNumbers() };
 * if (readListAnswer(bytes, [jsonKey("data")], [vector])?.items !== 2) throw new Error("wrong count");
 * ```
 */
export function readListAnswer(
  bytes: Uint8Array,
  list: readonly JsonKey[],
  shape: ResultShape,
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
      if (list.some((key) => cursor.keyIs(key))) items = countResults(cursor, shape);
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
    return cursor.isAtEnd ? { items, usage, meta, hasError, model } : undefined;
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

function countResults(cursor: JsonCursor, shape: ResultShape): number | undefined {
  if (!cursor.enterArray()) {
    cursor.skip();
    return undefined;
  }
  let items = 0;
  let isStrange = false;
  while (cursor.nextElement()) {
    if (!matches(cursor, shape)) isStrange = true;
    items++;
  }
  return isStrange ? undefined : items;
}

/** Moves the cursor behind a value; returns whether it is an object of the shape. */
function matches(cursor: JsonCursor, shape: ResultShape): boolean {
  if (!cursor.enterObject()) {
    cursor.skip();
    return false;
  }
  let isReadable = true;
  const missing = new Set(shape.filter(({ isRequired }) => isRequired));
  while (cursor.nextMember()) {
    const member = shape.find(({ keys }) => keys.some((key) => cursor.keyIs(key)));
    if (member === undefined || cursor.isNull) cursor.skip();
    else if (member.read(cursor)) missing.delete(member);
    else isReadable = false;
  }
  return isReadable && missing.size === 0;
}

/** Whether bytes are a JSON object of the shape. */
export function hasShape(bytes: Uint8Array, shape: ResultShape): boolean {
  const cursor = new JsonCursor();
  try {
    cursor.reset(bytes, 0, bytes.length);
    return matches(cursor, shape) && cursor.isAtEnd;
  } catch (error) {
    if (error instanceof JsonScanError) return false;
    throw error;
  }
}

/** Fields of all requests of these endpoints. */
export interface JsonRequest {
  /** The model as the client named it; the answer names it so, too. */
  readonly model: string;
  readonly body: JsonBody;
}

/** Way of an endpoint to its providers, and the answers that it takes. */
export interface JsonCall {
  readonly request: JsonRequest;
  readonly style: RouteStyle;
  /** Names that the list of results may have. */
  readonly list: readonly JsonKey[];
  readonly maxAnswerBytes: number;
  /** Creates the shape of the results of one answer. */
  readonly shape: () => ResultShape;
  /** Whether the list can be the answer to this request; if not, the next route is tried. */
  readonly accepts: (items: number) => boolean;
}

/** A whole answer, as it goes to the client. */
export interface JsonAnswer extends ListAnswer {
  readonly bytes: ByteParts;
}

/** Describes such a call for its routes. */
export function jsonWork(call: JsonCall): MediaWork<JsonAnswer> {
  const { request, style } = call;
  return {
    prepare(route) {
      const isNamed = request.body.value["model"] === route.upstreamModel;
      const changes = isNamed ? {} : { model: route.upstreamModel };
      const body = withFields(request.body, changes);
      return Promise.resolve(({ provider, secret }) =>
        providerRequest({
          provider,
          style,
          model: route.upstreamModel,
          secret,
          body,
          stream: false,
          clientHeader: () => undefined,
        })
      );
    },
    receive: (asked) => receive(call, asked),
  };
}

async function receive(call: JsonCall, asked: MediaExchange): Promise<JsonAnswer> {
  const response = await asked.answered();
  const bytes = await readWhole(response, call.maxAnswerBytes, asked.counter);
  const reading = readListAnswer(bytes, call.list, call.shape());
  if (reading?.items === undefined || reading.hasError || !call.accepts(reading.items)) {
    throw readNoResult(bytes, "no answer to this request");
  }
  const { model } = call.request;
  return { ...reading, bytes: withModel(bytes, reading.model, model) };
}

/** Replaces the provider's name of the model by the client's. A large answer is not copied for that. */
function withModel(bytes: Uint8Array, place: Span | undefined, model: string): ByteParts {
  if (place === undefined) return bytes;
  const name = new TextEncoder().encode(JSON.stringify(model));
  const told = bytes.subarray(place.start, place.end);
  if (told.length === name.length && told.every((byte, i) => byte === name[i])) return bytes;
  const pieces = [bytes.subarray(0, place.start), name, bytes.subarray(place.end)];
  return bytes.length > uncountedBodyBytes
    ? withFewPieces(pieces, singleWriteBytes)
    : joined(pieces);
}
