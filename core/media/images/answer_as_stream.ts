/**
 * Converts a whole image answer into the stream that the client requested.
 *
 * Some providers ignore `stream`: the pictures are made and paid for, so the client gets them as
 * events, one for each picture.
 */
import { joined } from "../../lib/bytes/byte_parts.ts";
import type { StartedStream } from "../../calls/attempts/attempt.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { WrittenPipe } from "../base/written_pipe.ts";
import { JsonCursor, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { findPictures, type PicturePlace } from "./answer.ts";
import type { ImageRequest } from "./request.ts";
import type { ImagePipe } from "./stream.ts";

const encoder = new TextEncoder();

const createdKey = jsonKey("created");
const usageKey = jsonKey("usage");
/** The members of an answer that apply to all its pictures, and are in the event of each. */
const sharedKeys = ["background", "output_format", "quality", "size"].map((name) =>
  [name, jsonKey(name)] as const
);
/** Bytes of one such value; a larger value is not one of these. */
const valueBytes = 4_096;

interface AboutPictures {
  readonly shared: JsonObject;
  readonly usage: Json | undefined;
}

/** Parses the value at the cursor; `undefined` if it only resembles JSON. */
function parsed(cursor: JsonCursor): Json | undefined {
  try {
    return cursor.takeValue();
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

function readAbout(bytes: Uint8Array, nowSeconds: number): AboutPictures {
  const shared: JsonObject = { created_at: nowSeconds };
  let usage: Json | undefined;
  const cursor = new JsonCursor();
  const take = (): Json | undefined => {
    const from = cursor.at;
    cursor.skip();
    if (cursor.at - from > valueBytes) return undefined;
    cursor.at = from;
    return parsed(cursor);
  };
  cursor.reset(bytes, 0, bytes.length);
  cursor.enterObject();
  while (cursor.nextMember()) {
    const [name] = sharedKeys.find(([, key]) => cursor.keyIs(key)) ?? [];
    if (cursor.keyIs(usageKey)) usage = take();
    else if (cursor.keyIs(createdKey)) shared["created_at"] = take();
    else if (name !== undefined) shared[name] = take();
    else cursor.skip();
  }
  return { shared, usage };
}

/**
 * Builds an event from the members of a picture as received and then those of the gateway: of two
 * with one name the last one counts.
 */
function eventOf(bytes: Uint8Array, { start, end }: PicturePlace, own: JsonObject): Uint8Array {
  const type = String(own["type"]);
  const head = encoder.encode(`event: ${type}\ndata: {`);
  const tail = encoder.encode(`,${stringifyExactly(own).slice(1)}\n\n`);
  const members = bytes.subarray(start + 1, end - 1);
  const event = new Uint8Array(head.length + members.length + tail.length);
  event.set(head);
  event.set(members, head.length);
  event.set(tail, head.length + members.length);
  // JSON may have line breaks between members; in an event they would end the line.
  for (let at = head.length; at < head.length + members.length; at++) {
    if (event[at]! < 0x20) event[at] = 0x20;
  }
  return event;
}

/** A whole image answer to be converted into events. */
export interface WholeAnswer extends Pick<StartedStream, "exchange" | "body"> {
  /** A usable answer; see {@linkcode readImageAnswer}. */
  readonly bytes: Uint8Array;
  readonly request: Pick<ImageRequest, "endpoint" | "count">;
  readonly requestId: string;
  readonly nowSeconds: number;
}

/**
 * Creates the stream of events for a whole answer; `undefined` if the answer has no picture.
 *
 * The events are `image_generation.completed` (or `image_edit.completed`), at most one per
 * requested picture, as the streams of providers end there too.
 */
export function answerAsStream(
  { bytes, request, requestId, nowSeconds, exchange, body }: WholeAnswer,
): { readonly started: StartedStream; readonly images: ImagePipe } | undefined {
  const places = findPictures(bytes, request.count);
  const { shared, usage } = readAbout(bytes, nowSeconds);
  const kind = request.endpoint === "edits" ? "image_edit" : "image_generation";
  const own = { type: `${kind}.completed`, ...shared };
  const events = places.map((place, index) => {
    // The report is about the whole call, so only one event has it.
    const isLast = index === places.length - 1;
    return eventOf(bytes, place, isLast && usage !== undefined ? { ...own, usage } : own);
  });
  const last = events.pop();
  if (last === undefined) return undefined;
  const pipe = new WrittenPipe(last, requestId);
  const preamble = joined(events);
  return {
    started: { kind: "stream", exchange, body, pipe, preamble, bodyEnded: true },
    images: {
      pipe,
      counts: () => ({
        finished: pipe.isWhole ? places.length : places.length - 1,
        begun: places.length,
      }),
    },
  };
}
