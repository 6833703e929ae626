/** Reads the whole output items out of a Responses answer on its way to the client, whatever vendor made it. */
import type {
  RouteCapabilities,
  StreamPipe,
  StreamReading,
  Style,
} from "../../wire/contract/contract.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { maxSseEventBytes } from "../../wire/contract/limits.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { type SseFrame, SseFrameTooLargeError, SseSplitter } from "../../lib/sse/frame.ts";
import { wholeOf } from "../../lib/json/outline.ts";

// Keeps providers from storing prompts and answers in the operator's account, which all customers share. Responses
// vendors store unless the request says no, Chat vendors only if the request says so.

const encryptedReasoning = "reasoning.encrypted_content";

/** Changes to a native body, and the changed fields that the client had set. */
export interface UnstoredBody {
  readonly changes: JsonObject;
  readonly dropped: readonly string[];
}

/** No changes. */
export const unchangedStore: UnstoredBody = { changes: {}, dropped: [] };

/**
 * Computes the changes to a native request that keep its answer from being stored.
 *
 * A client that relied on the store gets encrypted reasoning, which it can send back. It is requested only from
 * models that reason, since vendors refuse it for others.
 *
 * @example
 * ```ts
 * import { withoutStore } from "./item_tap.ts";
 * const { changes, dropped } = withoutStore("responses", { model: "m", input: "Hi", store: true }, {});
 * if (changes["store"] !== false || dropped.join() !== "store") throw new Error("stored");
 * ```
 */
export function withoutStore(
  style: Style,
  body: OutlineObject,
  capabilities: RouteCapabilities,
): UnstoredBody {
  const { store } = body;
  const dropped = store === true ? ["store"] : [];
  if (style === "responses" && store !== false) {
    const changes: JsonObject = { store: false };
    const reasons = isJsonObject(body["reasoning"]) || (capabilities.efforts ?? []).length > 0;
    const include = body["include"] ?? [];
    if (reasons && Array.isArray(include) && !include.includes(encryptedReasoning)) {
      changes["include"] = [...include.map(wholeOf), encryptedReasoning];
    }
    return { changes, dropped };
  }
  if (style !== "chat" || store !== true) return unchangedStore;
  // The vendor accepts metadata for stored answers only.
  const { metadata } = body;
  return metadata === undefined || metadata === null
    ? { changes: { store: false }, dropped }
    : { changes: { store: false, metadata: null }, dropped: [...dropped, "metadata"] };
}

/** Called with each complete item of a Responses stream. */
export type ItemVisitor = (item: JsonObject) => void;

/** Visits the items of a whole answer. */
export function visitItems(bytes: Uint8Array, visit: ItemVisitor): void {
  const answer = parsed(new TextDecoder().decode(bytes));
  const output = isJsonObject(answer) ? answer["output"] : undefined;
  if (!Array.isArray(output)) return;
  for (const item of output) if (isJsonObject(item)) visit(item);
}

/** The events with which a response ends that can be continued. */
const lastEvents: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"]);

/** A pipe that visits each item of the stream when it is whole, and keeps its last event. The bytes pass as they are. */
export class ItemTap implements StreamPipe {
  readonly #pipe: StreamPipe;
  readonly #visit: ItemVisitor;
  /** Removed after an event that is too large to parse; the bytes pass all the same. */
  #splitter: SseSplitter | undefined = new SseSplitter(maxSseEventBytes);
  #lastEvent: Uint8Array | undefined;

  constructor(pipe: StreamPipe, visit: ItemVisitor) {
    this.#pipe = pipe;
    this.#visit = visit;
  }

  get reading(): StreamReading {
    return this.#pipe.reading;
  }

  /** The data of the event with which the response ended, if it ended whole. */
  get lastEvent(): Uint8Array | undefined {
    return this.#lastEvent;
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
    const { event: name, payload, payloadStart, payloadEnd } = frame;
    if (lastEvents.has(name)) this.#lastEvent = payload.slice(payloadStart, payloadEnd);
    if (name !== "response.output_item.done") return true;
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
