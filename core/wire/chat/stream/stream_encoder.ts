/**
 * Writes conversation events as a Chat stream.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-stream and docs/conversion.md#streams.
 */
import { imagePart } from "../../fields/pictures.ts";
import { audioOf, writeTier } from "../answer/encode_answer.ts";
import { errorBody } from "../../../lib/errors/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { answerId, CallIds } from "../../fields/answer_ids.ts";
import type { ConversionMemory, PipeContext } from "../../contract/contract.ts";
import type { Moderation, Stop, StreamEvent } from "../../conversation/mod.ts";
import type { RepeatableText, StreamEncoder, TextFrame } from "../../stream/dialect.ts";
import { chatModeration } from "../../content/citations.ts";
import { StreamAnnotations, writeFinishReason } from "../answer/decode_answer.ts";
import { detailFor, ownDetailId } from "../answer/reasoning_details.ts";
import { writeChatUsage } from "../answer/answer_reading.ts";

interface Call {
  readonly index: number;
  readonly custom: boolean;
  hasArguments: boolean;
}

/** The delta that begins a choice. */
const role = '{"role":"assistant","content":"","refusal":null}';

/** Writes a Chat stream. */
export class ChatStreamEncoder implements StreamEncoder {
  readonly #context: PipeContext;
  readonly #memory: ConversionMemory;
  readonly #index: number;
  /** Encoders of further choices, by their index. */
  readonly #others = new Map<number, ChatStreamEncoder>();
  /** Of several choices, each has its role before its first content: the first one may never come. */
  #awaitsRole: boolean;
  readonly #legacy: boolean;
  readonly #ids: CallIds;
  /** The beginning of every chunk up to the delta, and its end while there is no finish reason. */
  readonly #head: string;
  readonly #openTail: string;
  readonly #calls = new Map<number, Call>();
  /** The index of the next tool call: clients allocate by it. */
  #callCount = 0;
  /** Index of the reasoning detail of the block that is open. */
  #details = -1;
  #detailBlock = -1;
  readonly #annotations = new StreamAnnotations();
  #sawRefusal = false;
  #pictures = 0;
  #stop: Stop | undefined;
  #usage: TokenUsage | undefined;
  #tier: string | undefined;
  #moderation: Moderation | undefined;

  constructor(context: PipeContext, memory: ConversionMemory, index = 0) {
    this.#context = context;
    this.#memory = memory;
    this.#index = index;
    this.#awaitsRole = (memory.choices ?? 1) > 1;
    this.#legacy = memory.legacyFunctions === true;
    this.#ids = new CallIds(context.requestId, "call_", (id) => id);
    this.#head = `data: ${this.#common()},"choices":[{"index":${index},"delta":`;
    this.#openTail = `,"logprobs":null,"finish_reason":null}]${this.#noUsage()}}\n\n`;
  }

  encode(event: StreamEvent): string {
    if (!this.#awaitsRole || !("block" in event)) return this.#encode(event);
    this.#awaitsRole = false;
    return this.#chunk(role) + this.#encode(event);
  }

  #encode(event: StreamEvent): string {
    switch (event.type) {
      case "text":
        return this.#text(event.block, event.json, event.logprobs);
      case "arguments":
        return this.#arguments(event.block, event.json);
      case "reasoning":
        return this.#reasoning(event.block, event.json);
      case "call":
        return this.#call(event);
      case "block_end":
        return this.#blockEnd(event.block);
      case "start":
        return this.#awaitsRole ? "" : this.#chunk(role);
      case "choice":
        return this.#choice(event.choice, event.event);
      case "refusal":
        this.#sawRefusal = true;
        return this.#chunk(`{"refusal":${event.json}}`);
      case "reasoning_proof":
        return this.#proof(event);
      case "picture":
        return this.#chunk(stringifyExactly({ images: [imagePart(event.url, this.#pictures++)] }));
      case "sound":
        return this.#chunk(
          stringifyExactly({ audio: audioOf([event], this.#context, this.#index) }),
        );
      case "citation":
        this.#annotations.cite(event.block, event.citation);
        return "";
      case "stop":
        this.#stop = event.stop;
        this.#tier = event.serviceTier ?? this.#tier;
        this.#moderation = event.moderation ?? this.#moderation;
        return "";
      case "usage":
        this.#usage = event.usage;
        return "";
      case "ping":
        return ": ping\n\n";
      case "end":
        return this.#index === 0 ? this.#end() : this.#endChoice();
      case "error": {
        const body = errorBody(event.error, "chat", this.#context.requestId);
        return `data: ${stringifyExactly({ error: body.error })}\n\n`;
      }
      // The style has no member for calls of hosted tools: their results are in the text and its annotations.
      case "hosted_call":
      case "foreign":
      case "usage_rejected":
        return "";
    }
  }

  /** Reasoning is written twice, so only text has a frame. */
  textFrame(kind: RepeatableText["kind"]): TextFrame | undefined {
    if (kind !== "text") return undefined;
    return { before: `${this.#head}{"content":`, after: `}${this.#openTail}` };
  }

  passed(_kind: RepeatableText["kind"], _block: number, units: number): void {
    this.#annotations.passed(units);
  }

  /** Writes the members that all chunks share, as JSON text without the closing brace. */
  #common(): string {
    const members: JsonObject = {
      id: answerId("chatcmpl-", this.#context.requestId),
      object: "chat.completion.chunk",
      created: this.#context.nowSeconds,
      model: this.#context.clientModel,
    };
    return stringifyExactly(members).slice(0, -1);
  }

  /** Writes `usage: null` into every chunk but the last, if the client asked for usage. */
  #noUsage(): string {
    return this.#context.clientWantsUsage ? ',"usage":null' : "";
  }

  #chunk(delta: string): string {
    return this.#head + delta + this.#openTail;
  }

  #text(block: number, json: string, logprobs: string | undefined): string {
    this.#annotations.text(block, json);
    if (logprobs === undefined) return this.#chunk(`{"content":${json}}`);
    const given = `"logprobs":{"content":${logprobs},"refusal":null}`;
    const tail = `,${given},"finish_reason":null}]${this.#noUsage()}}\n\n`;
    return `${this.#head}{"content":${json}}${tail}`;
  }

  /** Writes reasoning as plain text for most clients, and as a detail for those that send it back. */
  #reasoning(block: number, json: string): string {
    const id = block === this.#detailBlock ? "" : `"id":"${ownDetailId}",`;
    const index = this.#detailIndex(block);
    return this.#chunk(
      `{"reasoning_content":${json},"reasoning_details":[{"type":"reasoning.text",${id}"text":${json},"index":${index}}]}`,
    );
  }

  #detailIndex(block: number): number {
    if (block !== this.#detailBlock) {
      this.#detailBlock = block;
      this.#details++;
    }
    return this.#details;
  }

  #proof(event: StreamEvent & { readonly type: "reasoning_proof" }): string {
    const hasId = event.block === this.#detailBlock;
    const { id, ...detail } = detailFor("", event.proof, this.#detailIndex(event.block));
    return this.#chunk(
      stringifyExactly({ reasoning_details: [hasId ? detail : { id, ...detail }] }),
    );
  }

  #call(event: StreamEvent & { readonly type: "call" }): string {
    const custom = event.custom === true;
    const index = this.#callCount++;
    this.#calls.set(event.block, { index, custom, hasArguments: false });
    const { name } = event;
    if (this.#legacy) {
      // The old form allows one call.
      if (index > 0) return "";
      return this.#chunk(stringifyExactly({ function_call: { name, arguments: "" } }));
    }
    const id = this.#ids.next(event.id);
    const call = custom
      ? { index, id, type: "custom", custom: { name, input: "" } }
      : { index, id, type: "function", function: { name, arguments: "" } };
    return this.#chunk(stringifyExactly({ tool_calls: [call] }));
  }

  #arguments(block: number, json: string): string {
    const call = this.#calls.get(block);
    if (call === undefined || json === '""') return "";
    call.hasArguments = true;
    if (this.#legacy) {
      return call.index > 0 ? "" : this.#chunk(`{"function_call":{"arguments":${json}}}`);
    }
    const [holder, member] = call.custom ? ["custom", "input"] : ["function", "arguments"];
    return this.#chunk(
      `{"tool_calls":[{"index":${call.index},"${holder}":{"${member}":${json}}}]}`,
    );
  }

  #blockEnd(block: number): string {
    this.#annotations.endBlock(block);
    const call = this.#calls.get(block);
    if (call === undefined) return "";
    // Clients parse the arguments, and `""` is not JSON.
    const missing = call.hasArguments || call.custom ? "" : this.#arguments(block, '"{}"');
    this.#calls.delete(block);
    return missing;
  }

  #choice(index: number, event: StreamEvent): string {
    const known = this.#others.get(index);
    if (known !== undefined) return known.encode(event);
    const made = new ChatStreamEncoder(this.#context, this.#memory, index);
    this.#others.set(index, made);
    return made.encode(event);
  }

  #endChoice(): string {
    let out = "";
    for (const block of [...this.#calls.keys()]) out += this.#blockEnd(block);
    const annotations = this.#annotations.list();
    if (annotations.length > 0) out += this.#chunk(stringifyExactly({ annotations }));
    const stop = this.#stop ?? { reason: "end" };
    const { explanation } = stop;
    if (stop.reason === "refusal" && !this.#sawRefusal && explanation !== undefined) {
      out += this.#chunk(stringifyExactly({ refusal: explanation }));
    }
    const reason = writeFinishReason(stop, {
      legacyFunctions: this.#legacy,
      refusalText: this.#sawRefusal,
    });
    const tail = `]${this.#noUsage()}${this.#tierMember()}}\n\n`;
    return `${out}${this.#head}{},"logprobs":null,"finish_reason":"${reason}"}${tail}`;
  }

  #tierMember(): string {
    const word = writeTier(this.#tier).service_tier;
    return word === undefined ? "" : `,"service_tier":${stringifyExactly(word)}`;
  }

  #end(): string {
    // The first of several choices may never have begun.
    const isMissing = this.#stop === undefined && this.#others.size > 0;
    let out = isMissing ? "" : this.#endChoice();
    if (this.#moderation !== undefined) {
      const moderation = stringifyExactly(chatModeration(this.#moderation));
      out +=
        `data: ${this.#common()},"choices":[],"moderation":${moderation}${this.#noUsage()}}\n\n`;
    }
    if (this.#context.clientWantsUsage && this.#usage !== undefined) {
      const usage = stringifyExactly(writeChatUsage(this.#usage));
      out += `data: ${this.#common()},"choices":[],"usage":${usage}${this.#tierMember()}}\n\n`;
    }
    return `${out}data: [DONE]\n\n`;
  }
}
