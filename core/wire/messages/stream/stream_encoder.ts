/**
 * Writes conversation events as a Messages stream.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-stream and docs/conversion.md#streams.
 */
import { pictureNote } from "../../fields/pictures.ts";
import { errorBody, GatewayError } from "../../../lib/errors/errors.ts";
import { bufferedBlockBytes, maxRefusalChars } from "../../contract/limits.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { answerId, CallIds } from "../../fields/answer_ids.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type {
  Citation,
  HostedCall,
  ReasoningProof,
  Stop,
  StreamEvent,
} from "../../conversation/mod.ts";
import type { RepeatableText, StreamEncoder, TextFrame } from "../../stream/dialect.ts";
import { type BlockEvent, BlockSequencer } from "../../stream/choices.ts";
import { clientWordId } from "../../tools/tool_preparation.ts";
import { CitedText, writeCitation } from "../answer/cited_text.ts";
import { thinkingSignature } from "../answer/encode_answer.ts";
import { hostedUse, writeHostedCall } from "../answer/hosted_calls.ts";
import {
  writeMessagesStop,
  writeMessagesTier,
  writeMessagesUsage,
} from "../answer/answer_reading.ts";
import { answerArguments } from "../../tools/tool_fields.ts";

// Streams the input of one tool call to a Messages client, as an object whatever the model wrote.

const openBrace = 0x7b;
const notBlank = /[^ \t\n\r]/;

/**
 * Pieces of an object pass at once. Anything else (arguments encoded twice, a list, `null`) is buffered until the call
 * ends, and converted as in a whole answer: client libraries throw on a string or a list, or pass it to a caller that
 * could not send the call back.
 *
 * @example
 * ```ts
 * import { ToolInputStream } from "./stream_encoder.ts";
 * const twice = new ToolInputStream();
 * if (twice.take(JSON.stringify('"{\\"x\\":1}"')) !== undefined) throw new Error("a string went out");
 * if (twice.end() !== JSON.stringify('{"x":1}')) throw new Error("not decoded");
 * ```
 */
export class ToolInputStream {
  /** `blank`: nothing but white space so far. */
  #kind: "blank" | "object" | "other" = "blank";
  #held: string[] = [];
  #bufferedChars = 0;

  /**
   * The next piece, as a JSON string literal. Returns the literal that goes out now, if any.
   *
   * @throws {GatewayError} `upstream_unreachable` when more than `bufferedBlockBytes` would be kept
   */
  take(json: string): string | undefined {
    if (this.#kind === "object") return json;
    if (this.#bufferedChars === 0 && json.charCodeAt(1) === openBrace) {
      this.#kind = "object";
      return json;
    }
    const text: string = JSON.parse(json);
    this.#hold(text);
    if (this.#kind === "blank") {
      const at = text.search(notBlank);
      if (at >= 0) this.#kind = text.charCodeAt(at) === openBrace ? "object" : "other";
    }
    return this.#kind === "object" ? stringifyExactly(this.#release()) : undefined;
  }

  /** Nothing follows. Returns what goes out instead of what was kept; blank text is no input, as none at all is. */
  end(): string | undefined {
    if (this.#kind !== "other") return undefined;
    const input = answerArguments({ kind: "json_text", text: this.#release() });
    return stringifyExactly(stringifyExactly(input));
  }

  #hold(text: string): void {
    this.#held.push(text);
    this.#bufferedChars += text.length;
    if (this.#bufferedChars > bufferedBlockBytes) {
      throw new GatewayError("upstream_unreachable", "The model's tool call is too long");
    }
  }

  #release(): string {
    const text = this.#held.join("");
    this.#held = [];
    this.#bufferedChars = 0;
    return text;
  }
}

/** Bytes that follow the text of a delta. */
const deltaTail = "}}\n\n";

type OpenKind = "text" | "thinking" | "tool_use" | "custom" | "whole";

/** Writes a Messages stream. */
export class MessagesStreamEncoder implements StreamEncoder {
  readonly #context: PipeContext;
  readonly #ids: CallIds;
  readonly #sequencer: BlockSequencer;
  #started = false;
  /** Index of the open block, or of the last one. */
  #index = -1;
  /** The written form of the sequencer's live block; `undefined` until some of it is written. */
  #open: OpenKind | undefined;
  #deltaHead = "";
  /** The input of an open `tool_use`. */
  #input = new ToolInputStream();
  #signed = false;
  readonly #cited = new CitedText({
    text: (json) => this.#text(json),
    cite: (citation) => this.#cite(citation),
    divide: () => this.#close(),
  });
  /** The hosted calls so far, for the usage. */
  readonly #hosted: HostedCall["tool"][] = [];
  #refusal = "";
  #stop: Stop = { reason: "end" };
  #usage: TokenUsage | undefined;
  #tier: string | undefined;
  /** Text of the event that is being encoded. */
  #out = "";

  constructor(context: PipeContext) {
    this.#context = context;
    this.#ids = new CallIds(context.requestId, "toolu_", clientWordId);
    this.#sequencer = new BlockSequencer((event) => this.#write(event));
  }

  encode(event: StreamEvent): string {
    this.#out = "";
    switch (event.type) {
      case "start":
        this.#start(event.usage);
        break;
      case "usage":
        this.#usage = event.usage;
        break;
      case "stop":
        this.#stop = event.stop;
        this.#tier = event.serviceTier ?? this.#tier;
        break;
      case "ping":
        this.#event("ping", '{"type":"ping"}');
        break;
      case "end":
        this.#end();
        break;
      case "error":
        this.#event(
          "error",
          stringifyExactly(errorBody(event.error, "messages", this.#context.requestId)),
        );
        break;
      case "usage_rejected":
      // The style has one choice, and its clients cannot ask for several.
      case "choice":
        break;
      default:
        this.#start(undefined);
        this.#sequencer.take(event);
    }
    return this.#out;
  }

  textFrame(kind: RepeatableText["kind"], block: number): TextFrame | undefined {
    if (!this.#sequencer.isLive(block)) return undefined;
    const passes = kind === "text"
      ? this.#open === "text" && this.#cited.passes
      : this.#open === "thinking";
    return passes ? { before: this.#deltaHead, after: deltaTail } : undefined;
  }

  passed(kind: RepeatableText["kind"], _block: number, units: number): void {
    if (kind === "text") this.#cited.passed(units);
  }

  #event(name: string, data: string): void {
    this.#out += `event: ${name}\ndata: ${data}\n\n`;
  }

  #start(usage: TokenUsage | undefined): void {
    if (this.#started) return;
    this.#started = true;
    const message = {
      id: answerId("msg_", this.#context.requestId),
      type: "message",
      role: "assistant",
      model: this.#context.clientModel,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: writeMessagesUsage(usage),
    };
    this.#event("message_start", stringifyExactly({ type: "message_start", message }));
  }

  /** Writes events of the live block; blocks come one after another. */
  #write(event: BlockEvent): void {
    switch (event.type) {
      case "refusal":
        if (this.#refusal.length < maxRefusalChars) {
          const text: string = JSON.parse(event.json);
          this.#refusal += text;
        }
        return this.#text(event.json);
      case "text":
        return this.#cited.text(event.json);
      case "reasoning":
        return this.#thinking(event.json);
      case "reasoning_proof":
        return this.#proof(event.proof);
      case "call":
        return this.#call(event);
      case "arguments":
        return this.#arguments(event.json);
      case "block_end":
        return this.#blockEnd();
      case "citation":
        return this.#cited.cite(event.citation);
      case "hosted_call":
        return this.#hostedCall(event.id, event.call);
      case "picture":
        return this.#text(stringifyExactly(pictureNote(event.url)));
      // Named before, or it ran inside the provider's call and its result is in the text.
      case "sound":
      case "foreign":
        return;
      default:
        return event satisfies never;
    }
  }

  /** Writes a call and its result as two complete blocks. */
  #hostedCall(id: string, call: HostedCall): void {
    this.#hosted.push(call.tool);
    const written = writeHostedCall(id, call);
    if (written === undefined) return;
    const use = { ...written.use, input: {} };
    this.#begin("whole", use, '{"type":"input_json_delta","partial_json":');
    this.#delta('""');
    this.#delta(stringifyExactly(stringifyExactly(written.input)));
    this.#blockEnd();
    this.#begin("whole", written.result, "");
  }

  #begin(kind: OpenKind, block: JsonObject, delta: string): void {
    this.#open = kind;
    this.#index++;
    this.#signed = false;
    this.#deltaHead =
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":${delta}`;
    const data = { type: "content_block_start", index: this.#index, content_block: block };
    this.#event("content_block_start", stringifyExactly(data));
  }

  /** Writes a delta of the open block, with its text as the last member. */
  #delta(json: string): void {
    this.#out += this.#deltaHead + json + deltaTail;
  }

  #text(json: string): void {
    if (this.#open === undefined) {
      this.#begin("text", { type: "text", text: "" }, '{"type":"text_delta","text":');
    }
    this.#delta(json);
  }

  #cite(citation: Citation): void {
    const delta = { type: "citations_delta", citation: writeCitation(citation) };
    const data = { type: "content_block_delta", index: this.#index, delta };
    this.#event("content_block_delta", stringifyExactly(data));
  }

  #thinking(json: string): void {
    if (this.#open === undefined) this.#openThinking();
    this.#delta(json);
  }

  #openThinking(): void {
    this.#begin(
      "thinking",
      { type: "thinking", thinking: "", signature: "" },
      '{"type":"thinking_delta","thinking":',
    );
  }

  #proof(proof: ReasoningProof): void {
    if (proof.kind === "redacted" && proof.signer === "messages" && this.#open === undefined) {
      this.#begin("whole", { type: "redacted_thinking", data: proof.data }, "");
      return;
    }
    if (this.#open === undefined) this.#openThinking();
    this.#sign(proof);
  }

  #sign(proof: ReasoningProof | undefined): void {
    this.#signed = true;
    const delta = { type: "signature_delta", signature: thinkingSignature(proof) };
    const data = { type: "content_block_delta", index: this.#index, delta };
    this.#event("content_block_delta", stringifyExactly(data));
  }

  #call(event: StreamEvent & { readonly type: "call" }): void {
    const block = {
      type: "tool_use",
      id: this.#ids.next(event.id),
      name: event.name,
      input: {},
    };
    const delta = '{"type":"input_json_delta","partial_json":';
    this.#begin(event.custom ? "custom" : "tool_use", block, delta);
    this.#input = new ToolInputStream();
    // The vendor's first piece is empty; in a call without arguments it is the only one.
    this.#delta(event.custom ? stringifyExactly('{"input":"') : '""');
  }

  #arguments(json: string): void {
    if (this.#open === "tool_use") this.#inputPiece(this.#input.take(json));
    // Free text becomes a JSON string inside JSON text: its literal is escaped once more.
    else if (this.#open === "custom") this.#delta(stringifyExactly(json.slice(1, -1)));
  }

  #inputPiece(json: string | undefined): void {
    if (json !== undefined) this.#delta(json);
  }

  #blockEnd(): void {
    this.#cited.end();
    this.#close();
  }

  #close(): void {
    if (this.#open === undefined) return;
    if (this.#open === "thinking" && !this.#signed) this.#sign(undefined);
    if (this.#open === "tool_use") this.#inputPiece(this.#input.end());
    if (this.#open === "custom") this.#delta(stringifyExactly('"}'));
    this.#open = undefined;
    this.#event("content_block_stop", `{"type":"content_block_stop","index":${this.#index}}`);
  }

  #end(): void {
    this.#start(undefined);
    this.#sequencer.finish();
    const stop: Stop = this.#refusal === "" ? this.#stop : {
      ...this.#stop,
      reason: "refusal",
      explanation: this.#stop.explanation ?? this.#refusal,
    };
    const data = {
      type: "message_delta",
      delta: writeMessagesStop(stop),
      usage: {
        ...writeMessagesUsage(this.#usage),
        ...writeMessagesTier(this.#tier),
        ...hostedUse(this.#hosted),
      },
    };
    this.#event("message_delta", stringifyExactly(data));
    this.#event("message_stop", '{"type":"message_stop"}');
  }
}
