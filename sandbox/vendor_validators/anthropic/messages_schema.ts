/**
 * Schema of a Messages request as the vendor accepts it: types, ranges and single fields.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-request and docs/internals/WIRE_FORMATS.md#messages-tools.
 *
 * - Folder `sandbox/vendor_validators/anthropic/`: what the Messages vendor accepts.
 * - In: a parsed Messages request.
 * - Out: the vendor's refusal, or `undefined`.
 * - Never: changes the request, or knows the rules of single models.
 */
import { z } from "zod";
import type { messagesFields } from "../../../core/wire/messages/request/decode_request.ts";
import { messagesGrammarProblem, messagesToolSchemaProblem } from "../base/json_schema_rules.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { assistantBlock, cacheControl, textBlock, toolName, userBlock } from "./messages_blocks.ts";

const jsonSchema = z.record(z.string(), z.json());

const customTool = z.strictObject({
  type: z.literal("custom").nullable().optional(),
  name: toolName,
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal("object") }),
  strict: z.boolean().optional(),
  cache_control: cacheControl,
  defer_loading: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullable().optional(),
  input_examples: z.array(jsonSchema).optional(),
  allowed_callers: z.array(z.string()).optional(),
}).check((context) => {
  const schema: JsonObject = jsonSchema.parse(context.value.input_schema);
  const problem = messagesToolSchemaProblem(schema) ??
    (context.value.strict === true ? messagesGrammarProblem(schema) : undefined);
  if (problem === undefined) return;
  context.issues.push({
    code: "custom",
    path: ["input_schema", ...problem.path],
    message: problem.message,
    input: schema,
  });
});

/** Tools that the vendor defines by type, with a fixed name and no schema in the request. */
const typedTool = z.looseObject({
  type: z.string().regex(
    /^(bash|code_execution|memory|text_editor|web_search|web_fetch|tool_search_tool_(bm25|regex)|computer|(computer|browser)_toolset)_20\d{6}$/,
    "unknown tool type",
  ),
  name: z.string().optional(),
  input_schema: z.undefined().optional(),
});

/** The tools of an MCP server that may be called. */
const mcpToolset = z.strictObject({
  type: z.literal("mcp_toolset"),
  mcp_server_name: z.string().min(1),
  default_config: z.looseObject({}).nullable().optional(),
  configs: z.record(z.string(), z.looseObject({})).nullable().optional(),
  cache_control: cacheControl,
});

/** An MCP server. It needs a beta in the header, which this schema does not check. */
const mcpServer = z.strictObject({
  type: z.literal("url"),
  name: z.string().min(1),
  url: z.string().regex(/^https:\/\//, "Only HTTPS URLs are supported"),
  authorization_token: z.string().nullable().optional(),
  tool_configuration: z.looseObject({}).nullable().optional(),
});

const tool = z.union([customTool, mcpToolset, typedTool]);

const toolChoice = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("auto"),
    disable_parallel_tool_use: z.boolean().optional(),
  }),
  z.strictObject({
    type: z.literal("any"),
    disable_parallel_tool_use: z.boolean().optional(),
  }),
  z.strictObject({
    type: z.literal("tool"),
    name: z.string(),
    disable_parallel_tool_use: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal("none") }),
]);

// The vendor takes `updates` with a beta, which agents send with it.
const display = z.enum(["summarized", "omitted", "updates"]).nullable().optional();

const thinking = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("enabled"),
    budget_tokens: z.int().min(1024, "Input should be greater than or equal to 1024"),
    display,
  }),
  z.strictObject({ type: z.literal("disabled") }),
  z.strictObject({ type: z.literal("adaptive"), display }),
  z.strictObject({ type: z.literal("between_tools"), display }),
]);

const outputConfig = z.strictObject({
  effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullable().optional(),
  format: z.strictObject({ type: z.literal("json_schema"), schema: jsonSchema })
    .check((context) => {
      const problem = messagesGrammarProblem(context.value.schema);
      if (problem === undefined) return;
      context.issues.push({
        code: "custom",
        path: ["schema", ...problem.path],
        message: problem.message,
        input: context.value.schema,
      });
    }).nullable().optional(),
});

const message = z.discriminatedUnion("role", [
  z.strictObject({
    role: z.literal("user"),
    content: z.union([z.string(), z.array(userBlock)]),
  }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(assistantBlock)]),
  }),
  z.strictObject({
    role: z.literal("system"),
    content: z.union([z.string(), z.array(textBlock)]),
  }),
]);

/** Fields of the decoder's table that the schema refuses: those of headers and of betas. */
type OtherField = "betas" | "fallbacks" | "output_format" | "user_profile_id";

/** A field that the decoder's table has and this schema has not, or the other way round, does not compile. */
type Fields = Readonly<Record<Exclude<keyof typeof messagesFields, OtherField>, z.ZodType>>;

export const messagesRequest = z.strictObject(
  {
    model: z.string().min(1),
    // 0 only warms the prompt cache.
    max_tokens: z.int().min(0),
    messages: z.array(message).min(1, "at least one message is required").max(100_000),
    system: z.union([z.string(), z.array(textBlock)]).optional(),
    stop_sequences: z.array(
      z.string().regex(/\S/, "each stop sequence must contain non-whitespace"),
    ).optional(),
    stream: z.boolean().optional(),
    temperature: z.number().min(0).max(1).optional(),
    top_p: z.number().min(0).max(1).optional(),
    top_k: z.int().min(0).optional(),
    thinking: thinking.optional(),
    output_config: outputConfig.optional(),
    tools: z.array(tool).optional(),
    tool_choice: toolChoice.optional(),
    metadata: z.strictObject({ user_id: z.string().nullable().optional() }).optional(),
    service_tier: z.enum(["auto", "standard_only"]).optional(),
    cache_control: cacheControl,
    mcp_servers: z.array(mcpServer).optional(),
    container: z.union([z.string(), z.looseObject({})]).nullable().optional(),
    inference_geo: z.string().nullable().optional(),
    context_management: z.looseObject({
      edits: z.array(z.looseObject({ type: z.string() })).optional(),
    }).nullable().optional(),
  } satisfies Fields,
);

export type MessagesRequest = z.infer<typeof messagesRequest>;
export type MessagesMessage = MessagesRequest["messages"][number];
