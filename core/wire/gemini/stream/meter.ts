import type { GatewayError } from "../../../lib/errors/errors.ts";
import { FrameEdits, type SseFrame } from "../../../lib/sse/frame.ts";
import { parseWithinDepth } from "../../../lib/json/exact_json.ts";
import { JsonCursor, jsonKey, JsonScanError } from "../../../lib/json/json_cursor.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { ClientModel, inClientTerms } from "../../stream/client_model.ts";
import { nativeStreamError } from "../../errors/errors.ts";
import {
  enterReport,
  type FrameFate,
  frameJson,
  newStreamReading,
  type StreamMeter,
} from "../../stream/reading.ts";
import { ChoiceEnds, choiceIndex } from "../../stream/choices.ts";
import {
  candidatesOf,
  countCandidateUses,
  finishReasonOf,
  readBlockedPrompt,
  readGeminiTier,
  readGeminiUsage,
  readParts,
  writeGeminiStop,
  writeGeminiUsage,
} from "../answer/answer_reading.ts";
import { isRefusal, stopFailure } from "../../fields/stop_words.ts";
import { ToolUseCount } from "../../tools/tool_fields.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { sseEventText } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";
import { answerFrame } from "../answer/encode_answer.ts";
import { streamError } from "./stream_encoder.ts";

function parsed(text: string): Json {
  try {
    return parseWithinDepth(text);
  } catch {
    return null;
  }
}

/** The index of a candidate whose own is none. */
const unknownIndex = -1;

/** The member with the provider's name of the model. */
const versionKey = jsonKey("modelVersion");

/**
 * Reads a Gemini stream. The style has no last event: a frame with a finish reason is held until another frame or the
 * end of the body follows.
 */
class GeminiMeter implements StreamMeter {
  readonly reading = newStreamReading();
  readonly edits = new FrameEdits();
  readonly #model: ClientModel;
  readonly #cursor = new JsonCursor();
  readonly #toolUses = new ToolUseCount(true);
  readonly #ends = new ChoiceEnds();

  /** Why the prompt was blocked, if it was. */
  #blocked: string | undefined;

  constructor(model: ClientModel) {
    this.#model = model;
  }

  read(frame: SseFrame): FrameFate {
    if (!frame.hasPayload) return this.#bare(frame.bareObject);
    if (frame.payloadIs("[DONE]")) return "pass";
    const chunk = frameJson(frame);
    if (frame.event === "error" || (isJsonObject(chunk) && isJsonObject(chunk["error"]))) {
      return this.#fail(nativeStreamError(chunk));
    }
    if (!isJsonObject(chunk)) throw new JsonScanError("Not an object");
    this.#rename(frame);
    const isLast = this.#chunk(chunk);
    const failure = stopFailure(this.#reasons(chunk), this.reading.sawOutput);
    if (failure !== undefined) return this.#fail(failure);
    return isLast ? "hold" : "pass";
  }

  /** Reads an error that came by itself, without `data:`, as the vendor sends it. */
  #bare(text: string | undefined): FrameFate {
    const error = text === undefined ? undefined : parsed(text);
    if (!isJsonObject(error) || !isJsonObject(error["error"])) return "pass";
    return this.#fail(nativeStreamError(error));
  }

  #fail(error: GatewayError): FrameFate {
    this.reading.state = "error";
    this.reading.error = error;
    return "drop";
  }

  /** The finish reasons that decide: with several candidates, an answer of which one is good is used. */
  #reasons(chunk: JsonObject): readonly (Json | undefined)[] {
    const ends = this.#ends;
    if (!ends.areSeveral) return candidatesOf(chunk).map(finishReasonOf);
    return ends.reason === undefined ? [] : ends.reasons;
  }

  /** The candidates that have not ended yet. */
  get openCandidates(): readonly number[] {
    return this.#ends.open;
  }

  /** Reads a chunk; returns whether it may be the last one. */
  #chunk(chunk: JsonObject): boolean {
    const { reading } = this;
    let isLast = false;
    const candidates = candidatesOf(chunk);
    for (const [place, candidate] of candidates.entries()) {
      const { isOutput, bytes, answerBytes } = readParts(candidate["content"]);
      countCandidateUses(this.#toolUses, candidate);
      reading.outputBytes += bytes;
      reading.answerBytes += answerBytes;
      const ended = finishReasonOf(candidate);
      reading.sawOutput ||= isOutput || isRefusal(ended);
      this.#ends.note(choiceIndex(candidates, place) ?? unknownIndex, ended);
      isLast ||= ended !== undefined;
    }
    reading.stopReason = this.#ends.reason ?? this.#blocked;
    const blocked = readBlockedPrompt(chunk["promptFeedback"]);
    if (blocked !== undefined) {
      this.#blocked = blocked;
      reading.stopReason ??= blocked;
      reading.sawOutput = true;
      isLast = true;
    }
    reading.toolUses = this.#toolUses.uses;
    reading.serviceTier = readGeminiTier(chunk["usageMetadata"]) ?? reading.serviceTier;
    enterReport(reading, readGeminiUsage(chunk["usageMetadata"]));
    return isLast;
  }

  #rename(frame: SseFrame): void {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    if (!cursor.enterObject()) return;
    while (cursor.nextMember()) {
      if (cursor.keyIs(versionKey)) this.#model.rename(cursor, frame, this.edits);
      else cursor.skip();
    }
  }
}

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

/** Ends every open candidate for length. */
function lengthStop(meter: GeminiMeter, context: PipeContext, usage: TokenUsage): Uint8Array {
  const chunk = {
    candidates: meter.openCandidates.map((index) => ({
      content: { parts: [{ text: "" }], role: "model" },
      ...writeGeminiStop({ reason: "length" }),
      index,
    })),
    usageMetadata: writeGeminiUsage(usage),
    ...answerFrame(context),
  };
  return encoder.encode(sseEventText(stringifyExactly(chunk)));
}

/** Creates the pipe from a Gemini upstream to a Gemini client. A stream without a finish reason was cut. */
export function createGeminiNativePipe(context: PipeContext): StreamPipe {
  const meter = new GeminiMeter(ClientModel.of(context.clientModel));
  return new BytePipe(meter, {
    errorEvent: (error) => encoder.encode(streamError(error, context.requestId)),
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => meter.reading.stopReason === undefined ? undefined : nothing,
    lengthStop: (usage) => lengthStop(meter, context, usage),
  });
}
