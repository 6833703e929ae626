/**
 * Schema of a Converse request as the vendor's reference describes it: types, ranges and single fields. `model` and
 * `stream` come from the path.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-request.
 *
 * - Folder `sandbox/vendor_validators/bedrock/`: what the Converse vendor accepts.
 * - In: a parsed Converse request.
 * - Out: the vendor's refusal, or `undefined`.
 * - Never: changes the request, or knows the rules of single models.
 */
import { z } from "zod";
import type { Json } from "../../../core/lib/json/json.ts";

// What the Converse vendor requires of a tool's JSON Schema: an object at its root, without a union there.

const rootUnions = ["anyOf", "oneOf", "allOf"] as const;

/** The vendor's refusal of a schema, or `undefined`. */
function schemaProblem(schema: Readonly<Record<string, Json | undefined>>) {
  if (schema["type"] !== "object") {
    return "The value at inputSchema.json.type must be one of the following: object.";
  }
  return rootUnions.some((name) => schema[name] !== undefined)
    ? "inputSchema does not support oneOf, allOf, or anyOf at the top level"
    : undefined;
}

const base64 = z.string().min(1).regex(/^[A-Za-z0-9+/]*={0,2}$/, "not base64");

/** Objects with one of several members. */
function union<Shape extends Record<string, z.ZodType>>(shape: Shape) {
  return z.strictObject(shape).partial().refine(
    (value) => Object.values(value).filter((member) => member !== undefined).length === 1,
    "must have exactly one member",
  );
}

const notBlank = z.string().regex(/\S/, "The text field in the ContentBlock object is blank.");

const source = union({
  bytes: base64,
  s3Location: z.strictObject({ uri: z.string(), bucketOwner: z.string().optional() }),
});

const image = z.strictObject({ format: z.enum(["png", "jpeg", "gif", "webp"]), source });

const document = z.strictObject({
  format: z.enum(["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]),
  name: z.string().min(1).max(200).regex(
    /^(?:[A-Za-z0-9()[\]-]|\s(?!\s))+$/,
    "The document file name can only contain alphanumeric characters, whitespace characters, " +
      "hyphens, parentheses, and square brackets.",
  ),
  source,
  context: z.string().optional(),
  citations: z.strictObject({ enabled: z.boolean() }).optional(),
});

const video = z.strictObject({
  format: z.enum(["mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"]),
  source,
});

const cachePoint = z.strictObject({
  type: z.literal("default"),
  ttl: z.enum(["5m", "1h"]).optional(),
});

const toolUseId = z.string().min(1).max(64).regex(/^[a-zA-Z0-9_-]+$/, "toolUseId is malformed");
const toolName = z.string().min(1).max(64).regex(/^[a-zA-Z0-9_-]+$/, "name is malformed");

const resultContent = union({
  text: notBlank,
  json: z.record(z.string(), z.json()),
  image,
  document,
  video,
});

const toolResult = z.strictObject({
  toolUseId,
  content: z.array(resultContent).min(1),
  status: z.enum(["success", "error"]).optional(),
});

const block = union({
  text: notBlank,
  image,
  document,
  video,
  toolUse: z.strictObject({
    toolUseId,
    name: toolName,
    input: z.record(z.string(), z.json()),
  }),
  toolResult,
  reasoningContent: union({
    reasoningText: z.strictObject({ text: z.string(), signature: z.string().optional() }),
    redactedContent: base64,
  }),
  cachePoint,
});

const inputSchema = z.record(z.string(), z.json()).superRefine((schema, context) => {
  const problem = schemaProblem(schema);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

const tool = union({
  toolSpec: z.strictObject({
    name: toolName,
    description: z.string().min(1).optional(),
    inputSchema: z.strictObject({ json: inputSchema }),
    strict: z.boolean().optional(),
  }),
  cachePoint,
});

const textFormat = z.strictObject({
  type: z.literal("json_schema"),
  structure: z.strictObject({
    jsonSchema: z.strictObject({
      schema: z.string().min(1),
      name: z.string().min(1).optional(),
      description: z.string().min(1).optional(),
    }),
  }),
});

export const converseRequest = z.strictObject({
  model: z.string().min(1),
  stream: z.literal(true).optional(),
  messages: z.array(z.strictObject({
    role: z.enum(["user", "assistant"]),
    content: z.array(block).min(1),
  })).min(1),
  system: z.array(union({ text: notBlank, cachePoint })).optional(),
  inferenceConfig: z.strictObject({
    maxTokens: z.int().min(1).optional(),
    temperature: z.number().min(0).max(1).optional(),
    topP: z.number().min(0).max(1).optional(),
    stopSequences: z.array(z.string().min(1)).max(2500).optional(),
  }).optional(),
  toolConfig: z.strictObject({
    tools: z.array(tool).min(1),
    toolChoice: union({
      auto: z.strictObject({}),
      any: z.strictObject({}),
      tool: z.strictObject({ name: toolName }),
    }).optional(),
  }).optional(),
  outputConfig: z.strictObject({
    textFormat: textFormat.optional(),
    effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional(),
  }).optional(),
  additionalModelRequestFields: z.record(z.string(), z.json()).optional(),
  serviceTier: z.strictObject({
    type: z.enum(["default", "flex", "priority", "reserved"]),
  }).optional(),
});

export type ConverseRequest = z.infer<typeof converseRequest>;
