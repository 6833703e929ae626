/**
 * A Responses client that forgives nothing: the shape of an answer, and the order of a stream
 * (docs/internals/WIRE_FORMATS.md#responses).
 * Every delta must add up to its `done`, every `done` to the output of the last event.
 */
import { z } from "zod";
import { accept, parseData, readEvents, StrictClientError } from "./strict_client.ts";
import { ItemReader, same } from "./strict_client_responses_item.ts";
import {
  count,
  type Event,
  type EventOf,
  events,
  type ItemEvent,
  parse,
  response,
  type StrictItem,
  type StrictResponse,
} from "./strict_client_responses_shapes.ts";

export type { StrictItem, StrictResponse } from "./strict_client_responses_shapes.ts";

function checkWhole(answer: StrictResponse): StrictResponse {
  if (answer.usage !== null) {
    accept(
      answer.usage.total_tokens === answer.usage.input_tokens + answer.usage.output_tokens,
      "total_tokens is not the sum",
    );
  }
  const whole = answer.status === "completed";
  accept(!whole || answer.error === null, "a completed response with an error");
  accept(
    (answer.status === "incomplete") === (answer.incomplete_details !== null),
    "incomplete_details do not fit the status",
  );
  for (const one of answer.output) {
    if (one.type !== "function_call" || !whole) continue;
    try {
      JSON.parse(one.arguments);
    } catch {
      throw new StrictClientError(`the arguments are not JSON: ${one.arguments}`);
    }
  }
  const ids = answer.output.map((one) => one.id);
  accept(new Set(ids).size === ids.length, "two items with one id");
  return answer;
}

/**
 * Reads a whole answer.
 *
 * @throws {StrictClientError} when it is not what the client accepts
 */
export function readResponsesAnswer(body: unknown): StrictResponse {
  const answer = checkWhole(parse(response, body));
  accept(
    answer.status === "completed" || answer.status === "incomplete",
    `an answer with status ${answer.status}`,
  );
  return answer;
}

/** Made once: a schema for each event took a third of the time of reading a stream. */
const numbered = z.looseObject({ sequence_number: count });

/** How a stream ended for the client. */
export type ResponsesOutcome =
  | { readonly kind: "response"; readonly response: StrictResponse }
  | { readonly kind: "error"; readonly code: string; readonly text: string };

/**
 * Reads a whole stream.
 *
 * @throws {StrictClientError} when an event is malformed, out of order, missing, or does not add up
 */
export function readResponsesStream(bytes: Uint8Array): ResponsesOutcome {
  const reader = new StreamReader();
  for (const [at, event] of readEvents(bytes).entries()) {
    const value = parseData(event);
    const data = parse(events, value);
    accept(event.name === data.type, `event: ${event.name} over data of type ${data.type}`);
    const { sequence_number } = parse(numbered, value);
    accept(sequence_number === at, `sequence_number ${sequence_number} at place ${at}`);
    reader.take({ ...data, sequence_number });
  }
  return reader.outcome();
}

class StreamReader {
  #response: StrictResponse | undefined;
  #open: { readonly reader: ItemReader; readonly index: number } | undefined;
  readonly #output: StrictItem[] = [];
  #error: { code: string; text: string } | undefined;
  #done: ResponsesOutcome | undefined;

  take(event: Event): void {
    accept(this.#done === undefined, `${event.type} behind the end`);
    if (event.type === "error") {
      accept(this.#error === undefined, "a second error");
      const text = event.error?.message ?? event.message;
      accept(text !== undefined, "an error without message");
      this.#error = { code: event.code ?? event.error?.type ?? "", text };
      return;
    }
    if (event.type === "response.created") {
      accept(this.#response === undefined, "a second response.created");
      checkEmpty(event.response);
      this.#response = event.response;
      return;
    }
    accept(this.#response !== undefined, `${event.type} before response.created`);
    this.#takeInside(event, this.#response);
  }

  outcome(): ResponsesOutcome {
    if (this.#done === undefined && this.#error !== undefined) {
      return { kind: "error", ...this.#error };
    }
    accept(this.#done !== undefined, "the stream ends without its last event");
    return this.#done;
  }

  #takeInside(
    event: Exclude<Event, { type: "error" | "response.created" }>,
    begun: StrictResponse,
  ): void {
    switch (event.type) {
      case "response.in_progress":
        accept(this.#output.length === 0 && !this.#open, "response.in_progress is late");
        checkEmpty(event.response);
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        this.#end(event, begun);
        return;
      default:
        accept(this.#error === undefined, `${event.type} behind an error`);
        this.#takeItem(event);
    }
  }

  #end(
    event: EventOf<"response.completed" | "response.incomplete" | "response.failed">,
    begun: StrictResponse,
  ): void {
    const { response: last } = event;
    accept(`response.${last.status}` === event.type, `status ${last.status} in ${event.type}`);
    accept(last.id === begun.id && last.model === begun.model, "another response at the end");
    accept(last.created_at === begun.created_at, "another time at the end");
    if (last.status === "failed") {
      accept(last.error !== null, "response.failed without an error");
      this.#done = { kind: "error", code: last.error.code, text: last.error.message };
      return;
    }
    accept(this.#error === undefined, `${event.type} behind an error`);
    accept(this.#open === undefined, `${event.type} inside an item`);
    same(last.output, this.#output, "the output is not what the items were");
    this.#done = { kind: "response", response: readResponsesAnswer(last) };
  }

  #takeItem(event: ItemEvent): void {
    if (event.type === "response.output_item.added") {
      accept(this.#open === undefined, "an item opens inside another");
      accept(event.output_index === this.#output.length, "output_index out of order");
      this.#open = { reader: new ItemReader(event.item), index: event.output_index };
      return;
    }
    const open = this.#open;
    accept(open?.index === event.output_index, `${event.type} for an item that is not open`);
    if (event.type === "response.output_item.done") {
      open.reader.close(event.item);
      this.#output.push(event.item);
      this.#open = undefined;
      return;
    }
    accept(event.item_id === open.reader.id, `${event.type} with another item id`);
    open.reader.take(event);
  }
}

function checkEmpty(begun: StrictResponse): void {
  accept(begun.status === "in_progress" || begun.status === "queued", "begins as ended");
  accept(begun.output.length === 0 && begun.usage === null, "begins with output or usage");
}
