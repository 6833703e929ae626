/**
 * Strict models of the two clients: they read a converted stream as the official libraries do, refuse what those
 * would trip over, and return the whole answer that the stream told.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";

export interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

/** Cuts a stream into frames; comments are left out. Every frame must be whole and in the plain form. */
export function framesOf(text: string): Frame[] {
  assert(text === "" || text.endsWith("\n\n"), "the stream ends inside a frame");
  const frames: Frame[] = [];
  for (const block of text.split("\n\n").slice(0, -1)) {
    const lines = block.split("\n");
    if (lines.every((line) => line.startsWith(":"))) continue;
    const event = lines[0]?.startsWith("event: ") ? lines.shift()?.slice(7) : undefined;
    assertEquals(lines.length, 1, `one data line: ${block}`);
    const [line] = lines;
    assert(line !== undefined && line.startsWith("data: "), block);
    frames.push({ event, data: line.slice(6) });
  }
  return frames;
}

function objectIn(data: string): JsonObject {
  const value: Json = JSON.parse(data);
  assert(isJsonObject(value), data);
  return value;
}

function objectAt(from: JsonObject, key: string): JsonObject {
  const value = from[key];
  assert(isJsonObject(value), `${key} of ${JSON.stringify(from)}`);
  return value;
}

export interface MessagesStream {
  /** The message as the library would hand it out; `undefined` when the stream ended in an error. */
  readonly message: JsonObject;
  readonly error: JsonObject | undefined;
  readonly pings: number;
}

/** Reads a Messages stream. Blocks must be strictly sequential with indexes from 0, and the end must be there. */
export function readMessagesStream(text: string): MessagesStream {
  let message: JsonObject | undefined;
  let error: JsonObject | undefined;
  let state: "before" | "between" | "block" | "stopped" | "done" = "before";
  let inputJson = "";
  let pings = 0;
  const content: JsonObject[] = [];
  for (const { event, data } of framesOf(text)) {
    const value = objectIn(data);
    assertEquals(value.type, event, "the event line names the type");
    assert(state !== "done" && error === undefined, "nothing follows the end");
    const block = content.at(-1);
    switch (event) {
      case "message_start":
        assertEquals(state, "before");
        message = objectAt(value, "message");
        assertEquals(message.content, []);
        state = "between";
        break;
      case "content_block_start":
        assertEquals(state, "between");
        assertEquals(value.index, content.length);
        content.push(objectAt(value, "content_block"));
        inputJson = "";
        state = "block";
        break;
      case "content_block_delta":
        assertEquals([state, value.index], ["block", content.length - 1]);
        assert(block !== undefined);
        inputJson += applyDelta(block, objectAt(value, "delta"));
        break;
      case "content_block_stop":
        assertEquals([state, value.index], ["block", content.length - 1]);
        if (block?.type === "tool_use") block.input = parseInput(inputJson);
        state = "between";
        break;
      case "message_delta":
        assertEquals(state, "between");
        assert(message !== undefined);
        Object.assign(message, objectAt(value, "delta"));
        message.usage = { ...objectAt(message, "usage"), ...objectAt(value, "usage") };
        state = "stopped";
        break;
      case "message_stop":
        assertEquals(state, "stopped");
        state = "done";
        break;
      case "ping":
        pings++;
        break;
      case "error":
        error = objectAt(value, "error");
        break;
      default:
        throw new Error(`unknown event ${event}`);
    }
  }
  assert(state === "done" || error !== undefined, "the stream has no end");
  return { message: { ...message, content }, error, pings };
}

/** Adds a delta to its block; returns the piece of input JSON in it. */
function applyDelta(block: JsonObject, delta: JsonObject): string {
  const added = (key: string, piece: Json | undefined) => {
    assert(typeof piece === "string" && typeof block[key] === "string", JSON.stringify(delta));
    block[key] += piece;
  };
  switch (delta.type) {
    case "text_delta":
      assertEquals(block.type, "text");
      added("text", delta.text);
      return "";
    case "thinking_delta":
      assertEquals([block.type, block.signature], ["thinking", ""]);
      added("thinking", delta.thinking);
      return "";
    case "signature_delta":
      assertEquals([block.type, block.signature], ["thinking", ""]);
      added("signature", delta.signature);
      return "";
    case "input_json_delta":
      assertEquals(block.type, "tool_use");
      assert(typeof delta.partial_json === "string");
      return delta.partial_json;
    default:
      throw new Error(`unknown delta ${JSON.stringify(delta)}`);
  }
}

function parseInput(json: string): Json {
  if (json === "") return {};
  try {
    const value: Json = JSON.parse(json);
    return value;
  } catch {
    return { unfinished: json };
  }
}

export interface ChatStream {
  /** The first choice's message as the library would hand it out. */
  readonly message: JsonObject;
  readonly finishReason: Json;
  readonly usage: JsonObject | undefined;
  /** What the last chunk says, as the library keeps it. */
  readonly serviceTier: Json | undefined;
  readonly error: JsonObject | undefined;
}

/** Reads a Chat stream. Chunks must share one id, calls must be introduced in order, `[DONE]` must be last. */
export function readChatStream(text: string): ChatStream {
  const message: JsonObject = { role: "assistant", content: null, refusal: null };
  const ids = new Set<Json | undefined>();
  let finishReason: Json = null;
  let usage: JsonObject | undefined;
  let serviceTier: Json | undefined;
  let error: JsonObject | undefined;
  let done = false;
  for (const { event, data } of framesOf(text)) {
    assertEquals(event, undefined);
    assert(!done && error === undefined, "nothing follows the end");
    if (data === "[DONE]") {
      done = true;
      continue;
    }
    const chunk = objectIn(data);
    if (chunk.error !== undefined) {
      error = objectAt(chunk, "error");
      continue;
    }
    ids.add(chunk.id);
    assertEquals(chunk.object, "chat.completion.chunk");
    if (isJsonObject(chunk.usage)) usage = chunk.usage;
    serviceTier = chunk.service_tier;
    assert(Array.isArray(chunk.choices));
    for (const choice of chunk.choices) {
      assert(isJsonObject(choice) && choice.index === 0);
      assertEquals(finishReason, null, "the finish comes once and last");
      applyChatDelta(message, objectAt(choice, "delta"));
      finishReason = choice.finish_reason ?? null;
    }
  }
  assert(done || error !== undefined, "the stream has no end");
  assert(error !== undefined || finishReason !== null, "a whole stream has a finish reason");
  assert(ids.size <= 1, "one id for all chunks");
  return { message, finishReason, usage, serviceTier, error };
}

function applyChatDelta(message: JsonObject, delta: JsonObject): void {
  for (const [key, value] of Object.entries(delta)) {
    if (key === "tool_calls") applyCalls(message, value ?? null);
    else if (key === "function_call") applyFunction(message, value ?? null);
    else if (key === "reasoning_details" && Array.isArray(value)) {
      // Clients that send details back collect them themselves.
      message[key] = [...listAt(message, key), ...value];
    } else if (Array.isArray(value)) message[key] = value;
    else if (key === "role") assertEquals(value, "assistant");
    else if (typeof value === "string") {
      // The first chunk's content is an empty string, which no library takes for text.
      const before = message[key];
      if (value !== "") message[key] = (typeof before === "string" ? before : "") + value;
    } else assertEquals(value, null);
  }
}

function listAt(from: JsonObject, key: string): Json[] {
  const value = from[key];
  return Array.isArray(value) ? value : [];
}

function applyCalls(message: JsonObject, deltas: Json): void {
  assert(Array.isArray(deltas));
  const calls = listAt(message, "tool_calls");
  for (const delta of deltas) {
    assert(isJsonObject(delta) && typeof delta.index === "number");
    const { index, ...call } = delta;
    if (index === calls.length) {
      assert(typeof call.id === "string" && call.id !== "", "a call is introduced with its id");
      calls.push(call);
      continue;
    }
    const known = calls[index];
    assert(isJsonObject(known), `call ${index} was not introduced`);
    assertEquals(call.id, undefined, "an id comes once");
    for (const [holder, member] of [["function", "arguments"], ["custom", "input"]] as const) {
      if (call[holder] === undefined) continue;
      const piece = objectAt(call, holder)[member];
      const target = objectAt(known, holder);
      target[member] = String(target[member]) + String(piece);
    }
  }
  message.tool_calls = calls;
}

function applyFunction(message: JsonObject, delta: Json): void {
  assert(isJsonObject(delta));
  const before = message.function_call;
  message.function_call = isJsonObject(before)
    ? { ...before, arguments: String(before.arguments) + String(delta.arguments) }
    : delta;
}

/** Entries of one index belong together: libraries that send details back join them. */
export function joinedDetails(details: Json | undefined): JsonObject[] {
  const joined: JsonObject[] = [];
  for (const detail of Array.isArray(details) ? details : []) {
    assert(isJsonObject(detail));
    const last = joined.at(-1);
    if (last !== undefined && last.index === detail.index) {
      const text = String(last.text ?? "") + String(detail.text ?? "");
      Object.assign(last, detail, last.text === undefined ? {} : { text });
    } else joined.push({ ...detail });
  }
  return joined;
}
