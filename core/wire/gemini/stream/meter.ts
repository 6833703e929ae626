import type { GatewayError } from "../../../lib/errors/errors.ts";
import type { SseFrame } from "../../../lib/sse/frame.ts";
import { FrameEdits } from "../../../lib/sse/frame_edits.ts";
import { JsonCursor, jsonKey, JsonScanError } from "../../../lib/json/json_cursor.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { ClientModel } from "../../stream/client_model.ts";
import { nativeStreamError } from "../../errors/errors.ts";
import { frameJson } from "../../stream/frame_json.ts";
import {
  enterReport,
  type FrameFate,
  newStreamReading,
  type StreamMeter,
} from "../../stream/reading.ts";
import { maxChoices } from "../../contract/limits.ts";
import { ChoiceEnds, indexedChoices } from "../../stream/choices.ts";
import { candidatesOf, readParts } from "../answer/answer_reading.ts";
import { isRefusal, stopFailure } from "../../fields/stop_words.ts";
import { readBlockedPrompt } from "../answer/stop_reasons.ts";
import { ToolUseCount } from "../../tools/tool_uses.ts";
import { countCandidateUses } from "../answer/tool_uses.ts";
import { readGeminiTier, readGeminiUsage } from "../answer/usage.ts";

function parsed(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
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
export class GeminiMeter implements StreamMeter {
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
    if (!ends.areSeveral) return candidatesOf(chunk).map((candidate) => candidate["finishReason"]);
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
    const indexes = new Map(
      indexedChoices(candidates, maxChoices).map(([index, candidate]) => [candidate, index]),
    );
    for (const candidate of candidates) {
      const { isOutput, bytes, answerBytes } = readParts(candidate["content"]);
      countCandidateUses(this.#toolUses, candidate);
      reading.outputBytes += bytes;
      reading.answerBytes += answerBytes;
      const reason = candidate["finishReason"];
      reading.sawOutput ||= isOutput || isRefusal(reason);
      const ended = typeof reason === "string" && reason !== "" ? reason : undefined;
      this.#ends.note(indexes.get(candidate) ?? unknownIndex, ended);
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
