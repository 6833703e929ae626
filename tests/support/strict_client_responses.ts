/**
 * A Responses client that forgives nothing: the shape of an answer, and the order of a stream (wire notes section 3).
 * Every delta must add up to its `done`, every `done` to the output of the last event.
 */
import { deepStrictEqual } from "node:assert/strict";
import { z } from "zod";
import { accept, parseData, readEvents, StrictClientError } from "./strict_client.ts";

const count = z.int().min(0);

const usage = z.looseObject({
  input_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.looseObject({ reasoning_tokens: count }),
  total_tokens: count,
});

const outputText = z.looseObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.looseObject({ type: z.string() })),
});
const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const contentPart = z.discriminatedUnion("type", [
  outputText,
  refusalPart,
  z.looseObject({ type: z.literal("reasoning_text"), text: z.string() }),
]);
const summaryPart = z.strictObject({ type: z.literal("summary_text"), text: z.string() });

const status = z.enum(["in_progress", "completed", "incomplete"]);

function itemId(prefix: string) {
  return z.string().regex(new RegExp(`^${prefix}_[a-zA-Z0-9_-]+$`));
}

const item = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("message"),
    id: itemId("msg"),
    role: z.literal("assistant"),
    status,
    content: z.array(z.discriminatedUnion("type", [outputText, refusalPart])),
  }),
  z.looseObject({
    type: z.literal("reasoning"),
    id: itemId("rs"),
    summary: z.array(summaryPart),
    content: z.array(z.looseObject({ type: z.literal("reasoning_text"), text: z.string() }))
      .optional(),
    encrypted_content: z.string().nullable().optional(),
  }),
  z.looseObject({
    type: z.literal("function_call"),
    id: itemId("fc"),
    call_id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
    status,
  }),
  z.looseObject({
    type: z.literal("custom_tool_call"),
    id: itemId("ctc"),
    call_id: z.string().min(1),
    name: z.string().min(1),
    input: z.string(),
  }),
  z.looseObject({ type: z.literal("web_search_call"), id: itemId("ws"), status: z.string() }),
]);

export type StrictItem = z.infer<typeof item>;

const responseFields = {
  id: itemId("resp"),
  object: z.literal("response"),
  created_at: z.number().min(0),
  model: z.string().min(1),
  output: z.array(item),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.looseObject({ reason: z.enum(["max_output_tokens", "content_filter"]) })
    .nullable(),
  instructions: z.unknown(),
  metadata: z.record(z.string(), z.string()).nullable(),
  parallel_tool_calls: z.boolean(),
  temperature: z.number().nullable(),
  top_p: z.number().nullable(),
  tool_choice: z.unknown(),
  tools: z.array(z.looseObject({ type: z.string() })),
} as const;

const response = z.looseObject({
  ...responseFields,
  status: z.enum(["completed", "failed", "in_progress", "incomplete", "queued"]),
  usage: usage.nullable(),
});

export type StrictResponse = z.infer<typeof response>;

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw new StrictClientError(`${z.prettifyError(parsed.error)}\nin ${JSON.stringify(value)}`);
  }
  return parsed.data;
}

function same(actual: unknown, expected: unknown, complaint: string): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (error) {
    throw new StrictClientError(`${complaint}: ${error instanceof Error ? error.message : error}`);
  }
}

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

const place = { item_id: z.string().min(1), output_index: count } as const;
const partPlace = { ...place, content_index: count } as const;
const summaryPlace = { ...place, summary_index: count } as const;

const events = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("response.created"), response }),
  z.looseObject({ type: z.literal("response.in_progress"), response }),
  z.looseObject({ type: z.literal("response.completed"), response }),
  z.looseObject({ type: z.literal("response.incomplete"), response }),
  z.looseObject({ type: z.literal("response.failed"), response }),
  z.looseObject({ type: z.literal("response.output_item.added"), output_index: count, item }),
  z.looseObject({ type: z.literal("response.output_item.done"), output_index: count, item }),
  z.looseObject({
    type: z.literal("response.content_part.added"),
    ...partPlace,
    part: contentPart,
  }),
  z.looseObject({ type: z.literal("response.content_part.done"), ...partPlace, part: contentPart }),
  z.looseObject({
    type: z.enum(["response.output_text.delta", "response.refusal.delta"]),
    ...partPlace,
    delta: z.string(),
  }),
  z.looseObject({ type: z.literal("response.output_text.done"), ...partPlace, text: z.string() }),
  z.looseObject({ type: z.literal("response.refusal.done"), ...partPlace, refusal: z.string() }),
  z.looseObject({
    type: z.literal("response.output_text.annotation.added"),
    ...partPlace,
    annotation_index: count,
    annotation: z.looseObject({ type: z.string() }),
  }),
  z.looseObject({
    type: z.literal("response.reasoning_text.delta"),
    ...partPlace,
    delta: z.string(),
  }),
  z.looseObject({
    type: z.literal("response.reasoning_text.done"),
    ...partPlace,
    text: z.string(),
  }),
  z.looseObject({
    type: z.literal("response.reasoning_summary_part.added"),
    ...summaryPlace,
    part: summaryPart,
  }),
  z.looseObject({
    type: z.literal("response.reasoning_summary_text.delta"),
    ...summaryPlace,
    delta: z.string(),
  }),
  z.looseObject({
    type: z.literal("response.reasoning_summary_text.done"),
    ...summaryPlace,
    text: z.string(),
  }),
  z.looseObject({
    type: z.literal("response.reasoning_summary_part.done"),
    ...summaryPlace,
    part: summaryPart,
  }),
  z.looseObject({
    type: z.enum([
      "response.function_call_arguments.delta",
      "response.custom_tool_call_input.delta",
    ]),
    ...place,
    delta: z.string(),
  }),
  z.looseObject({
    type: z.literal("response.function_call_arguments.done"),
    ...place,
    arguments: z.string(),
  }),
  z.looseObject({
    type: z.literal("response.custom_tool_call_input.done"),
    ...place,
    input: z.string(),
  }),
  z.looseObject({
    type: z.literal("error"),
    error: z.looseObject({ message: z.string().min(1), type: z.string().min(1) }).optional(),
    message: z.string().optional(),
    code: z.string().nullable().optional(),
  }),
]);

type Event = z.infer<typeof events> & { readonly sequence_number: number };
type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;
type ItemEvent = Exclude<
  Event,
  {
    type: `response.${"created" | "in_progress" | "completed" | "incomplete" | "failed"}` | "error";
  }
>;

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
    const { sequence_number } = parse(z.looseObject({ sequence_number: count }), value);
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

type PartEvent = Exclude<ItemEvent, { type: `response.output_item.${string}` }>;

interface OpenPart {
  readonly kind: "output_text" | "refusal" | "reasoning_text" | "summary_text";
  readonly index: number;
  text: string;
  closedText: boolean;
  readonly annotations: unknown[];
}

/** One item from its `added` to its `done`. */
class ItemReader {
  readonly id: string;
  readonly #item: StrictItem;
  #part: OpenPart | undefined;
  readonly #parts: unknown[] = [];
  readonly #summary: unknown[] = [];
  #argumentText = "";
  #argumentsDone = false;

  constructor(begun: StrictItem) {
    this.id = begun.id;
    this.#item = begun;
    if (begun.type === "message") accept(begun.content.length === 0, "a message begins filled");
    if (begun.type === "reasoning") accept(begun.summary.length === 0, "a summary begins filled");
    if (begun.type === "function_call") accept(begun.arguments === "", "a call begins filled");
    if (begun.type === "custom_tool_call") accept(begun.input === "", "a call begins filled");
  }

  take(event: PartEvent): void {
    switch (event.type) {
      case "response.content_part.added":
        this.#openPart(event.part.type, event.content_index, this.#parts.length);
        accept(textOf(event.part) === "", "a part begins filled");
        return;
      case "response.reasoning_summary_part.added":
        this.#openPart("summary_text", event.summary_index, this.#summary.length);
        accept(event.part.text === "", "a part begins filled");
        return;
      case "response.output_text.delta":
        this.#add("output_text", event.content_index, event.delta);
        return;
      case "response.refusal.delta":
        this.#add("refusal", event.content_index, event.delta);
        return;
      case "response.reasoning_text.delta":
        this.#add("reasoning_text", event.content_index, event.delta);
        return;
      case "response.reasoning_summary_text.delta":
        this.#add("summary_text", event.summary_index, event.delta);
        return;
      case "response.output_text.done":
        this.#closeText("output_text", event.content_index, event.text);
        return;
      case "response.refusal.done":
        this.#closeText("refusal", event.content_index, event.refusal);
        return;
      case "response.reasoning_text.done":
        this.#closeText("reasoning_text", event.content_index, event.text);
        return;
      case "response.reasoning_summary_text.done":
        this.#closeText("summary_text", event.summary_index, event.text);
        return;
      case "response.output_text.annotation.added": {
        const open = this.#partAt("output_text", event.content_index);
        accept(event.annotation_index === open.annotations.length, "annotation out of order");
        open.annotations.push(event.annotation);
        return;
      }
      case "response.content_part.done":
        this.#parts.push(this.#closePart(event.content_index, event.part));
        return;
      case "response.reasoning_summary_part.done":
        this.#summary.push(this.#closePart(event.summary_index, event.part));
        return;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        accept(!this.#argumentsDone, "arguments behind their end");
        this.#argumentText += event.delta;
        return;
      case "response.function_call_arguments.done":
        this.#closeArguments("function_call", event.arguments);
        return;
      case "response.custom_tool_call_input.done":
        this.#closeArguments("custom_tool_call", event.input);
    }
  }

  close(done: StrictItem): void {
    accept(done.id === this.id && done.type === this.#item.type, "another item at the end");
    accept(this.#part === undefined, "an item ends inside a part");
    if (done.type === "message") same(done.content, this.#parts, "the parts do not add up");
    if (done.type === "reasoning") {
      same(done.summary, this.#summary, "the summary does not add up");
      same(done.content ?? [], this.#parts, "the reasoning does not add up");
    }
    if (done.type === "function_call") {
      accept(this.#argumentsDone, "a call without arguments.done");
      accept(done.arguments === this.#argumentText, "the arguments do not add up");
    }
    if (done.type === "custom_tool_call") {
      accept(this.#argumentsDone, "a call without input.done");
      accept(done.input === this.#argumentText, "the input does not add up");
    }
    if ("status" in done) accept(done.status !== "in_progress", "an item ends in progress");
  }

  #openPart(kind: OpenPart["kind"], index: number, next: number): void {
    accept(this.#part === undefined, "a part opens inside another");
    accept(index === next, "a part is out of order");
    this.#part = { kind, index, text: "", closedText: false, annotations: [] };
  }

  #partAt(kind: OpenPart["kind"], index: number): OpenPart {
    const open = this.#part;
    accept(open?.kind === kind && open.index === index, `no open ${kind} part ${index}`);
    return open;
  }

  #add(kind: OpenPart["kind"], index: number, delta: string): void {
    const open = this.#partAt(kind, index);
    accept(!open.closedText, "text behind its end");
    open.text += delta;
  }

  #closeText(kind: OpenPart["kind"], index: number, text: string): void {
    const open = this.#partAt(kind, index);
    accept(!open.closedText, "a text ends twice");
    accept(open.text === text, "the text does not add up");
    open.closedText = true;
  }

  #closePart(index: number, part: z.infer<typeof contentPart> | z.infer<typeof summaryPart>) {
    const open = this.#partAt(part.type, index);
    accept(open.closedText, "a part ends before its text");
    accept(textOf(part) === open.text, "the part does not add up");
    if (part.type === "output_text") {
      same(part.annotations, open.annotations, "the annotations do not add up");
    }
    this.#part = undefined;
    return part;
  }

  #closeArguments(type: StrictItem["type"], text: string): void {
    accept(this.#item.type === type, `the end of a ${type} in a ${this.#item.type}`);
    accept(!this.#argumentsDone, "the arguments end twice");
    accept(text === this.#argumentText, "the arguments do not add up");
    this.#argumentsDone = true;
  }
}

function textOf(part: z.infer<typeof contentPart> | z.infer<typeof summaryPart>): string {
  return part.type === "refusal" ? part.refusal : part.text;
}
