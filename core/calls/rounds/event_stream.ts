/**
 * The typed form of a stream as bytes: what joins the streams of several requests to one answer writes it, and a pipe
 * reads it for the client. It never leaves the process.
 */
import type { ToolUses } from "../../billing/usage/hosted_tools.ts";
import { literalBytes } from "../../lib/json/json_literal.ts";
import { sseEventText } from "../../lib/sse/writer.ts";
import type {
  ConversionMemory,
  PipeContext,
  StreamPipe,
  Style,
} from "../../wire/contract/contract.ts";
import type { StreamEvent } from "../../wire/conversation/mod.ts";
import { type CollectedAnswer, collectFrom } from "../../wire/convert/collected_answer.ts";
import { pipeFrom } from "../../wire/convert/converting_pipe.ts";
import type { EventSink, StreamDecoder } from "../../wire/stream/dialect.ts";
import { dialectOf } from "../../wire/convert/dialects.ts";

/**
 * An event of a stream of one choice, or something that its client does not see. That is a piece of the arguments of a
 * call that the gateway runs, which is output of the model; that such calls begin; how often providers ran their tools so
 * far. Errors are thrown, not written.
 */
export type WrittenEvent =
  | Exclude<StreamEvent, { readonly type: "error" | "choice" }>
  | { readonly type: "run_arguments"; readonly json: string }
  | { readonly type: "run" }
  | { readonly type: "tool_uses"; readonly uses: ToolUses };

/**
 * Writes an event as a frame.
 *
 * @example
 * ```ts
 * import { createEventPipe, eventFrame } from "./event_stream.ts";
 * const context = { clientModel: "m", requestId: "req_1", clientWantsUsage: false, nowSeconds: 0 };
 * const pipe = createEventPipe("chat", context, {});
 * const frame = eventFrame({ type: "text", block: 0, json: '"Hi"' });
 * const out = new TextDecoder().decode(pipe.push(new TextEncoder().encode(frame)));
 * if (!out.includes('"delta":{"content":"Hi"}')) throw new Error(out);
 * ```
 */
export function eventFrame(event: WrittenEvent): string {
  return sseEventText(JSON.stringify(event));
}

/** Takes output that the client does not see. */
type Measure = (bytes: number, runs: boolean) => void;

class EventDecoder implements StreamDecoder {
  toolUses: ToolUses | undefined;
  readonly #measure: Measure;

  constructor(measure: Measure = () => {}) {
    this.#measure = measure;
  }

  frame(_event: string | undefined, data: string, emit: EventSink): void {
    const event: WrittenEvent = JSON.parse(data);
    if (event.type === "tool_uses") this.toolUses = event.uses;
    else if (event.type === "run") this.#measure(0, true);
    else if (event.type === "run_arguments") this.#measure(literalBytes(event.json), false);
    else emit(event);
  }

  /** The end is an event of its own: without it the stream was cut. */
  bodyEnd(): void {}
}

/** Creates a pipe from written events to a client. */
export function createEventPipe(
  clientStyle: Style,
  context: PipeContext,
  memory: ConversionMemory,
): StreamPipe {
  const encoder = dialectOf(clientStyle).createStreamEncoder(context, memory);
  const decoder = new EventDecoder((bytes, runs) => {
    const { reading } = pipe;
    reading.outputBytes += bytes;
    reading.answerBytes += bytes;
    // A call is run once, and a search is paid for: the call of the client stays on its route, however long they take.
    reading.sawOutput ||= runs;
  });
  const pipe = pipeFrom(decoder, encoder, { clientStyle, context, memory });
  return pipe;
}

/** Collects written events to a whole answer of the client's style. See `collectAnswer`. */
export function collectEvents(
  clientStyle: Style,
  bytes: Uint8Array,
  context: PipeContext,
  memory: ConversionMemory,
): CollectedAnswer {
  return collectFrom(new EventDecoder(), bytes, { clientStyle, context, memory });
}
