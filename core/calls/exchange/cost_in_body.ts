/**
 * Tells the cost of a call in its answer: members `cost` and `cost_details` of the usage object, for clients that ask by
 * `usage: {"include": true}` or by a header. All other bytes stay as they are.
 *
 * The cost is known once the call is settled, when most of a stream has left. {@linkcode CostPipe} therefore holds the
 * event with the usage back where a style sends it before its last event, and writes the cost into what is left when
 * the receipt is there.
 */
import { type CostedReceipt, type CostPart, costParts } from "../../billing/cost_parts.ts";
import { formatVnd } from "../../billing/money/micro_vnd.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { copyOf, joined } from "../../lib/bytes/byte_parts.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";
import { JsonCursor, type JsonKey, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { type SseFrame, SseSplitter } from "../../lib/sse/frame.ts";
import { encodeSseEvent } from "../../lib/sse/writer.ts";
import type { StreamPipe, StreamReading, Style } from "../../wire/contract/contract.ts";
import { maxSseEventBytes } from "../../wire/contract/limits.ts";
import { type JsonBody, parseJsonBody, withFields, withoutMembers } from "../body/json_body.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import type { ChatExchange } from "./chat_call.ts";

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

// The request.

/** The field by which a client asks. */
const usageField = "usage";

/** A request without the field that is the gateway's own. */
interface CostRequest {
  readonly body: JsonBody;
  /** Whether the answer has its cost. */
  readonly tellsCost: boolean;
}

/**
 * Reads whether a client wants the cost in the answer, and takes the field out: no provider gets it. A Chat stream gets
 * its usage chunk then, as if its client had asked for that, too.
 *
 * @param isAsked whether a header asks for it
 * @param isUsual whether the settings of the key ask for it, where the request does not say otherwise
 *
 * @throws {GatewayError} `invalid_request` for a field of another form
 */
export function readCostRequest(
  style: Style,
  sent: JsonBody,
  isAsked: boolean,
  isUsual = false,
): CostRequest {
  const asked = sent.outline[usageField];
  if (asked === undefined && !isAsked && !isUsual) return { body: sent, tellsCost: false };
  const include = isJsonObject(asked) ? asked["include"] : asked === null ? null : undefined;
  if (asked !== undefined && include !== null && typeof include !== "boolean") {
    throw new GatewayError("invalid_request", `${usageField}.include: must be true or false`, {
      param: usageField,
    });
  }
  const tellsCost = isAsked || include === true || (isUsual && include !== false);
  const isChatStream = style === "chat" && tellsCost && sent.outline["stream"] === true;
  const body = asked === undefined ? sent : withoutMembers(sent, [usageField]);
  return { body: isChatStream ? withUsageChunk(body) : body, tellsCost };
}

function withUsageChunk(body: JsonBody): JsonBody {
  const options = wholeOf(body.outline["stream_options"] ?? {});
  const asked = { ...(isJsonObject(options) ? options : {}), include_usage: true };
  return parseJsonBody(joined(withFields(body, { stream_options: asked })));
}

// The members that are added.

const camelNames: Readonly<Record<CostPart, string>> = {
  input: "input",
  cache_read: "cacheRead",
  cache_write: "cacheWrite",
  output: "output",
  units: "units",
  tools: "tools",
};

/**
 * Writes the members for a receipt, in VND as numbers with all decimals, without the braces around them.
 *
 * @example
 * ```ts
 * import { applyPrice } from "../../billing/price.ts";
 * import { costMembers } from "./cost_in_body.ts";
 * const usage = { input: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 };
 * const price = applyPrice({ unit: "token", vndPerMtok: 8_300 });
 * const members = costMembers("chat", { usage, price, units: 150, costMicroVnd: 1_245_000n });
 * if (members !== '"cost":1.245,"cost_details":{"currency":"VND","input":0.83,"output":0.415}') {
 *   throw new Error(members);
 * }
 * ```
 */
export function costMembers(style: Style, receipt: CostedReceipt): string {
  const isCamel = style === "gemini";
  const details = [...costParts(receipt)].map(([part, amount]) =>
    `,"${isCamel ? camelNames[part] : part}":${formatVnd(amount)}`
  );
  const byok = receipt.ownKey === undefined ? "" : `"${isCamel ? "isByok" : "is_byok"}":true,`;
  return `"cost":${formatVnd(receipt.costMicroVnd)},${byok}` +
    `"${isCamel ? "costDetails" : "cost_details"}":{"currency":"VND"${details.join("")}}`;
}

// Where in an answer they belong.

const usageKey = jsonKey(usageField);
const responseKey = jsonKey("response");
const geminiUsageKey = jsonKey("usageMetadata");

/** The usage of one answer or event. */
interface UsagePlace {
  /** End of its object; absent where it has no such object. */
  readonly usageEnd?: number;
  /** Whether that object has no member. */
  readonly isEmpty?: boolean;
  /** The value of a member that is no object. */
  readonly replaced?: { readonly start: number; readonly end: number };
  /** End of the object around it, for a missing member. */
  readonly outerEnd: number;
  readonly isOuterEmpty: boolean;
}

/** Finds the usage in an object, or, for an event of Responses, in its response; `undefined` if that is no object. */
function usagePlace(
  bytes: Uint8Array,
  [start, end]: readonly [number, number],
  key: JsonKey,
  within?: JsonKey,
): UsagePlace | undefined {
  const cursor = new JsonCursor();
  cursor.reset(bytes, start, end);
  try {
    if (within !== undefined && !enterMember(cursor, within)) return undefined;
    return placeIn(cursor, key);
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

function enterMember(cursor: JsonCursor, key: JsonKey): boolean {
  if (!cursor.enterObject()) return false;
  while (cursor.nextMember()) {
    if (cursor.keyIs(key)) return true;
    cursor.skip();
  }
  return false;
}

function placeIn(cursor: JsonCursor, key: JsonKey): UsagePlace | undefined {
  if (!cursor.enterObject()) return undefined;
  let found: Pick<UsagePlace, "usageEnd" | "isEmpty" | "replaced"> = {};
  let isOuterEmpty = true;
  while (cursor.nextMember()) {
    isOuterEmpty = false;
    const { at: start } = cursor;
    if (!cursor.keyIs(key)) cursor.skip();
    else if (cursor.enterObject()) {
      let isEmpty = true;
      while (cursor.nextMember()) {
        isEmpty = false;
        cursor.skip();
      }
      found = { usageEnd: cursor.at - 1, isEmpty };
    } else {
      cursor.skip();
      found = { replaced: { start, end: cursor.at } };
    }
  }
  return { ...found, outerEnd: cursor.at - 1, isOuterEmpty };
}

/** Puts members into the usage at a place; makes that object if there is none. */
function inserted(bytes: Uint8Array, place: UsagePlace, key: JsonKey, members: string): Uint8Array {
  const { usageEnd, isEmpty, replaced, outerEnd, isOuterEmpty } = place;
  if (usageEnd !== undefined) {
    return spliced(bytes, usageEnd, usageEnd, `${isEmpty === true ? "" : ","}${members}`);
  }
  if (replaced !== undefined) return spliced(bytes, replaced.start, replaced.end, `{${members}}`);
  const name = new TextDecoder().decode(key);
  const comma = isOuterEmpty ? "" : ",";
  return spliced(bytes, outerEnd, outerEnd, `${comma}"${name}":{${members}}`);
}

function spliced(bytes: Uint8Array, start: number, end: number, text: string): Uint8Array {
  return joined([bytes.subarray(0, start), encoder.encode(text), bytes.subarray(end)]);
}

function keyOf(style: Style): JsonKey {
  return style === "gemini" ? geminiUsageKey : usageKey;
}

/**
 * Adds members to the usage of a whole answer. One that is no object stays as it is.
 *
 * @example
 * ```ts
 * import { withCost } from "./cost_in_body.ts";
 * const answer = new TextEncoder().encode('{"id":"c", "usage":{ "total_tokens":3 }}');
 * const text = new TextDecoder().decode(withCost("chat", answer, '"cost":1'));
 * if (text !== '{"id":"c", "usage":{ "total_tokens":3 ,"cost":1}}') throw new Error(text);
 * ```
 */
export function withCost(style: Style, answer: Uint8Array, members: string): Uint8Array {
  const key = keyOf(style);
  const place = usagePlace(answer, [0, answer.length], key);
  return place === undefined ? answer : inserted(answer, place, key, members);
}

// Streams.

/** Whether an event of a style is one whose usage comes before the last event. */
function mayHoldCost(style: Style, frame: SseFrame): boolean {
  if (style === "messages") return frame.event === "message_delta";
  return style === "chat" &&
    placeOfFrame(style, frame)?.usageEnd !== undefined;
}

function placeOfFrame(style: Style, frame: SseFrame): UsagePlace | undefined {
  if (frame.dataLines !== 1) return undefined;
  const range = [frame.payloadStart, frame.payloadEnd] as const;
  const within = style === "responses" ? responseKey : undefined;
  return usagePlace(frame.payload, range, keyOf(style), within);
}

/** Whether the cost belongs into an event, if no later one has a place for it. */
function hasPlace(style: Style, frame: SseFrame, place: UsagePlace): boolean {
  switch (style) {
    case "messages":
      return frame.event === "message_delta";
    case "chat":
      return place.usageEnd !== undefined;
    case "responses":
      return frame.event === "response.completed" || frame.event === "response.incomplete";
    case "gemini":
      return true;
  }
}

/** A pipe that holds the usage of its stream back until the cost is known. */
class CostPipe implements StreamPipe {
  readonly #pipe: StreamPipe;
  readonly #style: Style;
  readonly #splitter = new SseSplitter(maxSseEventBytes);
  /** The event with the usage. */
  #held: Uint8Array = nothing;
  #lastEvent: Uint8Array = nothing;

  constructor(style: Style, pipe: StreamPipe) {
    this.#style = style;
    this.#pipe = pipe;
  }

  get reading(): StreamReading {
    return this.#pipe.reading;
  }

  /** The last event of a Chat or Messages stream that was read before its end. */
  get lastEvent(): Uint8Array {
    return this.#lastEvent;
  }

  get heldBack(): Uint8Array {
    return joined([this.#held, this.#pipe.heldBack ?? nothing]);
  }

  push(bytes: Uint8Array): Uint8Array {
    const out = this.#pipe.push(bytes);
    if (this.#style !== "messages" && this.#style !== "chat") return out;
    // A pipe returns whole events, so nothing is left in the splitter.
    const passed: Uint8Array[] = [];
    this.#splitter.push(out, (frame) => {
      const event = copyOf(frame.bytes, frame.start, frame.end);
      // A comment may pass what is held; any other event ends the wait, so that no text is late.
      if (frame.dataLines === 0) return passed.push(event) > 0;
      passed.push(this.#held);
      this.#lastEvent = event;
      if (mayHoldCost(this.#style, frame)) this.#held = event;
      else {
        this.#held = nothing;
        passed.push(event);
      }
      return true;
    });
    return joined(passed);
  }

  end(): Uint8Array {
    return this.#withHeld(this.#pipe.end());
  }

  fail(error: GatewayError): Uint8Array {
    return this.#withHeld(this.#pipe.fail(error));
  }

  stopForLength(usage: TokenUsage): Uint8Array | undefined {
    const tail = this.#pipe.stopForLength(usage);
    return tail && this.#withHeld(tail);
  }

  #withHeld(tail: Uint8Array): Uint8Array {
    const held = this.#held;
    this.#held = nothing;
    return joined([held, tail]);
  }
}

/** Parts of the end of a stream. */
interface StreamTail {
  readonly style: Style;
  /** Gemini: the stream is one JSON array. */
  readonly inArray: boolean;
  /** The last bytes for the client. */
  readonly tail: Uint8Array;
  /** The last event before them, whose members a chunk repeats. */
  readonly before: Uint8Array;
}

/** Adds members to the usage in the last bytes of a stream; a Chat stream without one gets a chunk with it. */
function withTailCost({ style, inArray, tail, before }: StreamTail, members: string): Uint8Array {
  if (inArray) return withElementCost(tail, members);
  let place: UsagePlace | undefined;
  let doneAt: number | undefined;
  new SseSplitter(maxSseEventBytes).push(tail, (frame) => {
    if (frame.payloadIs("[DONE]")) doneAt ??= frame.start;
    const found = placeOfFrame(style, frame);
    if (found !== undefined && hasPlace(style, frame, found)) place = found;
    return true;
  });
  if (place !== undefined) return inserted(tail, place, keyOf(style), members);
  if (style !== "chat" || doneAt === undefined) return tail;
  const chunk = encodeSseEvent(costChunk(before, members));
  return joined([tail.subarray(0, doneAt), chunk, tail.subarray(doneAt)]);
}

/** Adds members to the last element of an array, which is on a line of its own. */
function withElementCost(tail: Uint8Array, members: string): Uint8Array {
  const line = tail.lastIndexOf(0x0a) + 1;
  const start = tail[line] === 0x5b ? line + 1 : line;
  const place = usagePlace(tail, [start, Math.max(start, tail.length - 1)], geminiUsageKey);
  return place === undefined ? tail : inserted(tail, place, geminiUsageKey, members);
}

/** Writes the chunk of a Chat stream whose usage was never told. */
function costChunk(before: Uint8Array, members: string): string {
  let head: JsonObject = {};
  new SseSplitter(maxSseEventBytes).push(before, (frame) => {
    head = parsedObject(frame.data);
    return true;
  });
  const { id = "", created = 0, model = "" } = head;
  const written = stringifyExactly({ id, object: "chat.completion.chunk", created, model });
  return `${written.slice(0, -1)},"choices":[],"usage":{${members}}}`;
}

function parsedObject(text: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {}; // not JSON, as `[DONE]`
  }
}

/** Has the answers of an exchange tell their cost. */
export function tellingCost(
  exchange: ChatExchange,
  { style, inArray = false }: Pick<ChatRequest, "style" | "inArray">,
): ChatExchange {
  let pipe: CostPipe | undefined;
  return {
    ...exchange,
    createPipe: () => pipe = new CostPipe(style, exchange.createPipe()),
    cost: {
      whole: (answer, receipt) => withCost(style, answer, costMembers(style, receipt)),
      tail: (tail, receipt) => {
        const before = pipe?.lastEvent ?? nothing;
        return withTailCost({ style, inArray, tail, before }, costMembers(style, receipt));
      },
    },
  };
}
