/**
 * Writes conversation events as a Gemini stream.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-stream and docs/conversion.md#streams.
 */
import { errorBody, GatewayError } from "../../../lib/errors/errors.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { CallIds } from "../../fields/answer_ids.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type { Citation, Stop, StreamEvent } from "../../conversation/mod.ts";
import { citationChars } from "../../content/citations.ts";
import { bufferedBlockBytes, streamCitationChars } from "../../contract/limits.ts";
import type { StreamEncoder } from "../../stream/dialect.ts";
import { type BlockEvent, BlockSequencer } from "../../stream/choices.ts";
import { answerArguments } from "../../tools/tool_fields.ts";
import { answerFrame, hostedParts, picturePart, soundPart } from "../answer/encode_answer.ts";
import { writeGrounding } from "../answer/decode_answer.ts";
import { writeLogprobs } from "../answer/logprobs.ts";
import { PartSignatures } from "../answer/thought_signatures.ts";
import { writeGeminiStop, writeGeminiUsage } from "../answer/answer_reading.ts";

/** A call that is being assembled; its arguments are joined literals without quotes. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly kind: "text" | "json_text";
  json: string;
}

/** Writes a Gemini stream. A call goes out whole, as at the vendor. */
export class GeminiStreamEncoder implements StreamEncoder {
  readonly #context: PipeContext;
  readonly #index: number;
  /** Encoders of further candidates, by their index. */
  readonly #others = new Map<number, GeminiStreamEncoder>();
  readonly #ids: CallIds;
  readonly #sequencer = new BlockSequencer((event) => this.#block(event));
  readonly #signatures = new PartSignatures();
  /** The beginning of every chunk up to its parts, and the end of those without a finish reason. */
  readonly #head = 'data: {"candidates":[{"content":{"parts":[';
  readonly #tail: string;
  /** The end of the chunks up to the candidate's last member. */
  readonly #contentTail: string;
  #call: OpenCall | undefined;
  #isThought = false;
  #citations: Citation[] = [];
  #citedChars = 0;
  #sawRefusal = false;
  #stop: Stop | undefined;
  #usage: TokenUsage | undefined;
  #text = "";

  constructor(context: PipeContext, index = 0) {
    this.#context = context;
    this.#index = index;
    this.#ids = new CallIds(context.requestId, "call_", (id) => id);
    this.#contentTail = `],"role":"model"},"index":${index}`;
    this.#tail = `${this.#contentTail}}],${this.#frame()}}\n\n`;
  }

  encode(event: StreamEvent): string {
    this.#text = "";
    switch (event.type) {
      case "start":
      case "usage_rejected":
        break;
      case "stop":
        this.#stop = event.stop;
        break;
      case "usage":
        this.#usage = event.usage;
        break;
      case "ping":
        // The vendor's libraries read any other line as JSON.
        return "\n\n";
      case "end":
        this.#end();
        break;
      case "choice":
        this.#text = this.#candidateOf(event.choice).encode(event.event);
        break;
      case "error":
        return streamError(event.error, this.#context.requestId);
      default:
        this.#sequencer.take(event);
    }
    return this.#text;
  }

  /** The members that all chunks share, as JSON text without braces. */
  #frame(): string {
    return stringifyExactly(answerFrame(this.#context)).slice(1, -1);
  }

  #part(json: string): void {
    this.#text += this.#head + json + this.#tail;
  }

  #said(json: string, logprobs: string | undefined): void {
    if (logprobs === undefined) return this.#part(`{"text":${json}}`);
    const entries: Json = JSON.parse(logprobs);
    const given = writeLogprobs(Array.isArray(entries) ? entries.filter(isJsonObject) : []);
    const members = stringifyExactly(given).slice(1, -1);
    const tail = `${this.#contentTail},${members}}],${this.#frame()}}\n\n`;
    this.#text += `${this.#head}{"text":${json}}${tail}`;
  }

  #candidateOf(index: number): GeminiStreamEncoder {
    const known = this.#others.get(index) ?? new GeminiStreamEncoder(this.#context, index);
    this.#others.set(index, known);
    return known;
  }

  #parts(parts: readonly JsonObject[]): void {
    for (const part of parts) this.#part(stringifyExactly(part));
  }

  #block(event: BlockEvent): void {
    switch (event.type) {
      case "text":
      case "refusal":
        this.#sawRefusal ||= event.type === "refusal";
        this.#parts(this.#signatures.release());
        return this.#said(event.json, event.type === "text" ? event.logprobs : undefined);
      case "reasoning":
        this.#isThought = true;
        this.#parts(this.#signatures.release());
        return this.#part(`{"text":${event.json},"thought":true}`);
      case "reasoning_proof":
        this.#parts(this.#signatures.release());
        return this.#signatures.keep(event.proof, this.#isThought);
      case "call":
        this.#call = {
          id: this.#ids.next(event.id),
          name: event.name,
          kind: event.custom === true ? "text" : "json_text",
          json: "",
        };
        return;
      case "arguments":
        return this.#arguments(event.json);
      case "citation":
        return this.#cite(event.citation);
      case "hosted_call":
        this.#parts([...this.#signatures.release(), ...hostedParts(event.call)]);
        return;
      case "picture":
        return this.#parts([...this.#signatures.release(), picturePart(event.url)]);
      case "sound":
        return this.#parts([...this.#signatures.release(), soundPart(event)]);
      case "block_end":
        this.#isThought = false;
        return this.#endCall();
      case "foreign":
    }
  }

  #arguments(json: string): void {
    const call = this.#call;
    if (call === undefined) return;
    call.json += json.slice(1, -1);
    if (call.json.length > bufferedBlockBytes) {
      throw new GatewayError("upstream_unreachable", "The model's tool call is too long");
    }
  }

  #endCall(): void {
    const call = this.#call;
    if (call === undefined) return;
    this.#call = undefined;
    const text: string = JSON.parse(`"${call.json}"`);
    const args = answerArguments({ kind: call.kind, text });
    this.#parts(this.#signatures.call({ id: call.id, name: call.name, args }));
  }

  #cite(citation: Citation): void {
    this.#citedChars += citationChars(citation);
    if (this.#citedChars <= streamCitationChars) this.#citations.push(citation);
  }

  #end(): void {
    this.#sequencer.finish();
    this.#parts(this.#signatures.release());
    const told: Stop = this.#stop ?? { reason: "end" };
    const stop: Stop = this.#sawRefusal ? { ...told, reason: "refusal" } : told;
    const candidate = {
      content: { parts: [{ text: "" }], role: "model" },
      ...writeGeminiStop(stop),
      index: this.#index,
      ...writeGrounding(this.#citations),
    };
    // The first of several candidates may never have begun.
    const isMissing = this.#stop === undefined && this.#others.size > 0;
    const chunk = {
      ...(isMissing ? {} : { candidates: [candidate] }),
      ...(this.#usage === undefined ? {} : { usageMetadata: writeGeminiUsage(this.#usage) }),
      ...answerFrame(this.#context),
    };
    this.#text += `data: ${stringifyExactly(chunk)}\n\n`;
  }
}

/**
 * Writes an error into a stream: the object by itself, without `data:`, as the vendor does. Its libraries look for an
 * error only there.
 */
export function streamError(error: GatewayError, requestId: string): string {
  return `${stringifyExactly(errorBody(error, "gemini", requestId))}\n\n`;
}
