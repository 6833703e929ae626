/**
 * A Messages client that forgives nothing: the shape of an answer, and the order of a stream
 * (docs/internals/WIRE_FORMATS.md#messages-answer, docs/internals/WIRE_FORMATS.md#messages-stream). What
 * it accumulates from a stream is what the official client calls the final message.
 */
import { z } from "zod";
import { accept, parseData, readEvents, StrictClientError } from "./strict_client.ts";

const count = z.int().min(0);
const optionalCount = count.nullable().optional();

const usage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: optionalCount,
  cache_read_input_tokens: optionalCount,
});

const caller = z.looseObject({ type: z.string() }).optional();

/** Places in documents of the request, of the kinds that the vendor's types name. */
const place = {
  cited_text: z.string(),
  document_index: count,
  document_title: z.string().nullable(),
} as const;

const citation = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("web_search_result_location"),
    url: z.string().min(1),
    title: z.string().nullable(),
    encrypted_index: z.string(),
    cited_text: z.string(),
  }),
  z.looseObject({
    type: z.literal("search_result_location"),
    source: z.string(),
    title: z.string().nullable(),
    cited_text: z.string(),
  }),
  z.looseObject({
    type: z.enum(["char_location", "page_location", "content_block_location"]),
    ...place,
  }),
]);

const block = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("text"),
    text: z.string(),
    citations: z.array(citation).nullable().optional(),
  }),
  z.strictObject({
    type: z.literal("thinking"),
    thinking: z.string(),
    signature: z.string(),
  }),
  z.strictObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) }),
  z.strictObject({
    type: z.literal("tool_use"),
    id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
    name: z.string().min(1),
    input: z.record(z.string(), z.unknown()),
    caller,
  }),
  z.strictObject({
    type: z.literal("server_tool_use"),
    id: z.string().min(1),
    name: z.string().min(1),
    input: z.record(z.string(), z.unknown()),
    caller,
  }),
  z.strictObject({
    type: z.literal("web_search_tool_result"),
    tool_use_id: z.string().min(1),
    content: z.union([
      z.array(z.strictObject({
        type: z.literal("web_search_result"),
        url: z.string().min(1),
        title: z.string(),
        encrypted_content: z.string(),
        page_age: z.string().nullable(),
      })),
      z.strictObject({ type: z.literal("web_search_tool_result_error"), error_code: z.string() }),
    ]),
    caller,
  }),
  z.strictObject({
    type: z.literal("code_execution_tool_result"),
    tool_use_id: z.string().min(1),
    content: z.union([
      z.strictObject({
        type: z.literal("code_execution_result"),
        stdout: z.string(),
        stderr: z.string(),
        return_code: z.int(),
        content: z.array(z.looseObject({ type: z.string() })),
      }),
      z.looseObject({
        type: z.literal("code_execution_tool_result_error"),
        error_code: z.string(),
      }),
    ]),
    caller,
  }),
  z.strictObject({
    type: z.literal("mcp_tool_use"),
    id: z.string().min(1),
    name: z.string().min(1),
    server_name: z.string().min(1),
    input: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    type: z.literal("mcp_tool_result"),
    tool_use_id: z.string().min(1),
    is_error: z.boolean(),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.literal("text") }))]),
  }),
  z.looseObject({
    type: z.enum([
      "web_fetch_tool_result",
      "bash_code_execution_tool_result",
      "text_editor_code_execution_tool_result",
      "tool_search_tool_result",
    ]),
    tool_use_id: z.string().min(1),
  }),
]);

type StrictBlock = z.infer<typeof block>;

const stopReason = z.enum([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
]);

const stopDetails = z.looseObject({ type: z.literal("refusal") }).nullable().optional();

const message = z.strictObject({
  id: z.string().regex(/^msg_[a-zA-Z0-9_]+$/),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string().min(1),
  content: z.array(block),
  stop_reason: stopReason,
  stop_sequence: z.string().nullable(),
  stop_details: stopDetails,
  container: z.looseObject({}).nullable().optional(),
  usage,
});

export type StrictMessage = z.infer<typeof message>;

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw new StrictClientError(`${z.prettifyError(parsed.error)}\nin ${JSON.stringify(value)}`);
  }
  return parsed.data;
}

function checkWhole(answer: StrictMessage): StrictMessage {
  for (const part of answer.content) {
    accept(part.type !== "text" || part.text !== "", "an empty text block cannot be replayed");
  }
  const called = answer.content.some((part) => part.type === "tool_use");
  if (answer.stop_reason === "tool_use") accept(called, "stop_reason tool_use without a call");
  if (answer.stop_reason === "end_turn") accept(!called, "a call under stop_reason end_turn");
  if (answer.stop_reason === "stop_sequence") {
    accept(answer.stop_sequence !== null, "stop_reason stop_sequence without the sequence");
  }
  return answer;
}

/**
 * Reads a whole answer.
 *
 * @throws {StrictClientError} when it is not what the client accepts
 */
export function readMessagesAnswer(body: unknown): StrictMessage {
  return checkWhole(parse(message, body));
}

const errorBody = z.looseObject({
  type: z.literal("error"),
  error: z.looseObject({ type: z.string().min(1), message: z.string().min(1) }),
});

const index = z.int().min(0);

const events = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("message_start"),
    message: message.extend({
      content: z.array(block).length(0),
      stop_reason: z.null(),
      stop_sequence: z.null(),
    }),
  }),
  z.strictObject({ type: z.literal("content_block_start"), index, content_block: block }),
  z.strictObject({
    type: z.literal("content_block_delta"),
    index,
    delta: z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("text_delta"), text: z.string() }),
      z.strictObject({
        type: z.literal("citations_delta"),
        citation,
      }),
      z.strictObject({ type: z.literal("thinking_delta"), thinking: z.string() }),
      z.strictObject({ type: z.literal("signature_delta"), signature: z.string() }),
      z.strictObject({ type: z.literal("input_json_delta"), partial_json: z.string() }),
    ]),
  }),
  z.strictObject({ type: z.literal("content_block_stop"), index }),
  z.looseObject({
    type: z.literal("message_delta"),
    delta: z.strictObject({
      stop_reason: stopReason,
      stop_sequence: z.string().nullable(),
      stop_details: stopDetails,
      container: z.looseObject({}).nullable().optional(),
    }),
    usage: usage.extend({ input_tokens: optionalCount, output_tokens: count }),
  }),
  z.looseObject({ type: z.literal("message_stop") }),
  z.looseObject({ type: z.literal("ping") }),
  errorBody,
]);

type Event = z.infer<typeof events>;
type Delta = Extract<Event, { type: "content_block_delta" }>["delta"];

/** How a stream ended for the client. */
export type MessagesOutcome =
  | { readonly kind: "message"; readonly message: StrictMessage }
  | { readonly kind: "error"; readonly type: string; readonly text: string };

/**
 * Reads a whole stream.
 *
 * @throws {StrictClientError} when an event is malformed, out of order, or missing
 */
export function readMessagesStream(bytes: Uint8Array): MessagesOutcome {
  const reader = new StreamReader();
  for (const event of readEvents(bytes)) {
    const data = parse(events, parseData(event));
    accept(event.name === data.type, `event: ${event.name} over data of type ${data.type}`);
    reader.take(data);
  }
  return reader.outcome();
}

class StreamReader {
  #message: StrictMessage | undefined;
  #open: { index: number; block: StrictBlock; json: string; signed: boolean } | undefined;
  #sawDelta = false;
  /** Arguments that are no JSON: allowed only where the cap on tokens cut them. */
  #cutArguments: string | undefined;
  #done: MessagesOutcome | undefined;

  take(event: Event): void {
    accept(this.#done === undefined, `${event.type} behind the end`);
    if (event.type === "ping") return;
    if (event.type === "error") {
      this.#done = { kind: "error", type: event.error.type, text: event.error.message };
      return;
    }
    if (event.type === "message_start") {
      accept(this.#message === undefined, "a second message_start");
      // A placeholder until message_delta names the reason.
      this.#message = { ...event.message, content: [], stop_reason: "end_turn" };
      return;
    }
    accept(this.#message !== undefined, `${event.type} before message_start`);
    this.#takeInside(event, this.#message);
  }

  outcome(): MessagesOutcome {
    accept(this.#done !== undefined, "the stream ends without message_stop or error");
    return this.#done;
  }

  #takeInside(
    event: Exclude<Event, { type: "ping" | "error" | "message_start" }>,
    whole: StrictMessage,
  ): void {
    switch (event.type) {
      case "content_block_start":
        accept(!this.#sawDelta, "a block behind message_delta");
        accept(this.#open === undefined, "a block opens inside another");
        accept(event.index === whole.content.length, `block index ${event.index} out of order`);
        checkStart(event.content_block);
        whole.content.push(event.content_block);
        this.#open = { index: event.index, block: event.content_block, json: "", signed: false };
        return;
      case "content_block_delta":
        accept(this.#open?.index === event.index, `a delta for block ${event.index}, not open`);
        applyDelta(this.#open, event.delta);
        return;
      case "content_block_stop":
        accept(this.#open?.index === event.index, `a stop for block ${event.index}, not open`);
        this.#cutArguments ??= closeBlock(this.#open);
        this.#open = undefined;
        return;
      case "message_delta":
        accept(this.#open === undefined, "message_delta inside a block");
        this.#sawDelta = true;
        whole.stop_reason = event.delta.stop_reason;
        whole.stop_sequence = event.delta.stop_sequence;
        if (event.delta.stop_details !== undefined) {
          whole.stop_details = event.delta.stop_details;
        }
        for (const [key, value] of Object.entries(event.usage)) {
          if (value !== null && value !== undefined) whole.usage[key] = value;
        }
        return;
      case "message_stop":
        accept(this.#sawDelta, "message_stop without message_delta");
        accept(
          this.#cutArguments === undefined || whole.stop_reason === "max_tokens",
          `the arguments are not JSON: ${this.#cutArguments}`,
        );
        this.#done = { kind: "message", message: readMessagesAnswer(whole) };
    }
  }
}

type UseBlock = Extract<StrictBlock, { readonly input: unknown }>;

/** A call, of the caller's tools or of the provider's: its input streams. */
function isUse(started: StrictBlock): started is UseBlock {
  return "input" in started;
}

function checkStart(started: StrictBlock): void {
  if (started.type === "text") accept(started.text === "", "a text block starts with text");
  if (started.type === "thinking") {
    accept(started.thinking === "" && started.signature === "", "a thinking block starts filled");
  }
  if (isUse(started)) {
    accept(JSON.stringify(started.input) === "{}", "a call starts with input");
  }
}

function applyDelta(
  open: { block: StrictBlock; json: string; signed: boolean },
  delta: Delta,
): void {
  const { block: target } = open;
  if (delta.type === "text_delta" && target.type === "text") {
    target.text = String(target.text) + delta.text;
  } else if (delta.type === "citations_delta" && target.type === "text") {
    const earlier = Array.isArray(target.citations) ? target.citations : [];
    target.citations = [...earlier, delta.citation];
  } else if (delta.type === "thinking_delta" && target.type === "thinking") {
    accept(!open.signed, "thinking behind its signature");
    target.thinking = String(target.thinking) + delta.thinking;
  } else if (delta.type === "signature_delta" && target.type === "thinking") {
    accept(!open.signed, "a second signature");
    target.signature = delta.signature;
    open.signed = true;
  } else if (
    delta.type === "input_json_delta" &&
    isUse(target)
  ) {
    open.json += delta.partial_json;
  } else {
    throw new StrictClientError(`${delta.type} for a ${target.type} block`);
  }
}

/** Parses the arguments of a call; returns them as they are when they cannot be parsed. */
function closeBlock(open: { block: StrictBlock; json: string }): string | undefined {
  const { block: target } = open;
  if (!isUse(target)) return undefined;
  if (open.json === "") return undefined;
  let input: unknown;
  try {
    input = JSON.parse(open.json);
  } catch {
    return open.json;
  }
  target.input = parse(z.record(z.string(), z.unknown()), input);
  return undefined;
}
