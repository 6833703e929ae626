import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { errorBody, type GatewayError } from "../../../lib/errors/errors.ts";
import { maxToolCallsPerAnswer } from "../../contract/limits.ts";
import { FrameEdits, type SseFrame } from "../../../lib/sse/frame.ts";
import { JsonCursor, jsonKey, JsonScanError } from "../../../lib/json/json_cursor.ts";
import { ClientModel, inClientTerms, modelKey } from "../../stream/client_model.ts";
import {
  enterReport,
  type FrameFate,
  frameJson,
  LoneText,
  newStreamReading,
  type StreamMeter,
  textBytes,
} from "../../stream/reading.ts";
import { nativeStreamError } from "../../errors/errors.ts";
import { isRefusal, stopFailure } from "../../fields/stop_words.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_fields.ts";
import {
  countBlockUse,
  enterMessagesUsage,
  firstMessagesUsage,
  type MessagesCounts,
  writeMessagesStop,
  writeMessagesUsage,
} from "../answer/answer_reading.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { encodeSseEvent, sseEventText } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";

const keys = {
  type: jsonKey("type"),
  message: jsonKey("message"),
  delta: jsonKey("delta"),
  text: jsonKey("text"),
  thinking: jsonKey("thinking"),
  partialJson: jsonKey("partial_json"),
};

const eventNames: ReadonlySet<string> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "ping",
  "error",
]);

/**
 * Reads a Messages stream. Deltas are only measured; the few other events are parsed.
 *
 * `usage.output` is 0 until `message_delta` reports it. If that event has no usage, estimate from `outputBytes`.
 */
class MessagesMeter implements StreamMeter {
  readonly reading = newStreamReading();
  readonly edits = new FrameEdits();
  readonly text = new LoneText();
  readonly #model: ClientModel;
  readonly #cursor = new JsonCursor();
  #counts: MessagesCounts = {};
  readonly #openBlocks: number[] = [];
  readonly #toolUses = new ToolUseCount(true);

  /** Indexes of the blocks that are open at the client. */
  get openBlocks(): readonly number[] {
    return this.#openBlocks;
  }

  constructor(model: ClientModel) {
    this.#model = model;
  }

  read(frame: SseFrame): FrameFate {
    this.text.clear();
    if (frame.dataLines === 0) return "pass";
    const named = frame.event;
    switch (eventNames.has(named) ? named : this.#typeOf(frame)) {
      case "content_block_delta":
        this.#delta(frame);
        return "pass";
      case "message_start":
        this.#rename(frame);
        return this.#start(parseObject(frame));
      case "content_block_start":
        return this.#blockStart(parseObject(frame));
      case "content_block_stop":
        return this.#blockStop(parseObject(frame)["index"]);
      case "message_delta":
        return this.#messageDelta(parseObject(frame));
      case "message_stop":
        this.reading.state = "completed";
        return "last";
      case "error":
        return this.#fail(nativeStreamError(frameJson(frame)));
      default:
        return "pass";
    }
  }

  #fail(error: GatewayError): FrameFate {
    this.reading.state = "error";
    this.reading.error = error;
    return "drop";
  }

  #typeOf(frame: SseFrame): string {
    if (!frame.hasPayload) return "";
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    if (!cursor.enterObject()) throw new JsonScanError("Not an object");
    while (cursor.nextMember()) {
      if (cursor.keyIs(keys.type)) return String(cursor.takeValue());
      cursor.skip();
    }
    return "";
  }

  #delta(frame: SseFrame): void {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    if (!cursor.enterObject()) throw new JsonScanError("Not an object");
    let answerBytes = 0;
    let thinkingBytes = 0;
    while (cursor.nextMember()) {
      if (!cursor.keyIs(keys.delta) || !cursor.enterObject()) {
        cursor.skip();
        continue;
      }
      while (cursor.nextMember()) {
        if (cursor.keyIs(keys.text) || cursor.keyIs(keys.partialJson)) {
          answerBytes += this.#textLength(true);
        } else if (cursor.keyIs(keys.thinking)) thinkingBytes += this.#textLength(false);
        else cursor.skip();
      }
    }
    this.#answer(answerBytes);
    this.#output(thinkingBytes);
  }

  #textLength(isAnswer: boolean): number {
    const cursor = this.#cursor;
    const start = cursor.at;
    const isText = cursor.isString;
    const length = cursor.takeTextLength();
    if (isText) this.text.saw(start, cursor.at, isAnswer);
    return length;
  }

  #rename(frame: SseFrame): void {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    if (!cursor.enterObject()) return;
    while (cursor.nextMember()) {
      if (!cursor.keyIs(keys.message) || !cursor.enterObject()) {
        cursor.skip();
        continue;
      }
      while (cursor.nextMember()) {
        if (cursor.keyIs(modelKey)) this.#model.rename(cursor, frame, this.edits);
        else cursor.skip();
      }
    }
  }

  #start(event: JsonObject): FrameFate {
    const message = event["message"];
    if (isJsonObject(message)) this.#usage(firstMessagesUsage(message["usage"]));
    return "pass";
  }

  #blockStart({ index, content_block }: JsonObject): FrameFate {
    // More than an answer may have cannot be told apart any more; the vendor has one open at a time.
    if (typeof index === "number" && this.#openBlocks.length < maxToolCallsPerAnswer) {
      this.#openBlocks.push(index);
    }
    return this.#block(content_block);
  }

  #blockStop(index: Json | undefined): FrameFate {
    const at = this.#openBlocks.indexOf(Number(index));
    if (at >= 0) this.#openBlocks.splice(at, 1);
    return "pass";
  }

  #block(block: Json | undefined): FrameFate {
    if (!isJsonObject(block)) return "pass";
    if (block["type"] === "text" || block["type"] === "thinking") {
      this.#answer(textBytes(block["text"]));
      this.#output(textBytes(block["thinking"]));
      return "pass";
    }
    // Tool calls, results of hosted tools and redacted thinking count as output even if the block is empty.
    this.reading.sawOutput = true;
    countBlockUse(this.#toolUses, block);
    this.reading.toolUses = this.#toolUses.uses;
    this.#output(textBytes(block["data"]));
    return "pass";
  }

  #messageDelta(event: JsonObject): FrameFate {
    this.#usage(event["usage"]);
    const delta = event["delta"];
    if (isJsonObject(delta) && typeof delta["stop_reason"] === "string") {
      const reason = delta["stop_reason"];
      const failure = stopFailure([reason], this.reading.sawOutput);
      if (failure !== undefined) return this.#fail(failure);
      this.reading.stopReason = reason;
      // A refusal without any block is output too.
      if (isRefusal(reason)) this.reading.sawOutput = true;
    }
    return "pass";
  }

  #usage(usage: Json | undefined): void {
    const { counts, report } = enterMessagesUsage(this.#counts, usage);
    this.#counts = counts;
    enterReport(this.reading, report);
    const tier = isJsonObject(usage) ? usage["service_tier"] : undefined;
    if (typeof tier === "string") this.reading.serviceTier = tier;
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

function parseObject(frame: SseFrame): JsonObject {
  const value = frameJson(frame);
  if (!isJsonObject(value)) throw new JsonScanError("Not an object");
  return value;
}

const encoder = new TextEncoder();

/** Closes the open blocks and stops with `max_tokens`, unless the provider already sent a stop reason. */
function lengthStop(meter: MessagesMeter, usage: TokenUsage): Uint8Array {
  const events: JsonObject[] = meter.openBlocks.map((index) => ({
    type: "content_block_stop",
    index,
  }));
  if (meter.reading.stopReason === undefined) {
    const { stop_reason, stop_sequence } = writeMessagesStop({ reason: "length" });
    events.push({
      type: "message_delta",
      delta: { stop_reason, stop_sequence },
      usage: writeMessagesUsage(usage),
    });
  }
  events.push({ type: "message_stop" });
  return encoder.encode(
    events.map((event) => sseEventText(stringifyExactly(event), String(event["type"]))).join(""),
  );
}

/** Creates the pipe from a Messages upstream to a Messages client. A stream without `message_stop` was cut. */
export function createMessagesNativePipe(context: PipeContext): StreamPipe {
  const meter = new MessagesMeter(ClientModel.of(context.clientModel));
  return new BytePipe(meter, {
    errorEvent: (error) =>
      encodeSseEvent(stringifyExactly(errorBody(error, "messages", context.requestId)), "error"),
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => undefined,
    lengthStop: (usage) => lengthStop(meter, usage),
  });
}
