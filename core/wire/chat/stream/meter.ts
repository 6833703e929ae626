import { parseExactly } from "../../../lib/json/exact_json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { errorBody, type GatewayError } from "../../../lib/errors/errors.ts";
import { FrameEdits, type SseFrame } from "../../../lib/sse/frame.ts";
import { JsonCursor, type JsonKey, jsonKey, JsonScanError } from "../../../lib/json/json_cursor.ts";
import type { Writable } from "../../../lib/base/assert.ts";
import { ChoiceEnds } from "../../stream/choices.ts";
import { ClientModel, inClientTerms, modelKey } from "../../stream/client_model.ts";
import {
  enterReport,
  type FrameFate,
  frameJson,
  LoneText,
  newStreamReading,
  readCount,
  type StreamMeter,
} from "../../stream/reading.ts";
import { nativeStreamError } from "../../errors/errors.ts";
import { pictureOutputBytes } from "../../fields/pictures.ts";
import { stopFailure } from "../../fields/stop_words.ts";
import {
  contentBytes,
  hasSources,
  hasUnknownPart,
  readChatCalls,
  readChatUsage,
  writeChatUsage,
} from "../answer/answer_reading.ts";
import { CallRepair, repairedCalls } from "../answer/call_repair.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_fields.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { encodeSseEvent, sseEventText } from "../../../lib/sse/writer.ts";
import { answerId } from "../../fields/answer_ids.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";

const keys = {
  id: jsonKey("id"),
  created: jsonKey("created"),
  choices: jsonKey("choices"),
  usage: jsonKey("usage"),
  error: jsonKey("error"),
  xGroq: jsonKey("x_groq"),
  serviceTier: jsonKey("service_tier"),
  delta: jsonKey("delta"),
  message: jsonKey("message"),
  finishReason: jsonKey("finish_reason"),
  index: jsonKey("index"),
  text: jsonKey("text"),
};
const textKeys = ["content", "refusal"].map(jsonKey);
const reasoningKeys = ["reasoning_content", "reasoning"].map(jsonKey);
const annotationsKey = jsonKey("annotations");
const imagesKey = jsonKey("images");
const toolCallsKey = jsonKey("tool_calls");
const callKeys = ["function_call", "audio"].map(jsonKey);
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Most characters of a shared member's value; longer ones are not kept. */
const sharedMemberChars = 256;

/** Members that all chunks of a stream share, as the first of them has them. */
export interface SharedMembers {
  readonly id?: string | undefined;
  readonly created?: number | undefined;
}

/**
 * Reads a Chat Completions stream, with the known deviations of vendors. Scans chunks without parsing them, except for
 * usage, errors and unusual shapes.
 *
 * With `hideUsage` the client does not see what providers add when usage is requested: the chunk with usage and without
 * choices is dropped, and members `usage: null` are cut out. Usage beside choices is sent unrequested, so it passes.
 */
class ChatMeter implements StreamMeter {
  readonly reading = newStreamReading();
  readonly edits = new FrameEdits();
  readonly text = new LoneText();
  readonly #model: ClientModel;
  readonly #hideUsage: boolean;
  readonly #readsText: boolean;
  readonly #cursor = new JsonCursor();
  readonly #ends = new ChoiceEnds();
  readonly #toolUses = new ToolUseCount(false);
  readonly #repair: CallRepair | undefined;
  #shared: SharedMembers | undefined;
  /** State of the chunk that is being read. */
  #sawChoices = false;
  #sawUsage = false;
  #choiceCount = 0;
  #sawError = false;
  /** The error that aggregators put into a choice whose provider failed. */
  #choiceError: Json | undefined;

  constructor(options: {
    readonly model: ClientModel;
    readonly hideUsage: boolean;
    /** The choices of older completions have their text themselves. */
    readonly readsText?: boolean;
    /** Calls that break the contract of the style are repaired. */
    readonly repairsCalls?: boolean;
  }) {
    this.#model = options.model;
    this.#hideUsage = options.hideUsage;
    this.#readsText = options.readsText ?? false;
    this.#repair = options.repairsCalls === true ? new CallRepair() : undefined;
  }

  /** The members that a chunk of the gateway repeats. */
  get shared(): SharedMembers {
    return this.#shared ?? {};
  }

  /** The choices that have not ended yet. */
  get openChoices(): readonly number[] {
    return this.#ends.open;
  }

  read(frame: SseFrame): FrameFate {
    this.text.clear();
    if (!frame.hasPayload) return "pass";
    if (frame.payload[frame.payloadStart] !== 0x7b && frame.payloadIs("[DONE]")) {
      this.reading.state = "completed";
      this.reading.stopReason = this.#ends.last;
      return "last";
    }
    if (frame.event === "error") return this.#fail(frameJson(frame));
    this.#sawChoices = this.#sawUsage = this.#sawError = false;
    this.#choiceCount = 0;
    this.#chunk(frame);
    if (this.#choiceCount !== 1 || frame.event !== "") this.text.sawMore();
    if (this.#sawChoices) this.#shared ??= this.#sharedMembers(frame);
    if (this.#sawError) return this.#fail(frameJson(frame));
    if (isJsonObject(this.#choiceError)) return this.#fail({ error: this.#choiceError });
    // With several choices, an answer of which one is good is used.
    if (this.#ends.reason !== undefined) {
      const failure = stopFailure(this.#ends.reasons, this.reading.sawOutput);
      if (failure !== undefined) return this.#failed(failure);
    }
    if (!this.#sawChoices && !this.#sawUsage) return this.#foreign(frameJson(frame));
    const isUsageAlone = this.#sawUsage && this.#sawChoices && this.#choiceCount === 0;
    return this.#hideUsage && isUsageAlone ? "drop" : "pass";
  }

  #fail(body: Json): FrameFate {
    return this.#failed(nativeStreamError(body));
  }

  #failed(error: GatewayError): FrameFate {
    this.reading.state = "error";
    this.reading.error = error;
    return "drop";
  }

  #chunk(frame: SseFrame): void {
    const cursor = this.#cursor;
    const objectStart = frame.payloadStart;
    cursor.reset(frame.payload, objectStart, frame.payloadEnd);
    if (!cursor.enterObject()) throw new JsonScanError("Not an object");
    let previousEnd = cursor.at;
    let isFirst = true;
    while (cursor.nextMember()) {
      if (cursor.keyIs(keys.choices)) {
        this.#choices(frame);
      } else if (cursor.keyIs(keys.usage)) {
        if (this.#hideUsage && cursor.isNull) {
          const { keyStart } = cursor;
          cursor.skip();
          // Includes the comma before the member, or the one after it if it is the first.
          if (isFirst) {
            const end = afterComma(frame.payload, cursor.at, frame.payloadEnd);
            this.edits.cut(frame, keyStart, end);
          } else {
            this.edits.cut(frame, previousEnd, cursor.at);
            previousEnd = cursor.at;
          }
          continue;
        }
        if (!cursor.isNull) this.text.sawMore();
        this.#sawUsage ||= !cursor.isNull;
        this.#usage(cursor.takeValue());
      } else if (cursor.keyIs(modelKey)) {
        this.#model.rename(cursor, frame, this.edits);
      } else if (cursor.keyIs(keys.error)) {
        const error = cursor.takeValue();
        this.#sawError = isJsonObject(error) || (typeof error === "string" && error !== "");
      } else if (cursor.keyIs(keys.serviceTier) && cursor.isString) {
        const tier = cursor.takeValue();
        if (typeof tier === "string" && tier !== "") this.reading.serviceTier = tier;
      } else if (cursor.keyIs(keys.xGroq)) {
        const groq = cursor.takeValue();
        this.text.sawMore();
        if (isJsonObject(groq)) this.#usage(groq["usage"]);
      } else {
        cursor.skip();
      }
      previousEnd = cursor.at;
      isFirst = false;
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
      else cursor.skip();
    }
    return shared;
  }

  #choices(frame: SseFrame): void {
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
      let answerBefore = 0;
      let sawDelta = false;
      while (cursor.nextMember()) {
        if (cursor.keyIs(keys.delta)) {
          if (before !== undefined) {
            this.reading.outputBytes = before;
            this.reading.answerBytes = answerBefore;
          }
          sawDelta = true;
          this.#delta(frame, index);
        } else if (cursor.keyIs(keys.message) && !sawDelta) {
          before = this.reading.outputBytes;
          answerBefore = this.reading.answerBytes;
          this.text.sawMore();
          this.#delta(frame, index);
        } else if (cursor.keyIs(keys.finishReason) && cursor.isString) {
          const reason = cursor.takeValue();
          if (typeof reason === "string" && reason !== "") ended = reason;
          if (ended !== undefined) this.text.sawMore();
        } else if (cursor.keyIs(keys.error)) {
          this.text.sawMore();
          this.#choiceError ??= cursor.takeValue();
        } else if (cursor.keyIs(keys.index)) {
          index = readCount(cursor.takeValue()) ?? place;
        } else if (cursor.keyIs(keys.usage)) {
          if (!cursor.isNull) this.text.sawMore();
          this.#usage(cursor.takeValue());
        } else if (this.#readsText && cursor.keyIs(keys.text)) {
          this.#answer(this.#textLength(true));
        } else {
          cursor.skip();
        }
      }
      this.#ends.note(index, ended);
    }
    this.reading.stopReason = this.#ends.reason;
  }

  #delta(frame: SseFrame, choice: number): void {
    const cursor = this.#cursor;
    if (!cursor.enterObject()) {
      cursor.skip();
      return;
    }
    let reasoningBytes = 0;
    while (cursor.nextMember()) {
      if (isAnyOf(cursor, textKeys)) {
        this.#answer(cursor.isString ? this.#textLength(true) : this.#parts());
      } else if (isAnyOf(cursor, reasoningKeys)) {
        // Some send the same reasoning under both names.
        reasoningBytes = Math.max(reasoningBytes, this.#textLength(false));
      } else if (cursor.keyIs(toolCallsKey)) {
        this.#toolCalls(frame, choice);
      } else if (isAnyOf(cursor, callKeys)) {
        if (!cursor.isNull) this.text.sawMore();
        const calls = readChatCalls(cursor.takeValue());
        if (calls.count > 0) this.reading.sawOutput = true;
        this.#answer(calls.bytes);
      } else if (cursor.keyIs(imagesKey)) {
        if (!cursor.isNull) this.text.sawMore();
        const images = cursor.takeValue();
        this.#answer(Array.isArray(images) ? images.length * pictureOutputBytes : 0);
      } else if (cursor.keyIs(annotationsKey)) {
        if (!cursor.isNull) this.text.sawMore();
        if (hasSources(cursor.takeValue())) this.#searched();
      } else {
        cursor.skip();
      }
    }
    this.#output(reasoningBytes);
  }

  #toolCalls(frame: SseFrame, choice: number): void {
    const cursor = this.#cursor;
    if (!cursor.isNull) this.text.sawMore();
    const start = cursor.at;
    const value = cursor.takeValue();
    const calls = readChatCalls(value);
    if (calls.count > 0) this.reading.sawOutput = true;
    this.#answer(calls.bytes);
    const indexes = this.#repair?.indexes(value, choice);
    if (indexes === undefined) return;
    // Read once more, so that numbers of arguments keep their digits.
    const exact = parseExactly(decoder.decode(frame.payload.subarray(start, cursor.at)));
    const text = stringifyExactly(repairedCalls(exact, indexes));
    this.edits.replace(frame, start, cursor.at, encoder.encode(text));
  }

  /** Skips a value; returns its length if it is a string. */
  #textLength(isAnswer: boolean): number {
    const cursor = this.#cursor;
    if (!cursor.isString) {
      cursor.skip();
      return 0;
    }
    const start = cursor.at;
    const length = cursor.takeTextLength();
    this.text.saw(start, cursor.at, isAnswer);
    return length;
  }

  /** Content that a few servers send as parts. */
  #parts(): number {
    if (!this.#cursor.isNull) this.text.sawMore();
    const content = this.#cursor.takeValue();
    if (hasUnknownPart(content)) this.reading.sawOutput = true;
    return contentBytes(content);
  }

  /** Reads a frame that is not a chunk: an error in another shape, or something that passes to the client. */
  #foreign(body: Json): FrameFate {
    const isError = isJsonObject(body) && (body["object"] === "error" ||
      body["type"] === "error" || typeof body["detail"] === "string");
    return isError ? this.#fail(body) : "pass";
  }

  #searched(): void {
    this.#toolUses.reported("web_search", 1);
    this.reading.toolUses = this.#toolUses.uses;
  }

  #usage(usage: Json | undefined): void {
    enterReport(this.reading, readChatUsage(usage));
    countReportedUses(this.#toolUses, usage);
    this.reading.toolUses = this.#toolUses.uses;
  }

  #answer(bytes: number): void {
    this.reading.answerBytes += bytes;
    this.#output(bytes);
  }

  #output(bytes: number): void {
    if (bytes === 0) return;
    this.reading.sawOutput = true;
    this.reading.outputBytes += bytes;
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

/** Returns the offset after the comma that follows `at`, or `at` if none does. */
function afterComma(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end && bytes[next]! <= 0x20) next++;
  return bytes[next] === 0x2c ? next + 1 : at;
}

/** Ends every open choice with `length`; then sends usage, if the client asked for it, and `[DONE]`. */
function lengthStop(meter: ChatMeter, context: PipeContext, usage: TokenUsage): Uint8Array {
  const { id, created } = meter.shared;
  const head: JsonObject = {
    id: id ?? answerId("chatcmpl-", context.requestId),
    object: "chat.completion.chunk",
    created: created ?? context.nowSeconds,
    model: context.clientModel,
  };
  const noUsage = context.clientWantsUsage ? { usage: null } : {};
  let text = "";
  for (const index of meter.openChoices) {
    const choice = { index, delta: {}, logprobs: null, finish_reason: "length" };
    text += sseEventText(stringifyExactly({ ...head, choices: [choice], ...noUsage }));
  }
  if (context.clientWantsUsage) {
    const chunk = { ...head, choices: [], usage: writeChatUsage(usage) };
    text += sseEventText(stringifyExactly(chunk));
  }
  return encoder.encode(text + sseEventText("[DONE]"));
}

const nothing = new Uint8Array(0);

/**
 * Creates the pipe from a Chat upstream to a Chat client.
 *
 * Some servers end the body without `[DONE]`. After a finish reason the answer is complete, and the client's body also
 * ends without it; without a finish reason the stream was cut.
 */
export function createChatNativePipe(
  context: PipeContext & {
    readonly injectedUsage: boolean;
    readonly readsText?: boolean;
    readonly repairsCalls?: boolean;
  },
): StreamPipe {
  const meter = new ChatMeter({
    model: ClientModel.of(context.clientModel),
    hideUsage: context.injectedUsage && !context.clientWantsUsage,
    readsText: context.readsText ?? false,
    repairsCalls: context.repairsCalls ?? false,
  });
  return new BytePipe(meter, {
    errorEvent: (error) => {
      const body = { error: errorBody(error, "chat", context.requestId)["error"] };
      return encodeSseEvent(stringifyExactly(body));
    },
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => meter.reading.stopReason === undefined ? undefined : nothing,
    lengthStop: (usage) => lengthStop(meter, context, usage),
  });
}
