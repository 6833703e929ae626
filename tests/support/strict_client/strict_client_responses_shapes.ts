/** Shapes of a Responses answer and of the events of its stream, as a strict client knows them. */
import { z } from "zod";
import { StrictClientError } from "./strict_client.ts";

export const count = z.int().min(0);

const usage = z.looseObject({
  input_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.looseObject({ reasoning_tokens: count }),
  total_tokens: count,
});

const annotation = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("url_citation"),
    start_index: count,
    end_index: count,
    title: z.string(),
    url: z.string().min(1),
  }),
  z.looseObject({
    type: z.enum(["file_citation", "container_file_citation", "file_path"]),
    file_id: z.string(),
  }),
]);

const outputText = z.looseObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(annotation),
});
const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
export const contentPart = z.discriminatedUnion("type", [
  outputText,
  refusalPart,
  z.looseObject({ type: z.literal("reasoning_text"), text: z.string() }),
]);
export const summaryPart = z.strictObject({ type: z.literal("summary_text"), text: z.string() });

const status = z.enum(["in_progress", "completed", "incomplete"]);

function itemId(prefix: string) {
  return z.string().regex(new RegExp(`^${prefix}_[a-zA-Z0-9_-]+$`));
}

const hostedStatus = z.enum([
  "in_progress",
  "searching",
  "interpreting",
  "completed",
  "incomplete",
  "failed",
]);

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
  z.looseObject({
    type: z.literal("web_search_call"),
    id: itemId("ws"),
    status: hostedStatus,
    action: z.discriminatedUnion("type", [
      z.strictObject({
        type: z.literal("search"),
        query: z.string(),
        queries: z.array(z.string()).optional(),
        sources: z.array(z.strictObject({ type: z.literal("url"), url: z.string() })).optional(),
      }),
      z.strictObject({ type: z.literal("open_page"), url: z.string().nullable().optional() }),
      z.strictObject({ type: z.literal("find_in_page"), url: z.string(), pattern: z.string() }),
    ]),
  }),
  z.looseObject({
    type: z.literal("code_interpreter_call"),
    id: itemId("ci"),
    status: hostedStatus,
    code: z.string().nullable(),
    container_id: z.string(),
    outputs: z.array(z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("logs"), logs: z.string() }),
      z.strictObject({ type: z.literal("image"), url: z.string() }),
    ])).nullable(),
  }),
  z.looseObject({
    type: z.literal("mcp_call"),
    id: itemId("mcp"),
    status: hostedStatus,
    server_label: z.string(),
    name: z.string(),
    arguments: z.string(),
    output: z.string().nullable(),
    error: z.string().nullable(),
  }),
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

export const response = z.looseObject({
  ...responseFields,
  status: z.enum(["completed", "failed", "in_progress", "incomplete", "queued"]),
  usage: usage.nullable(),
});

export type StrictResponse = z.infer<typeof response>;

/** Reads `value` by a schema.
 *
 * @throws {StrictClientError} when it does not fit
 */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw new StrictClientError(`${z.prettifyError(parsed.error)}\nin ${JSON.stringify(value)}`);
  }
  return parsed.data;
}

const place = { item_id: z.string().min(1), output_index: count } as const;
const partPlace = { ...place, content_index: count } as const;
const summaryPlace = { ...place, summary_index: count } as const;

export const events = z.discriminatedUnion("type", [
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
    annotation,
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
    type: z.literal("response.mcp_call_arguments.delta"),
    ...place,
    delta: z.string(),
  }),
  z.looseObject({
    type: z.literal("response.mcp_call_arguments.done"),
    ...place,
    arguments: z.string(),
  }),
  z.looseObject({
    type: z.enum([
      "response.web_search_call.in_progress",
      "response.web_search_call.searching",
      "response.web_search_call.completed",
      "response.code_interpreter_call.in_progress",
      "response.code_interpreter_call.interpreting",
      "response.code_interpreter_call.completed",
      "response.mcp_call.in_progress",
      "response.mcp_call.completed",
      "response.mcp_call.failed",
      "response.mcp_list_tools.in_progress",
      "response.mcp_list_tools.completed",
      "response.mcp_list_tools.failed",
    ]),
    ...place,
  }),
  z.looseObject({
    type: z.literal("error"),
    error: z.looseObject({ message: z.string().min(1), type: z.string().min(1) }).optional(),
    message: z.string().optional(),
    code: z.string().nullable().optional(),
  }),
]);

/** One event of a stream. */
export type Event = z.infer<typeof events> & { readonly sequence_number: number };
export type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;
/** An event inside the output. */
export type ItemEvent = Exclude<
  Event,
  {
    type: `response.${"created" | "in_progress" | "completed" | "incomplete" | "failed"}` | "error";
  }
>;
