import { isJsonObject, type Json } from "../../json.ts";
import type { SseFrame } from "../../sse/frame.ts";
import { JsonCursor, type JsonKey, jsonKey, JsonScanError } from "../../sse/json_cursor.ts";
import { encodeSseEvent } from "../../sse/writer.ts";
import type { Writable } from "../../writable.ts";
import { frameJson } from "../frame_json.ts";
import { readProviderError } from "../provider_error.ts";
import {
  enterReport,
  type FrameFate,
  newStreamReading,
  readCount,
  type StreamMeter,
} from "../reading.ts";
import { chatTextBytes, readChatCalls } from "./answer_reading.ts";
import { ChoiceEnds } from "./choice_ends.ts";
import { readChatUsage } from "./usage.ts";

const keys = {
  id: jsonKey("id"),
  created: jsonKey("created"),
  model: jsonKey("model"),
  choices: jsonKey("choices"),
  usage: jsonKey("usage"),
  error: jsonKey("error"),
  xGroq: jsonKey("x_groq"),
  delta: jsonKey("delta"),
  message: jsonKey("message"),
  finishReason: jsonKey("finish_reason"),
  index: jsonKey("index"),
};
const textKeys = ["content", "refusal"].map(jsonKey);
const reasoningKeys = ["reasoning_content", "reasoning"].map(jsonKey);
const callKeys = ["tool_calls", "function_call", "audio"].map(jsonKey);

/** Longer values of the members that chunks share are not kept. */
const sharedMemberChars = 256;

/** What the chunks of one stream have in common, as far as the first of them says it. */
export interface SharedMembers {
  readonly id?: string | undefined;
  readonly created?: number | undefined;
  readonly model?: string | undefined;
}

/**
 * Reads a Chat Completions stream, with the deviations that vendors are known for. Chunks are walked through, not
 * parsed; only usage, errors and odd shapes are.
 *
 * With `hideUsage` the client sees a stream as if nobody had asked for usage: the usage chunk is dropped and the
 * `usage` member of all others is cut out; every other byte stays.
 */
export class ChatMeter implements StreamMeter {
  readonly reading = newStreamReading();
  readonly cut = { start: 0, end: 0 };
  replacement = new Uint8Array(0);
  readonly #hideUsage: boolean;
  readonly #cursor = new JsonCursor();
  readonly #ends = new ChoiceEnds();
  #shared: SharedMembers | undefined;
  /** Of the chunk that is being read. */
  #sawChoices = false;
  #sawUsage = false;
  #choiceCount = 0;
  #sawError = false;
  /** What aggregators say in a choice whose provider broke off. */
  #choiceError: Json | undefined;

  constructor(options: { readonly hideUsage: boolean }) {
    this.#hideUsage = options.hideUsage;
  }

  /** What a chunk of ours repeats. */
  get shared(): SharedMembers {
    return this.#shared ?? {};
  }

  /** The choices that have not ended yet. */
  get openChoices(): readonly number[] {
    return this.#ends.open;
  }

  read(frame: SseFrame): FrameFate {
    if (!frame.hasPayload) return "pass";
    if (frame.payload[frame.payloadStart] !== 0x7b && frame.payloadIs("[DONE]")) {
      this.reading.state = "completed";
      this.reading.stopReason = this.#ends.last;
      return "last";
    }
    if (frame.event === "error") return this.#fail(frameJson(frame));
    this.#sawChoices = this.#sawUsage = this.#sawError = false;
    this.#choiceCount = 0;
    this.cut.start = this.cut.end = 0;
    this.#chunk(frame);
    if (this.#sawChoices) this.#shared ??= this.#sharedMembers(frame);
    if (this.#sawError) return this.#fail(frameJson(frame));
    if (isJsonObject(this.#choiceError)) return this.#fail({ error: this.#choiceError });
    if (!this.#sawChoices && !this.#sawUsage) return this.#foreign(frameJson(frame));
    if (!this.#hideUsage || this.cut.end === 0) return "pass";
    if (this.#sawUsage && this.#sawChoices && this.#choiceCount === 0) return "drop";
    return this.#cutFate(frame);
  }

  #fail(body: Json): FrameFate {
    this.reading.state = "error";
    this.reading.error = readProviderError(body);
    return "drop";
  }

  #chunk(frame: SseFrame): void {
    const cursor = this.#cursor;
    const objectStart = frame.payloadStart;
    cursor.reset(frame.payload, objectStart, frame.payloadEnd);
    if (!cursor.enterObject()) throw new JsonScanError("Not an object");
    let previousEnd = cursor.at;
    let first = true;
    while (cursor.nextMember()) {
      const keyStart = cursor.keyStart;
      if (cursor.keyIs(keys.choices)) {
        this.#choices();
      } else if (cursor.keyIs(keys.usage)) {
        this.#sawUsage ||= !cursor.isNull;
        this.#usage(cursor.takeValue());
        // With the comma before it, or as the first member with the comma after it.
        this.cut.start = first ? keyStart : previousEnd;
        this.cut.end = first ? afterComma(frame.payload, cursor.at, frame.payloadEnd) : cursor.at;
      } else if (cursor.keyIs(keys.error)) {
        const error = cursor.takeValue();
        this.#sawError = isJsonObject(error) || (typeof error === "string" && error !== "");
      } else if (cursor.keyIs(keys.xGroq)) {
        const groq = cursor.takeValue();
        if (isJsonObject(groq)) this.#usage(groq["usage"]);
      } else {
        cursor.skip();
      }
      previousEnd = cursor.at;
      first = false;
    }
  }

  #sharedMembers(frame: SseFrame): SharedMembers {
    const cursor = this.#cursor;
    const shared: Writable<SharedMembers> = {};
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    cursor.enterObject();
    while (cursor.nextMember()) {
      if (cursor.keyIs(keys.id)) shared.id = shortText(cursor.takeValue());
      else if (cursor.keyIs(keys.created)) shared.created = wholeNumber(cursor.takeValue());
      else if (cursor.keyIs(keys.model)) shared.model = shortText(cursor.takeValue());
      else cursor.skip();
    }
    return shared;
  }

  #choices(): void {
    const cursor = this.#cursor;
    if (!cursor.enterArray()) {
      cursor.skip();
      return;
    }
    this.#sawChoices = true;
    while (cursor.nextElement()) {
      const place = this.#choiceCount++;
      if (!cursor.enterObject()) {
        cursor.skip();
        continue;
      }
      let index = place;
      let ended: string | undefined;
      // Some repeat the whole answer so far in `message` beside each delta.
      let before: number | undefined;
      let sawDelta = false;
      while (cursor.nextMember()) {
        if (cursor.keyIs(keys.delta)) {
          if (before !== undefined) this.reading.outputBytes = before;
          sawDelta = true;
          this.#delta();
        } else if (cursor.keyIs(keys.message) && !sawDelta) {
          before = this.reading.outputBytes;
          this.#delta();
        } else if (cursor.keyIs(keys.finishReason) && cursor.isString) {
          const reason = cursor.takeValue();
          if (typeof reason === "string" && reason !== "") ended = reason;
        } else if (cursor.keyIs(keys.error)) {
          this.#choiceError ??= cursor.takeValue();
        } else if (cursor.keyIs(keys.index)) {
          index = readCount(cursor.takeValue()) ?? place;
        } else if (cursor.keyIs(keys.usage)) {
          this.#usage(cursor.takeValue());
        } else {
          cursor.skip();
        }
      }
      this.#ends.note(index, ended);
    }
    this.reading.stopReason = this.#ends.reason;
  }

  #delta(): void {
    const cursor = this.#cursor;
    if (!cursor.enterObject()) {
      cursor.skip();
      return;
    }
    let reasoningBytes = 0;
    while (cursor.nextMember()) {
      if (isAnyOf(cursor, textKeys)) {
        this.#answer(cursor.isString ? cursor.takeTextLength() : chatTextBytes(cursor.takeValue()));
      } else if (isAnyOf(cursor, reasoningKeys)) {
        // Some send the same reasoning under both names.
        reasoningBytes = Math.max(reasoningBytes, cursor.takeTextLength());
      } else if (isAnyOf(cursor, callKeys)) {
        const calls = readChatCalls(cursor.takeValue());
        if (calls.count > 0) this.reading.sawOutput = true;
        this.#answer(calls.bytes);
      } else {
        cursor.skip();
      }
    }
    this.#output(reasoningBytes);
  }

  /** No chunk of the style: an error in a shape of its own, or something that the client may make sense of. */
  #foreign(body: Json): FrameFate {
    const isError = isJsonObject(body) && (body["object"] === "error" ||
      body["type"] === "error" || typeof body["detail"] === "string");
    return isError ? this.#fail(body) : "pass";
  }

  #usage(usage: Json | undefined): void {
    enterReport(this.reading, readChatUsage(usage));
  }

  #answer(bytes: number): void {
    if (bytes > 0) this.reading.sawAnswer = true;
    this.#output(bytes);
  }

  #output(bytes: number): void {
    if (bytes === 0) return;
    this.reading.sawOutput = true;
    this.reading.outputBytes += bytes;
  }

  #cutFate(frame: SseFrame): FrameFate {
    if (frame.payload === frame.bytes) return "cut";
    // The JSON spans several data lines, so its bytes are not those of the frame.
    const text = new TextDecoder();
    const json = text.decode(frame.payload.subarray(frame.payloadStart, this.cut.start)) +
      text.decode(frame.payload.subarray(this.cut.end, frame.payloadEnd));
    this.replacement = new Uint8Array(encodeSseEvent(json.replace(/[\r\n]/g, " ")));
    return "replace";
  }
}

function wholeNumber(value: Json): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}

function shortText(value: Json): string | undefined {
  return typeof value === "string" && value.length <= sharedMemberChars ? value : undefined;
}

function isAnyOf(cursor: JsonCursor, names: readonly JsonKey[]): boolean {
  for (const name of names) if (cursor.keyIs(name)) return true;
  return false;
}

/** Offset after the comma that follows `at`, or `at` when none does. */
function afterComma(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end && bytes[next]! <= 0x20) next++;
  return bytes[next] === 0x2c ? next + 1 : at;
}
