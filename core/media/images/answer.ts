/** Reads image answers without decoding their megabytes of base64. */
import { reportedUsageSchema } from "../base/json_call.ts";
import { listOf, text, writtenSchema } from "../../lib/json/schemas.ts";
import { JsonCursor, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import type { StartedStream } from "../../calls/attempts/attempt.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import {
  mediaErrorEvent,
  type MediaEvent,
  MediaMeter,
  noOutput,
  WrittenPipe,
} from "../base/events.ts";
import { vendorErrorMembers } from "../../wire/errors/errors.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { SseFrame } from "../../lib/sse/frame.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { ImageRequest } from "./request.ts";
import { BytePipe } from "../../wire/stream/byte_pipe.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import { type FrameFate, frameJson } from "../../wire/stream/reading.ts";

const pictureMembers = { b64_json: text, url: text, revised_prompt: text };

/** The schema of an answer, which is the provider's. */
export const imageAnswerSchema: JsonObject = writtenSchema("The pictures.", {
  created: { type: "integer" },
  background: text,
  output_format: text,
  quality: text,
  size: text,
  data: listOf(writtenSchema("A picture.", pictureMembers, [])),
  usage: reportedUsageSchema,
}, ["data"]);

const dataKey = jsonKey("data");
const base64Key = jsonKey("b64_json");
const urlKey = jsonKey("url");
const errorKey = jsonKey("error");

/** The parts of an image answer that decide the charge. */
export interface ImageAnswerReading {
  /** The images that exist: elements of `data` with a non-empty `b64_json` or `url`. */
  readonly images: number;
  /**
   * Whether `data` is a list with a picture. Any other form may contain pictures that were not
   * counted, and delivering them would make them free.
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
    return cursor.isAtEnd ? { ...found, hasError } : undefined;
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

type FoundImages = Pick<ImageAnswerReading, "images" | "isUsable">;

function findImages(cursor: JsonCursor): FoundImages {
  let images = 0;
  let isStrange = false;
  while (cursor.nextElement()) {
    if (cursor.enterObject()) {
      if (isImage(cursor)) images++;
    } else {
      isStrange ||= !cursor.isNull;
      cursor.skip();
    }
  }
  return { images, isUsable: !isStrange && images > 0 };
}

/** The place of a picture's object, braces included. */
export interface PicturePlace {
  readonly start: number;
  readonly end: number;
}

/** Finds the first pictures of a usable answer. */
function findPictures(bytes: Uint8Array, atMost: number): readonly PicturePlace[] {
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

// Pipes streamed images: bytes pass unchanged, previews and finished images are counted.

const nothing = new Uint8Array(0);
const encoder = new TextEncoder();

interface ImageStreamCounts {
  /** Images that arrived completely. */
  readonly finished: number;
  /** Images of which at least a preview arrived. */
  readonly begun: number;
}

/** A pipe and what it has counted so far. */
export interface ImagePipe {
  readonly pipe: StreamPipe;
  readonly counts: () => ImageStreamCounts;
}

/** The endings of the types of events that hold no finished picture. */
const previewEnding = ".partial_image";
const failureEnding = ".partial_failed";
/** Ends one picture, or the stream where the pictures came before it. */
const completedEnding = ".completed";

/**
 * Counts pictures by what events hold, not by their types: vendors end each picture with an event `completed`, or send
 * each in one of its own and end the stream with `completed`.
 */
class ImageMeter extends MediaMeter {
  readonly #expected: number;
  finished = 0;
  #previewOpen = false;
  /** Why a picture is missing, where the provider said so. */
  #reported: GatewayError | undefined;

  constructor(expected: number) {
    super(["b64_json", "url"]);
    this.#expected = expected;
  }

  get begun(): number {
    return this.finished + (this.#previewOpen ? 1 : 0);
  }

  protected override readEvent({ type, contentBytes = 0 }: MediaEvent): FrameFate {
    const isCompleted = type.endsWith(completedEnding);
    if (contentBytes === 0) return isCompleted ? this.#end() : "pass";
    this.reading.sawOutput = true;
    this.#previewOpen = type.endsWith(previewEnding);
    if (this.#previewOpen) return "pass";
    this.finished++;
    return isCompleted && this.finished >= this.#expected ? this.#end() : "pass";
  }

  /** One picture that could not be made does not end the stream of the others. */
  protected override readError(type: string, frame: SseFrame): FrameFate {
    if (!type.endsWith(failureEnding)) return super.readError(type, frame);
    const body = frameJson(frame);
    this.#reported = readProviderError(body);
    const { start, end } = this.errorPlace;
    const members = { ...vendorErrorMembers(body), message: this.#reported.message };
    this.edits.replace(frame, start, end, encoder.encode(stringifyExactly(members)));
    return "pass";
  }

  /** Ends a stream without a finished picture as a failure, whatever previews came before. */
  #end(): FrameFate {
    if (this.finished === 0) return this.failWith(this.#reported ?? noOutput("picture"));
    this.reading.state = "completed";
    return "last";
  }
}

/**
 * Creates a pipe for a stream of `image_generation.*` or `image_edit.*` events.
 *
 * The stream is complete when as many images arrived as were requested; its last event is held back
 * until the caller has settled. A provider that ends cleanly with fewer images has finished too:
 * the charge follows what arrived.
 *
 * @param expected images requested
 */
export function createImagePipe(expected: number, requestId: string): ImagePipe {
  const meter = new ImageMeter(expected);
  const pipe = new BytePipe(meter, {
    errorEvent: (error) => mediaErrorEvent(error, requestId),
    missingEnd: () => meter.finished > 0 ? nothing : undefined,
  });
  return { pipe, counts: () => ({ finished: meter.finished, begun: meter.begun }) };
}

// Converts a whole image answer into the stream that the client requested.
//
// Some providers ignore `stream`: the pictures are made and paid for, so the client gets them as
// events, one for each picture.

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
