import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { errorBody, type GatewayError } from "../../../lib/errors/errors.ts";
import { FrameEdits, type SseFrame } from "../../../lib/sse/frame.ts";
import { JsonCursor, jsonKey, JsonScanError } from "../../../lib/json/json_cursor.ts";
import type { Writable } from "../../../lib/base/assert.ts";
import { ClientModel, inClientTerms, modelKey } from "../../stream/client_model.ts";
import {
  enterReport,
  type FrameFate,
  frameJson,
  newStreamReading,
  type StreamMeter,
} from "../../stream/reading.ts";
import { stopFailure } from "../../fields/stop_words.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { ItemUses, readResponsesItem, readResponsesUsage } from "../answer/answer_reading.ts";
import { type ClosingEvent, KeptOutput } from "../items/kept_output.ts";
import { countReportedUses } from "../../tools/tool_fields.ts";
import {
  type EndedResponse,
  failureOf,
  responseEnd,
  responseObject,
  type ResponseState,
  writeResponsesStop,
} from "../answer/response_object.ts";
import { joined } from "../../../lib/bytes/byte_parts.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { encodeSseEvent } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";

const decoder = new TextDecoder();
const keys = {
  id: jsonKey("id"),
  createdAt: jsonKey("created_at"),
  type: jsonKey("type"),
  delta: jsonKey("delta"),
  outputIndex: jsonKey("output_index"),
  contentIndex: jsonKey("content_index"),
  summaryIndex: jsonKey("summary_index"),
  sequenceNumber: jsonKey("sequence_number"),
  response: jsonKey("response"),
  usage: jsonKey("usage"),
  status: jsonKey("status"),
  error: jsonKey("error"),
  serviceTier: jsonKey("service_tier"),
  incompleteDetails: jsonKey("incomplete_details"),
};

/** Most characters of a value of the identity; longer ones are not kept. */
const identityChars = 256;

/** Members that identify a response. */
export interface ResponseIdentity {
  readonly id?: string | undefined;
  readonly created_at?: number | undefined;
}

/**
 * Reads a Responses stream. Measures deltas, scans the closing event, which repeats the whole answer, and parses only
 * items.
 */
class ResponsesMeter implements StreamMeter {
  readonly reading = newStreamReading();
  readonly edits = new FrameEdits();
  /** The sequence number of the next event, if the gateway adds one. */
  nextSequenceNumber = 0;
  /** Members of the response object in its first event, which a closing event of the gateway repeats. */
  identity: ResponseIdentity = {};
  /** The output so far, for a closing event of the gateway. */
  readonly kept = new KeptOutput();
  readonly #cursor = new JsonCursor();
  /** Bytes of deltas since the last item ended: 0 at servers without deltas, whose items are measured whole. */
  #itemBytes = 0;
  readonly #model: ClientModel;
  readonly #uses = new ItemUses();

  constructor(model: ClientModel) {
    this.#model = model;
  }

  read(frame: SseFrame): FrameFate {
    if (!frame.hasPayload) return "pass";
    // Some servers close with Chat's `[DONE]`; clients would stop reading there, so it is dropped.
    if (frame.payload[frame.payloadStart] !== 0x7b && frame.payloadIs("[DONE]")) return "drop";
    if (frame.event === "error") return this.#fail(objectOrText(frame));
    const { type, deltaBytes } = this.#walk(frame);
    const name = frame.event.startsWith("response.") ? frame.event : type;
    switch (name) {
      case "response.created":
        this.#created(frame);
        return "pass";
      case "response.completed":
      case "response.incomplete": {
        this.#closing(frame);
        const failure = stopFailure([this.reading.stopReason], this.reading.sawOutput);
        if (failure !== undefined) return this.#failed(failure);
        this.reading.state = "completed";
        return "last";
      }
      case "response.failed":
      case "response.cancelled":
        return this.#fail(this.#closing(frame));
      case "error":
        return this.#fail(objectOrText(frame));
      case "response.output_item.added":
      case "response.output_item.done":
        this.#item(frame, name === "response.output_item.done");
        return "pass";
    }
    // Audio is not counted: one second of it has as many bytes as a long answer.
    if (name.endsWith(".delta") && !name.endsWith("audio.delta")) {
      this.#output(deltaBytes, !name.startsWith("response.reasoning"));
    }
    return "pass";
  }

  #created(frame: SseFrame): void {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    cursor.enterObject();
    while (cursor.nextMember()) {
      if (!cursor.keyIs(keys.response) || !cursor.enterObject()) {
        cursor.skip();
        continue;
      }
      const identity: Writable<ResponseIdentity> = {};
      while (cursor.nextMember()) {
        if (cursor.keyIs(keys.id)) identity.id = shortText(cursor.takeValue());
        else if (cursor.keyIs(keys.createdAt)) {
          identity.created_at = wholeNumber(cursor.takeValue());
        } else cursor.skip();
      }
      this.identity = identity;
    }
  }

  #fail(body: Json): FrameFate {
    return this.#failed(readProviderError(body));
  }

  #failed(error: GatewayError): FrameFate {
    this.reading.state = "error";
    this.reading.error = error;
    return "drop";
  }

  #walk(frame: SseFrame): { type: string; deltaBytes: number } {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    if (!cursor.enterObject()) throw new JsonScanError("Not an object");
    let type = "";
    let deltaBytes = 0;
    const isKept = this.kept.keeps(frame.event);
    let literal: string | undefined;
    let outputIndex = 0;
    let partIndex = 0;
    while (cursor.nextMember()) {
      if (cursor.keyIs(keys.delta)) {
        const start = cursor.at;
        const isText = cursor.isString;
        deltaBytes = cursor.takeTextLength();
        if (isKept && isText) {
          literal = decoder.decode(frame.payload.subarray(start, cursor.at)).trim();
        }
      } else if (isKept && cursor.keyIs(keys.outputIndex)) {
        outputIndex = wholeNumber(cursor.takeValue()) ?? 0;
      } else if (
        isKept && (cursor.keyIs(keys.contentIndex) || cursor.keyIs(keys.summaryIndex))
      ) {
        partIndex = wholeNumber(cursor.takeValue()) ?? 0;
      } else if (cursor.keyIs(keys.sequenceNumber)) {
        const number = cursor.takeValue();
        if (typeof number === "number") this.nextSequenceNumber = number + 1;
      } else if (cursor.keyIs(keys.type) && frame.event === "") {
        type = String(cursor.takeValue());
      } else if (cursor.keyIs(keys.response) && cursor.enterObject()) {
        while (cursor.nextMember()) {
          if (cursor.keyIs(modelKey)) this.#model.rename(cursor, frame, this.edits);
          else cursor.skip();
        }
      } else {
        cursor.skip();
      }
    }
    if (isKept && !frame.event.endsWith(".delta")) this.kept.ended(frame.event, outputIndex);
    if (literal !== undefined) {
      this.kept.delta({ event: frame.event, outputIndex, partIndex, literal });
    }
    return { type, deltaBytes };
  }

  /** Reads usage and stop reason of the answer; returns its error. */
  #closing(frame: SseFrame): Json {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    cursor.enterObject();
    let error: Json = null;
    const ended: Writable<EndedResponse> = {};
    while (cursor.nextMember()) {
      if (!cursor.keyIs(keys.response) || !cursor.enterObject()) {
        cursor.skip();
        continue;
      }
      while (cursor.nextMember()) {
        if (cursor.keyIs(keys.usage)) {
          const usage = cursor.takeValue();
          enterReport(this.reading, readResponsesUsage(usage));
          countReportedUses(this.#uses.count, usage);
        } else if (cursor.keyIs(keys.status)) {
          ended.status = cursor.takeValue();
        } else if (cursor.keyIs(keys.serviceTier)) {
          const tier = cursor.takeValue();
          if (typeof tier === "string") this.reading.serviceTier = tier;
        } else if (cursor.keyIs(keys.incompleteDetails)) {
          ended.incomplete_details = cursor.takeValue();
        } else if (cursor.keyIs(keys.error)) {
          error = cursor.takeValue();
        } else {
          cursor.skip();
        }
      }
    }
    const reason = responseEnd(ended);
    if (typeof reason === "string") this.reading.stopReason = reason;
    this.reading.toolUses = this.#uses.count.uses;
    return error;
  }

  #item(frame: SseFrame, done: boolean): void {
    const body = objectOrText(frame);
    const item = isJsonObject(body) ? body["item"] : undefined;
    if (!isJsonObject(item)) return;
    const outputIndex = isJsonObject(body) ? body["output_index"] : undefined;
    if (typeof outputIndex === "number") {
      if (done) this.kept.done(outputIndex, item);
      else this.kept.add(outputIndex, item);
    }
    const { isOutput, bytes } = readResponsesItem(item);
    if (isOutput) this.reading.sawOutput = true;
    if (!done) return;
    this.#uses.item(item);
    this.reading.toolUses = this.#uses.count.uses;
    if (this.#itemBytes === 0) this.#output(bytes, item["type"] !== "reasoning");
    this.#itemBytes = 0;
  }

  #output(bytes: number, isAnswer: boolean): void {
    if (bytes === 0) return;
    this.reading.sawOutput = true;
    if (isAnswer) this.reading.answerBytes += bytes;
    this.reading.outputBytes += bytes;
    this.#itemBytes += bytes;
  }
}

function wholeNumber(value: Json): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}

function shortText(value: Json): string | undefined {
  return typeof value === "string" && value.length <= identityChars ? value : undefined;
}

/** Returns the object of an event; other data is returned unchanged, to be read as an error. */
function objectOrText(frame: SseFrame): JsonObject | string {
  const value = frameJson(frame);
  return isJsonObject(value) ? value : frame.data;
}

/** Writes a response object that continues the upstream's, with the members of its first event. */
function continued(
  { identity }: ResponsesMeter,
  context: PipeContext,
  state: ResponseState,
): JsonObject {
  const response: JsonObject = responseObject(context, state);
  for (const [name, value] of Object.entries(identity)) {
    if (value !== undefined) response[name] = value;
  }
  return response;
}

/** Closes the open items, then the response with the collected output. */
function lengthStop(meter: ResponsesMeter, context: PipeContext, usage: TokenUsage): Uint8Array {
  const stop = writeResponsesStop({ reason: "length" }, false);
  const { events, output } = meter.kept.close();
  const response = continued(meter, context, { ...stop, output, usage });
  let sequence = meter.nextSequenceNumber;
  const closing: readonly ClosingEvent[] = [...events, ["response.incomplete", { response }]];
  return joined(closing.map(([type, members]) => {
    const event = { type, sequence_number: sequence++, ...members };
    return encodeSseEvent(stringifyExactly(event), type);
  }));
}

/**
 * Writes both error events of the vendor: SDKs stop at `error`, agents read the reason from `response.failed`. A stream
 * that has not begun gets `response.created` first, since strict clients accept nothing before it.
 */
function failure(meter: ResponsesMeter, context: PipeContext, error: GatewayError): Uint8Array {
  let sequence = meter.nextSequenceNumber;
  const events: Uint8Array[] = [];
  const add = (type: string, members: JsonObject) => {
    const event = { type, sequence_number: sequence++, ...members };
    events.push(encodeSseEvent(stringifyExactly(event), type));
  };
  const hasBegun = sequence > 0 || meter.identity.id !== undefined;
  if (!hasBegun) {
    const begun = responseObject(context, { status: "in_progress", output: [] });
    add("response.created", { response: begun });
  }
  add("error", { error: errorBody(error, "chat", context.requestId)["error"] });
  const failed = { status: "failed", output: [], error: failureOf(error) } as const;
  add("response.failed", { response: continued(meter, context, failed) });
  return joined(events);
}

/** Creates the pipe from a Responses upstream to a Responses client. A stream without a closing event was cut. */
export function createResponsesNativePipe(context: PipeContext): StreamPipe {
  const meter = new ResponsesMeter(ClientModel.of(context.clientModel));
  return new BytePipe(meter, {
    errorEvent: (error) => failure(meter, context, error),
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => undefined,
    lengthStop: (usage) => lengthStop(meter, context, usage),
  });
}
