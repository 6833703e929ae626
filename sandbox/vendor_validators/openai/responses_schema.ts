/**
 * Schema of a Responses request as the vendor accepts it: types, ranges and single fields.
 *
 * See docs/internals/WIRE_FORMATS.md#responses.
 */
import { z } from "zod";
import type { responsesFields } from "../../../core/wire/responses/request/known_fields.ts";
import { functionName } from "./chat_messages.ts";
import { commonFields, jsonSchema, reasoningEffort, schemaRefusal } from "./chat_schema.ts";
import { inputItem } from "./responses_items.ts";

const functionTool = z.strictObject({
  type: z.literal("function"),
  name: functionName,
  description: z.string().nullable().optional(),
  parameters: jsonSchema.nullable().optional(),
  strict: z.boolean().nullable().optional(),
  defer_loading: z.boolean().optional(),
}).check((context) => {
  const { name, parameters, strict } = context.value;
  if (!parameters) return;
  const message = schemaRefusal("function", name, parameters, strict === true);
  if (message === undefined) return;
  context.issues.push({ code: "custom", path: ["parameters"], message, input: parameters });
});

const customTool = z.strictObject({
  type: z.literal("custom"),
  name: functionName,
  description: z.string().optional(),
  format: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text") }),
    z.strictObject({
      type: z.literal("grammar"),
      definition: z.string(),
      syntax: z.enum(["lark", "regex"]),
    }),
  ]).optional(),
  defer_loading: z.boolean().optional(),
});

const hostedTypes = [
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11",
  "file_search",
  "computer",
  "computer_use_preview",
  "code_interpreter",
  "image_generation",
  "local_shell",
  "shell",
  "apply_patch",
  "mcp",
  "namespace",
  "tool_search",
] as const;

const tool = z.discriminatedUnion("type", [
  functionTool,
  customTool,
  z.looseObject({ type: z.enum(hostedTypes) }),
]);

const named = z.strictObject({ type: z.enum(["function", "custom"]), name: functionName });

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  named,
  z.strictObject({
    type: z.literal("allowed_tools"),
    mode: z.enum(["auto", "required"]),
    tools: z.array(z.looseObject({ type: z.string() })).min(1),
  }),
  z.looseObject({ type: z.enum(hostedTypes) }),
]);

const textFormat = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    name: functionName,
    description: z.string().optional(),
    schema: jsonSchema,
    strict: z.boolean().nullable().optional(),
  }).check((context) => {
    const { name, schema, strict } = context.value;
    const message = schemaRefusal("response_format", name, schema, strict === true);
    if (message === undefined) return;
    context.issues.push({ code: "custom", path: ["schema"], message, input: schema });
  }),
]);

const summary = z.enum(["auto", "concise", "detailed"]).nullable().optional();

/**
 * A field that the decoder's table has and this schema has not, or the other way round, does not compile. `verbosity`
 * is a member of `text` here.
 */
type Fields = Readonly<Record<Exclude<keyof typeof responsesFields, "verbosity">, z.ZodType>>;

export const responsesRequest = z.strictObject(
  {
    ...commonFields,
    input: z.union([
      z.string(),
      z.array(inputItem).min(1, "empty array. Expected an array with minimum length 1"),
    ]).optional(),
    instructions: z.string().nullable().optional(),
    max_output_tokens: z.int().min(16, "integer below minimum value. Expected a value >= 16")
      .nullable().optional(),
    max_tool_calls: z.int().min(1).nullable().optional(),
    top_logprobs: z.int().min(0).max(20).nullable().optional(),
    stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() })
      .nullable().optional(),
    tools: z.array(tool).max(128).optional(),
    tool_choice: toolChoice.optional(),
    text: z.strictObject({
      format: textFormat.optional(),
      verbosity: z.enum(["low", "medium", "high"]).nullable().optional(),
    }).optional(),
    reasoning: z.strictObject({
      effort: reasoningEffort.nullable().optional(),
      summary,
      generate_summary: summary,
      context: z.enum(["auto", "current_turn", "all_turns"]).nullable().optional(),
      mode: z.string().optional(),
    }).nullable().optional(),
    include: z.array(z.enum([
      "file_search_call.results",
      "web_search_call.results",
      "web_search_call.action.sources",
      "message.input_image.image_url",
      "computer_call_output.output.image_url",
      "code_interpreter_call.outputs",
      "reasoning.encrypted_content",
      "message.output_text.logprobs",
    ])).nullable().optional(),
    truncation: z.enum(["auto", "disabled"]).nullable().optional(),
    background: z.boolean().nullable().optional(),
    conversation: z.union([z.string(), z.strictObject({ id: z.string() })]).nullable().optional(),
    previous_response_id: z.string().nullable().optional(),
    prompt: z.looseObject({ id: z.string() }).nullable().optional(),
    context_management: z.array(z.looseObject({ type: z.string() })).nullable().optional(),
    // Undocumented; Codex sends it with every request, and the vendor accepts it.
    client_metadata: z.record(z.string(), z.string()).nullable().optional(),
  } satisfies Fields,
);

export type ResponsesRequest = z.infer<typeof responsesRequest>;
