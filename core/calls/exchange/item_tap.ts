/** Reads the whole output items out of a Responses answer on its way to the client, whatever vendor made it. */
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { maxSseEventBytes } from "../../wire/contract/limits.ts";
import type { TokenUsage } from "../../billing/tokens/token_usage.ts";
import type { SseFrame } from "../../lib/sse/frame.ts";
import { SseFrameTooLargeError, SseSplitter } from "../../lib/sse/splitter.ts";

/** Called with each complete item of a Responses stream. */
export type ItemVisitor = (item: JsonObject) => void;

/** Visits the items of a whole answer. */
export function visitItems(bytes: Uint8Array, visit: ItemVisitor): void {
  const answer = parsed(new TextDecoder().decode(bytes));
  const output = isJsonObject(answer) ? answer["output"] : undefined;
  if (!Array.isArray(output)) return;
  for (const item of output) if (isJsonObject(item)) visit(item);
}

/** A pipe that visits each item of the stream when it is whole. The bytes pass as they are. */
export class ItemTap implements StreamPipe {
  readonly #pipe: StreamPipe;
  readonly #visit: ItemVisitor;
  /** Removed after an event that is too large to parse; the bytes pass all the same. */
  #splitter: SseSplitter | undefined = new SseSplitter(maxSseEventBytes);

  constructor(pipe: StreamPipe, visit: ItemVisitor) {
    this.#pipe = pipe;
    this.#visit = visit;
  }

  get reading(): StreamReading {
    return this.#pipe.reading;
  }

  push(chunk: Uint8Array): Uint8Array {
    return this.#seen(this.#pipe.push(chunk));
  }

  end(): Uint8Array {
    return this.#seen(this.#pipe.end());
  }

  fail(error: GatewayError): Uint8Array {
    return this.#pipe.fail(error);
  }

  stopForLength(usage: TokenUsage): Uint8Array | undefined {
    const tail = this.#pipe.stopForLength(usage);
    return tail && this.#seen(tail);
  }

  #seen(bytes: Uint8Array): Uint8Array {
    try {
      this.#splitter?.push(bytes, (frame) => this.#look(frame));
    } catch (error) {
      if (!(error instanceof SseFrameTooLargeError)) throw error;
      this.#splitter = undefined;
    }
    return bytes;
  }

  #look(frame: SseFrame): boolean {
    if (frame.event !== "response.output_item.done") return true;
    const event = parsed(frame.data);
    const item = isJsonObject(event) ? event["item"] : undefined;
    if (isJsonObject(item)) this.#visit(item);
    return true;
  }
}

/** Parses an event. Any vendor's events pass here: one that is not JSON has no item. */
function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
