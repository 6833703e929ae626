/**
 * Schema of a Chat Completions request as the vendor accepts it: types, ranges and single fields.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-request.
 *
 * - Folder `sandbox/vendor_validators/openai/`: what the vendor of Chat Completions and Responses accepts.
 * - In: a parsed request of either style.
 * - Out: the vendor's refusal, or `undefined`.
 * - Never: changes the request, or knows the rules of single models.
 */
import { z } from "zod";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { chatFields } from "../../../core/wire/chat/request/decode_request.ts";
import { chatMessage, functionName } from "./chat_messages.ts";
import { functionSchemaProblem, strictSchemaProblem } from "../base/json_schema_rules.ts";

export const jsonSchema = z.record(z.string(), z.json());

/** Reports the problem of a function's or an output format's schema in the vendor's words. */
export function schemaRefusal(
  kind: "function" | "response_format",
  name: string,
  schema: JsonObject,
  strict: boolean,
): string | undefined {
  const problem = strict
    ? strictSchemaProblem(schema)
    : kind === "function"
    ? functionSchemaProblem(schema)
    : undefined;
  if (problem === undefined) return undefined;
  const context = problem.path.map((part) => `'${part}'`).join(", ");
  return `Invalid schema for ${kind} '${name}': In context=(${context}), ${problem.message}`;
}

const functionTool = z.strictObject({
  type: z.literal("function"),
  function: z.strictObject({
    name: functionName,
    description: z.string().optional(),
    parameters: jsonSchema.optional(),
    strict: z.boolean().nullable().optional(),
  }).check((context) => {
    const { name, parameters, strict } = context.value;
    if (parameters === undefined) return;
    const message = schemaRefusal("function", name, parameters, strict === true);
    if (message === undefined) return;
    context.issues.push({ code: "custom", path: ["parameters"], message, input: parameters });
  }),
});

/** The grammar or plain text that a custom tool takes. */
const customToolFormat = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({
    type: z.literal("grammar"),
    grammar: z.strictObject({ definition: z.string(), syntax: z.enum(["lark", "regex"]) }),
  }),
]);

const customTool = z.strictObject({
  type: z.literal("custom"),
  custom: z.strictObject({
    name: functionName,
    description: z.string().optional(),
    format: customToolFormat.optional(),
  }),
});

const namedFunction = z.strictObject({
  type: z.literal("function"),
  function: z.strictObject({ name: functionName }),
});
const namedCustom = z.strictObject({
  type: z.literal("custom"),
  custom: z.strictObject({ name: functionName }),
});

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.discriminatedUnion("type", [
    namedFunction,
    namedCustom,
    z.strictObject({
      type: z.literal("allowed_tools"),
      allowed_tools: z.strictObject({
        mode: z.enum(["auto", "required"]),
        tools: z.array(z.discriminatedUnion("type", [namedFunction, namedCustom])).min(1),
      }),
    }),
  ]),
]);

const responseFormat = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    json_schema: z.strictObject({
      name: functionName,
      description: z.string().optional(),
      schema: jsonSchema.optional(),
      strict: z.boolean().nullable().optional(),
    }).check((context) => {
      const { name, schema, strict } = context.value;
      if (schema === undefined) return;
      const message = schemaRefusal("response_format", name, schema, strict === true);
      if (message === undefined) return;
      context.issues.push({ code: "custom", path: ["schema"], message, input: schema });
    }),
  }),
]);

/** Metadata of both endpoints: up to 16 pairs. */
const metadata = z.record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, "too many properties. Expected at most 16");

export const reasoningEffort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);
const serviceTier = z.enum(["auto", "default", "flex", "scale", "priority", "fast"]);

/** Fields with the same meaning at both OpenAI endpoints. */
export const commonFields = {
  model: z.string().min(1),
  temperature: z.number().min(0).max(2).nullable().optional(),
  top_p: z.number().min(0).max(1).nullable().optional(),
  stream: z.boolean().nullable().optional(),
  parallel_tool_calls: z.boolean().optional(),
  service_tier: serviceTier.nullable().optional(),
  store: z.boolean().nullable().optional(),
  metadata: metadata.nullable().optional(),
  user: z.string().optional(),
  safety_identifier: z.string().max(64).optional(),
  prompt_cache_key: z.string().optional(),
  prompt_cache_options: z.strictObject({
    mode: z.enum(["implicit", "explicit"]).optional(),
    ttl: z.literal("30m").optional(),
  }).optional(),
  prompt_cache_retention: z.enum(["in_memory", "in-memory", "24h"]).nullable().optional(),
  moderation: z.looseObject({}).nullable().optional(),
} as const;

const penalty = z.number().min(-2).max(2).nullable().optional();

/** Fields that clients and other servers have added; the vendor refuses them. */
type AddedField = "best_of" | "extra_body" | "reasoning" | "thinking" | "top_k";

/** A field that the decoder's table has and this schema has not, or the other way round, does not compile. */
type Fields = Readonly<Record<Exclude<keyof typeof chatFields, AddedField>, z.ZodType>>;

export const chatRequest = z.strictObject(
  {
    ...commonFields,
    messages: z.array(chatMessage).min(1, "empty array. Expected an array with minimum length 1"),
    max_completion_tokens: z.int().min(1).nullable().optional(),
    max_tokens: z.int().min(1).nullable().optional(),
    frequency_penalty: penalty,
    presence_penalty: penalty,
    logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullable().optional(),
    logprobs: z.boolean().nullable().optional(),
    top_logprobs: z.int().min(0).max(20).nullable().optional(),
    seed: z.int().nullable().optional(),
    n: z.int().min(1).max(128).nullable().optional(),
    stop: z.union([
      z.string(),
      z.array(z.string()).max(4, "array too long. Expected an array with maximum length 4"),
    ]).nullable().optional(),
    stream_options: z.strictObject({
      include_usage: z.boolean().optional(),
      include_obfuscation: z.boolean().optional(),
    }).nullable().optional(),
    tools: z.array(z.discriminatedUnion("type", [functionTool, customTool]))
      .min(1, "empty array. Expected an array with minimum length 1").max(128).optional(),
    tool_choice: toolChoice.optional(),
    response_format: responseFormat.optional(),
    reasoning_effort: reasoningEffort.nullable().optional(),
    verbosity: z.enum(["low", "medium", "high"]).nullable().optional(),
    modalities: z.array(z.enum(["text", "audio"])).nullable().optional(),
    audio: z.looseObject({}).nullable().optional(),
    prediction: z.looseObject({}).nullable().optional(),
    web_search_options: z.looseObject({}).optional(),
    functions: z.array(z.strictObject({
      name: functionName,
      description: z.string().optional(),
      parameters: jsonSchema.optional(),
    })).min(1).max(128).optional(),
    function_call: z.union([
      z.enum(["none", "auto"]),
      z.strictObject({ name: functionName }),
    ]).optional(),
  } satisfies Fields,
);

export type ChatRequest = z.infer<typeof chatRequest>;
