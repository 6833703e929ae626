/**
 * Turns the call of the answer tool into the structured answer. Its arguments become the whole text, because the client
 * parses the text of the answer as one JSON value.
 *
 * Drops text directly before the call or anywhere after it, and further calls of the answer tool. Text before a call of
 * the client's own tools, or before no call, stays.
 */
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { bufferedBlockBytes } from "../contract/limits.ts";
import { citationChars } from "../content/citations.ts";
import type {
  AnswerBlock,
  Choice,
  Conversation,
  OutputFormat,
  StreamEvent,
  ToolChoice,
  ToolInput,
} from "../conversation/mod.ts";
import type { EventSink } from "../stream/dialect.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { SchemaFormat } from "../fields/output_format.ts";
import { hasObjectRoot } from "./schemas/json_schema.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { Warnings } from "../contract/warnings.ts";

// Asks for the structured answer through a tool, for models without another way; `answer_tool.ts` reads the answer.

/** Name of the tool whose arguments are the structured answer. */
export const answerTool = "structured_answer";

/** Whether the arguments of a tool can be the answer: they are an object. */
export function isToolSchema(output: OutputFormat): output is SchemaFormat {
  return output.type === "json_schema" && hasObjectRoot(output.schema);
}

/**
 * Adds a tool whose arguments are the answer. The model must call it, or any tool if the client has tools of its own;
 * only once, if the route can limit it.
 */
export function withAnswerTool(
  conversation: Conversation,
  schema: JsonObject,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): Conversation {
  const path = conversation.output?.path ?? "response_format";
  const toolChoice = answerChoice(conversation, path);
  // The client let the model choose, which it no longer can.
  if (toolChoice.type === "required" && conversation.toolChoice?.type === "auto") {
    warnings.add(conversation.toolChoice.path);
  }
  const onlyAnswer = toolChoice.type === "tool" && toolChoice.name === answerTool;
  const tool = {
    type: "function" as const,
    path,
    name: answerTool,
    description: "Give your final answer by calling this tool.",
    schema: { type: "object", ...schema },
  };
  return {
    ...conversation,
    tools: [...conversation.tools, tool],
    toolChoice,
    ...(onlyAnswer && capabilities.parallel_flag ? { parallelTools: false } : {}),
  };
}

function answerChoice({ tools, toolChoice }: Conversation, path: string): ToolChoice {
  if (toolChoice?.type === "tool") return toolChoice;
  // Hosted tools are dropped on the way to another vendor.
  const hasOwn = tools.some((tool) => tool.type !== "hosted") && toolChoice?.type !== "none";
  return hasOwn ? { type: "required", path } : { type: "tool", name: answerTool, path };
}

/** Replaces the text of a whole answer by the arguments of the call of `tool`. */
export function takeToolAnswer(answer: Choice, tool: string): Choice {
  const isAnswer = (block: AnswerBlock) => block.type === "tool_call" && block.name === tool;
  const at = answer.blocks.findIndex(isAnswer);
  if (at === -1) return answer;
  const lastCall = answer.blocks.findLastIndex((block, i) => block.type === "tool_call" && i < at);
  const blocks = answer.blocks.flatMap((block, i): AnswerBlock[] => {
    if (i === at && block.type === "tool_call") {
      return [{ type: "text", path: block.path, text: answerText(block.input) }];
    }
    const isBeside = block.type === "text" && block.refusal !== true && i > lastCall;
    return isBeside || isAnswer(block) ? [] : [block];
  });
  return { ...answer, blocks };
}

/** Returns the answer's text; a call without arguments is an empty object. */
function answerText(input: ToolInput): string {
  if (input.kind === "object") return stringifyExactly(input.value);
  return input.text === "" ? noArguments : input.text;
}

const noArguments = "{}";

/**
 * Replaces the text in the events of one stream on their way to `emit`. Holds text back until the next call or the end
 * shows whether it stays.
 *
 * @throws {GatewayError} from the sink; `upstream_unreachable` if the text exceeds {@linkcode bufferedBlockBytes}
 */
export function toolAnswerSink(tool: string, emit: EventSink): EventSink {
  const stream = new ToolAnswerStream(tool, emit);
  return (event) => stream.take(event);
}

class ToolAnswerStream {
  readonly #tool: string;
  readonly #emit: EventSink;
  /** Text that the answer may replace, in blocks that may have ended. */
  #held: StreamEvent[] = [];
  readonly #bufferedBlocks = new Set<number>();
  #bufferedChars = 0;
  #answered = false;
  #called = false;
  /** The open block of the answer, and whether any of its arguments came. */
  #answer: { readonly block: number; hasText: boolean } | undefined;
  /** Open blocks of further answers. */
  readonly #further = new Set<number>();

  constructor(tool: string, emit: EventSink) {
    this.#tool = tool;
    this.#emit = emit;
  }

  take(event: StreamEvent): void {
    switch (event.type) {
      case "text":
      case "citation":
        if (!this.#answered) this.#hold(event);
        return;
      case "call":
        return this.#call(event);
      case "arguments":
        return this.#arguments(event);
      case "block_end":
        return this.#blockEnd(event);
      case "stop":
        this.#release();
        return this.#emit(this.#stop(event));
      case "end":
        this.#release();
        return this.#emit(event);
      default:
        return this.#emit(event);
    }
  }

  #hold(event: StreamEvent & { readonly type: "text" | "citation" }): void {
    this.#held.push(event);
    this.#bufferedBlocks.add(event.block);
    this.#bufferedChars += event.type === "text"
      ? event.json.length + (event.logprobs?.length ?? 0)
      : citationChars(event.citation);
    if (this.#bufferedChars > bufferedBlockBytes) {
      throw new GatewayError(
        "upstream_unreachable",
        "Buffered text before the structured answer exceeds 8 MiB",
      );
    }
  }

  #release(): void {
    for (const event of this.#held) this.#emit(event);
    this.#forget();
  }

  #forget(): void {
    this.#held = [];
    this.#bufferedBlocks.clear();
    this.#bufferedChars = 0;
  }

  #call(event: StreamEvent & { readonly type: "call" }): void {
    const { block } = event;
    if (event.name !== this.#tool) {
      this.#called = true;
      this.#release();
      return this.#emit(event);
    }
    this.#forget();
    if (this.#answered) {
      this.#further.add(block);
    } else {
      this.#answered = true;
      this.#answer = { block, hasText: false };
    }
  }

  #arguments(event: StreamEvent & { readonly type: "arguments" }): void {
    const { block, json } = event;
    if (this.#further.has(block)) return;
    if (this.#answer?.block !== block) return this.#emit(event);
    this.#answer.hasText = true;
    this.#emit({ type: "text", block, json });
  }

  #blockEnd(event: StreamEvent & { readonly type: "block_end" }): void {
    const { block } = event;
    if (this.#further.delete(block)) return;
    if (this.#bufferedBlocks.has(block)) {
      this.#held.push(event);
      return;
    }
    if (this.#answer?.block === block) {
      if (!this.#answer.hasText) {
        this.#emit({ type: "text", block, json: stringifyExactly(noArguments) });
      }
      this.#answer = undefined;
    }
    this.#emit(event);
  }

  /** Returns the stop of the answer: its plain end, unless the client's own tools were called too. */
  #stop(event: StreamEvent & { readonly type: "stop" }): StreamEvent {
    const isOver = event.stop.reason === "tool_calls" && this.#answered && !this.#called;
    return isOver ? { ...event, stop: { ...event.stop, reason: "end" } } : event;
  }
}
