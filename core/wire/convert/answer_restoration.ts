/**
 * Reverses in the answer what {@linkcode prepareTools} and the encoders changed in the tools of the request: restores
 * the client's names and free-text input, unwraps schemas, and turns the call of the answer tool into the answer.
 */
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { bufferedBlockBytes } from "../contract/limits.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { takeToolAnswer, toolAnswerSink } from "../tools/answer_tool.ts";
import type { ConversionMemory } from "../contract/contract.ts";
import type {
  AnswerBlock,
  Choice,
  StreamEvent,
  ToolCallBlock,
  ToolInput,
} from "../conversation/mod.ts";
import type { EventSink } from "../stream/dialect.ts";

/** Restores a whole answer, or one of its choices. */
export function restoreAnswer(given: Choice, memory: ConversionMemory): Choice {
  const { answerTool } = memory;
  const answer = answerTool === undefined ? given : takeToolAnswer(given, answerTool);
  const blocks = answer.blocks.map((block) =>
    block.type === "tool_call" ? restoreCall(block, memory) : block
  );
  const called = blocks.some((block) => block.type === "tool_call");
  const stop = answer.stop.reason === "tool_calls" && !called
    ? { ...answer.stop, reason: "end" as const }
    : answer.stop;
  return { ...answer, blocks, stop };
}

function restoreCall(call: ToolCallBlock, memory: ConversionMemory): AnswerBlock {
  const name = memory.toolNames?.get(call.name) ?? call.name;
  const renamed = name === call.name ? call : { ...call, name };
  if (memory.customTools?.has(name)) {
    return { ...renamed, input: { kind: "text", text: unwrapText(inputText(call.input)) } };
  }
  if (memory.wrappedTools?.has(name)) {
    return { ...renamed, input: { kind: "json_text", text: unwrapJson(inputText(call.input)) } };
  }
  return renamed;
}

function inputText(input: ToolInput): string {
  return input.kind === "object" ? stringifyExactly(input.value) : input.text;
}

/** Returns the property `input` of `text`, or the text itself if the model did not follow the wrapper. */
function inputOf(text: string): Json {
  const value = tryParseExactly(text);
  return isJsonObject(value) && value["input"] !== undefined ? value["input"] : text;
}

function unwrapText(text: string): string {
  const value = inputOf(text);
  return typeof value === "string" ? value : stringifyExactly(value);
}

function unwrapJson(text: string): string {
  const value = inputOf(text);
  return value === text ? text : stringifyExactly(value);
}

/** Whether the events of a stream need restoring; most streams do not. */
export function needsRestoring(memory: ConversionMemory): boolean {
  return memory.toolNames !== undefined || memory.customTools !== undefined ||
    memory.wrappedTools !== undefined || memory.answerTool !== undefined;
}

/**
 * Restores the events of one stream on their way to `emit`. Buffers the arguments of wrapped tools until their call
 * ends (at most {@linkcode bufferedBlockBytes}), and text that a structured answer may replace; everything else passes
 * at once.
 *
 * @throws {GatewayError} from the sink; `upstream_unreachable` if the arguments exceed the bound
 */
export function restoringSink(memory: ConversionMemory, emit: EventSink): EventSink {
  const restoration = new StreamRestoration(memory, emit);
  const restored: EventSink = (event) => restoration.take(event);
  return memory.answerTool === undefined ? restored : toolAnswerSink(memory.answerTool, restored);
}

class StreamRestoration {
  readonly #memory: ConversionMemory;
  readonly #emit: EventSink;
  /** Wrapped calls: the pieces of their arguments so far, as joined literals without quotes. */
  readonly #held = new Map<number, { custom: boolean; json: string }>();
  /** Characters of all wrapped calls together: a provider may leave any number of calls open. */
  #bufferedChars = 0;

  constructor(memory: ConversionMemory, emit: EventSink) {
    this.#memory = memory;
    this.#emit = emit;
  }

  take(event: StreamEvent): void {
    switch (event.type) {
      case "call":
        return this.#call(event);
      case "arguments":
        return this.#arguments(event);
      case "block_end":
        this.#release(event.block);
        return this.#emit(event);
      default:
        return this.#emit(event);
    }
  }

  #call(event: StreamEvent & { readonly type: "call" }): void {
    const name = this.#memory.toolNames?.get(event.name) ?? event.name;
    const custom = this.#memory.customTools?.has(name) ?? false;
    if (custom || this.#memory.wrappedTools?.has(name)) {
      this.#held.set(event.block, { custom, json: "" });
    }
    this.#emit({ ...event, name, ...(custom ? { custom } : {}) });
  }

  #arguments(event: StreamEvent & { readonly type: "arguments" }): void {
    const held = this.#held.get(event.block);
    if (held === undefined) return this.#emit(event);
    const piece = event.json.slice(1, -1);
    this.#bufferedChars += piece.length;
    if (this.#bufferedChars > bufferedBlockBytes) {
      throw new GatewayError("upstream_unreachable", "The model's tool call is too long");
    }
    held.json += piece;
  }

  #release(block: number): void {
    const held = this.#held.get(block);
    if (held === undefined) return;
    this.#held.delete(block);
    this.#bufferedChars -= held.json.length;
    const text: string = JSON.parse(`"${held.json}"`);
    const restored = held.custom ? unwrapText(text) : unwrapJson(text);
    this.#emit({ type: "arguments", block, json: stringifyExactly(restored) });
  }
}
