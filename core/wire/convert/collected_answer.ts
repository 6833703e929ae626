/** Collects a stream to a whole answer, for servers that answer a whole request with a stream. */
import { GatewayError } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { bufferedBlockBytes } from "../contract/limits.ts";
import type {
  AnswerReading,
  ConversionMemory,
  PipeContext,
  ProviderStyle,
  Style,
} from "../contract/contract.ts";
import type {
  Answer,
  AnswerBlock,
  AnswerText,
  Choice,
  Citation,
  HostedCallBlock,
  Moderation,
  PictureBlock,
  ReasoningBlock,
  SoundBlock,
  Stop,
  StreamEvent,
} from "../conversation/mod.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type { Writable } from "../../lib/base/assert.ts";
import { type PipedCall, pipeFrom } from "./converting_pipe.ts";
import { dialectOf, providerDialectOf } from "./dialects.ts";
import type { StreamDecoder, StreamEncoder } from "../stream/dialect.ts";

/** A stream as a whole answer in the client's style, with what was read of it. */
export interface CollectedAnswer {
  readonly body: JsonObject;
  readonly reading: AnswerReading;
}

/**
 * Collects a whole stream of a provider's style to an answer in the client's style, which may be the same.
 *
 * @throws {GatewayError} the error in the stream; `upstream_unreachable` if the stream is not whole
 *
 * @example
 * ```ts
 * import { collectAnswer } from "./collected_answer.ts";
 * const context = { clientModel: "m", requestId: "req_1", clientWantsUsage: false, nowSeconds: 0 };
 * const stream = 'data: {"choices":[{"delta":{"content":"H"}}]}\n\n' +
 *   'data: {"choices":[{"delta":{"content":"i"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
 * const { body } = collectAnswer("chat", "chat", new TextEncoder().encode(stream), context, {});
 * if (!JSON.stringify(body).includes('"content":"Hi"')) throw new Error(JSON.stringify(body));
 * ```
 */
export function collectAnswer(
  upstreamStyle: ProviderStyle,
  clientStyle: Style,
  bytes: Uint8Array,
  context: PipeContext,
  memory: ConversionMemory,
  onLost?: (what: string) => void,
): CollectedAnswer {
  const decoder = providerDialectOf(upstreamStyle).createStreamDecoder(memory);
  return collectFrom(decoder, bytes, { clientStyle, context, memory, onLost });
}

/** Collects what a decoder reads. See {@linkcode collectAnswer}. */
export function collectFrom(
  decoder: StreamDecoder,
  bytes: Uint8Array,
  call: PipedCall,
): CollectedAnswer {
  const { clientStyle, context, memory } = call;
  const collector = new AnswerCollector();
  const pipe = pipeFrom(decoder, collector, call);
  pipe.push(bytes);
  pipe.end();
  const { reading } = pipe;
  const { usage, usageRejected, toolUses, serviceTier, outputBytes, stopReason, sawOutput } =
    reading;
  if (reading.state !== "completed") {
    throw collector.error ??
      new GatewayError("upstream_unreachable", "The provider's answer broke off");
  }
  return {
    body: dialectOf(clientStyle).encodeAnswer(collector.answer(), context, memory),
    reading: {
      usage,
      usageRejected,
      toolUses,
      serviceTier,
      empty: !sawOutput,
      outputBytes,
      stopReason,
      error: undefined,
    },
  };
}

type CollectedBlock =
  | Writable<AnswerText>
  | Writable<ReasoningBlock>
  | HostedCallBlock
  | PictureBlock
  | SoundBlock
  | OpenCall;

/** A call whose arguments are still coming. */
interface OpenCall {
  readonly type: "open_call";
  readonly id: string;
  readonly itemId?: string;
  readonly name: string;
  readonly custom: boolean;
  text: string;
}

/** Takes the events of a stream as their encoder, and writes nothing. */
export class AnswerCollector implements StreamEncoder {
  /** Blocks in the order of their first event. */
  readonly #blocks = new Map<number, CollectedBlock>();
  /** Collectors of further choices, by their index. */
  readonly #others = new Map<number, AnswerCollector>();
  #id: string | undefined;
  #stop: Stop | undefined;
  #usage: TokenUsage | undefined;
  #serviceTier: string | undefined;
  #moderation: Moderation | undefined;
  /** Characters of all choices together. */
  readonly #size: { chars: number };
  error: GatewayError | undefined;

  constructor(size = { chars: 0 }) {
    this.#size = size;
  }

  encode(event: StreamEvent): string {
    this.#take(event);
    return "";
  }

  answer(): Answer {
    const found = [...this.#others].sort(([a], [b]) => a - b)
      .map(([index, collector]) => ({ index, ...collector.#choice() }));
    const hasFirst = this.#blocks.size > 0 || this.#stop !== undefined || found.length === 0;
    const [first = this.#choice(), ...others] = hasFirst ? [this.#choice(), ...found] : found;
    return {
      ...first,
      ...(others.length === 0 ? {} : { others }),
      ...defined({
        id: this.#id,
        usage: this.#usage,
        serviceTier: this.#serviceTier,
        moderation: this.#moderation,
      }),
    };
  }

  #choice(): Choice {
    const blocks = [...this.#blocks.values()].map((block) =>
      block.type === "open_call" ? callOf(block) : block
    );
    return { blocks, stop: this.#stop ?? { reason: "end" } };
  }

  #collectorOf(index: number): AnswerCollector {
    const known = this.#others.get(index) ?? new AnswerCollector(this.#size);
    this.#others.set(index, known);
    return known;
  }

  #take(event: StreamEvent): void {
    switch (event.type) {
      case "start":
        this.#id = event.id;
        return;
      case "text":
        return this.#text(event.block, event.json, event.logprobs);
      case "refusal":
        this.#textBlock(event.block).refusal = true;
        return this.#text(event.block, event.json);
      case "reasoning":
        this.#reasoningBlock(event.block).text += this.#piece(event.json);
        return;
      case "reasoning_proof":
        this.#reasoningBlock(event.block).proof = event.proof;
        return;
      case "call": {
        const { id, name, itemId, custom = false } = event;
        this.#blocks.set(event.block, {
          type: "open_call",
          id,
          name,
          custom,
          text: "",
          ...defined({ itemId }),
        });
        return;
      }
      case "arguments": {
        const call = this.#blocks.get(event.block);
        if (call?.type === "open_call") call.text += this.#piece(event.json);
        return;
      }
      case "choice":
        return this.#collectorOf(event.choice).#take(event.event);
      case "citation":
        return this.#cite(event.block, event.citation);
      case "hosted_call": {
        const { block, style, id, call } = event;
        this.#blocks.set(block, { type: "hosted_call", path: "", style, id, call });
        return;
      }
      case "picture":
        this.#blocks.set(event.block, { type: "picture", path: "", url: event.url });
        return;
      case "sound": {
        const { block, mediaType, data } = event;
        this.#blocks.set(block, { type: "sound", path: "", mediaType, data });
        return;
      }
      case "usage":
        this.#usage = event.usage;
        return;
      case "stop":
        this.#stop = event.stop;
        this.#serviceTier = event.serviceTier ?? this.#serviceTier;
        this.#moderation = event.moderation ?? this.#moderation;
        return;
      case "error":
        this.error = event.error;
        return;
      // Blocks that only the provider's style has ran inside its call, and its result is in the text.
      case "foreign":
      case "block_end":
      case "usage_rejected":
      case "ping":
      case "end":
        return;
      default:
        event satisfies never;
    }
  }

  #piece(json: string): string {
    this.#size.chars += json.length;
    if (this.#size.chars > bufferedBlockBytes) {
      throw new GatewayError(
        "upstream_unreachable",
        "The provider's stream is too long to collect",
      );
    }
    const text: string = JSON.parse(json);
    return text;
  }

  #text(block: number, json: string, logprobs?: string): void {
    const text = this.#textBlock(block);
    text.text += this.#piece(json);
    if (logprobs === undefined) return;
    const entries: Json = JSON.parse(logprobs);
    const added = Array.isArray(entries) ? entries.filter(isJsonObject) : [];
    text.logprobs = [...text.logprobs ?? [], ...added];
  }

  #cite(block: number, citation: Citation): void {
    const text = this.#textBlock(block);
    text.citations = [...text.citations ?? [], citation];
  }

  #textBlock(block: number): Writable<AnswerText> {
    const found = this.#blocks.get(block);
    if (found?.type === "text") return found;
    const made: Writable<AnswerText> = { type: "text", path: "", text: "" };
    this.#blocks.set(block, made);
    return made;
  }

  #reasoningBlock(block: number): Writable<ReasoningBlock> {
    const found = this.#blocks.get(block);
    if (found?.type === "reasoning") return found;
    const made: Writable<ReasoningBlock> = { type: "reasoning", path: "", text: "" };
    this.#blocks.set(block, made);
    return made;
  }
}

function callOf({ id, itemId, name, custom, text }: OpenCall): AnswerBlock {
  return {
    type: "tool_call",
    path: "",
    id,
    name,
    input: { kind: custom ? "text" : "json_text", text },
    ...defined({ itemId }),
  };
}
