/**
 * Schema of a Gemini request as the vendor accepts it: types, ranges and single fields. `model` and `stream` come from
 * the path.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-request.
 *
 * - Folder `sandbox/vendor_validators/google/`: what the Gemini vendor accepts.
 * - In: a parsed Gemini request.
 * - Out: the vendor's refusal, or `undefined`.
 * - Never: changes the request, or knows the rules of single models.
 */
import { z } from "zod";
import type { geminiFields } from "../../../core/wire/gemini/request/decode_request.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { maxJsonDepth } from "../../../core/lib/json/scan/limits.ts";

// Rules of the Gemini vendor for JSON Schemas of tools and answers: only a part of the standard is known.

const known: ReadonlySet<string> = new Set([
  // The vendor's own agent sends it with its tools.
  "$schema",
  ...["$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum"],
  ...["items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf"],
  ...["pattern", "minLength", "maxLength", "uniqueItems"],
  ...["properties", "additionalProperties", "required", "propertyOrdering"],
]);

/** Finds the first keyword that the vendor does not know; `undefined` if it takes the schema. */
function schemaProblem(schema: Json | undefined, depth = 0): string | undefined {
  if (!isJsonObject(schema)) return undefined;
  if (depth > maxJsonDepth) return "schema is nested too deeply";
  for (const key of Object.keys(schema)) {
    if (!known.has(key)) return `Unknown name "${key}" in a JSON schema`;
  }
  const { type } = schema;
  if (typeof type === "string" && type !== type.toLowerCase()) return `Unknown type "${type}"`;
  for (const child of childrenOf(schema)) {
    const problem = schemaProblem(child, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function childrenOf(schema: JsonObject): (Json | undefined)[] {
  const lists = [schema["anyOf"], schema["oneOf"], schema["prefixItems"]];
  const maps = [schema["properties"], schema["$defs"]];
  return [
    schema["items"],
    schema["additionalProperties"],
    ...lists.flatMap((list) => Array.isArray(list) ? list : []),
    ...maps.flatMap((map) => isJsonObject(map) ? Object.values(map) : []),
  ];
}

const base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/, "Base64 decoding failed");

/** Names of functions: letters first, then also digits and some marks. */
const functionName = z.string().regex(
  /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/,
  "Invalid function name. Must start with a letter or an underscore.",
);

const struct = z.record(z.string(), z.json());

const blob = z.strictObject({
  mimeType: z.string().min(1),
  data: base64.min(1),
});

const fileData = z.strictObject({
  mimeType: z.string().min(1).optional(),
  fileUri: z.string().min(1),
});

const part = z.strictObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: base64.optional(),
  inlineData: blob.optional(),
  fileData: fileData.optional(),
  functionCall: z.strictObject({
    id: z.string().optional(),
    name: functionName,
    args: struct.optional(),
  }).optional(),
  functionResponse: z.strictObject({
    id: z.string().optional(),
    name: functionName,
    response: struct,
    parts: z.array(z.strictObject({ inlineData: blob.optional() })).optional(),
    willContinue: z.boolean().optional(),
    scheduling: z.string().optional(),
  }).optional(),
  executableCode: z.strictObject({
    language: z.string(),
    code: z.string(),
    id: z.string().optional(),
  }).optional(),
  codeExecutionResult: z.strictObject({
    outcome: z.string(),
    output: z.string().optional(),
    id: z.string().optional(),
  }).optional(),
  videoMetadata: z.looseObject({}).optional(),
  mediaResolution: z.looseObject({}).optional(),
  partMetadata: struct.optional(),
}).refine((value) => kindsOf(value).length === 1, "oneof field 'data' must have one value");

const dataKinds = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
] as const;

function kindsOf(value: Partial<Record<typeof dataKinds[number], unknown>>): readonly string[] {
  return dataKinds.filter((kind) => value[kind] !== undefined);
}

const content = z.strictObject({
  role: z.enum(["user", "model", "function"], "Please use a valid role: user, model.").optional(),
  parts: z.array(part).min(1, "must include at least one parts field"),
});

/** The vendor takes any role of instructions. */
const textContent = z.strictObject({
  role: z.string().optional(),
  parts: z.array(z.strictObject({ text: z.string() })).min(1),
});

const jsonSchema = struct.superRefine((schema, context) => {
  const problem = schemaProblem(schema);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

const functionDeclaration = z.strictObject({
  name: functionName,
  description: z.string().optional(),
  parameters: struct.optional(),
  parametersJsonSchema: jsonSchema.optional(),
  response: struct.optional(),
  responseJsonSchema: struct.optional(),
  behavior: z.enum(["BLOCKING", "NON_BLOCKING"]).optional(),
}).refine(
  (tool) => tool.parameters === undefined || tool.parametersJsonSchema === undefined,
  "parameters and parametersJsonSchema are mutually exclusive",
);

const tool = z.strictObject({
  functionDeclarations: z.array(functionDeclaration).min(1).max(512).optional(),
  googleSearch: z.looseObject({}).optional(),
  urlContext: z.strictObject({}).optional(),
  codeExecution: z.strictObject({}).optional(),
  googleMaps: z.looseObject({}).optional(),
  computerUse: z.looseObject({}).optional(),
  fileSearch: z.looseObject({}).optional(),
});

const generationConfig = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().min(1).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  stopSequences: z.array(z.string().min(1)).max(5).optional(),
  candidateCount: z.int().min(1).max(8).optional(),
  responseMimeType: z.enum(["text/plain", "application/json", "text/x.enum"]).optional(),
  responseSchema: struct.optional(),
  responseJsonSchema: jsonSchema.optional(),
  seed: z.int().optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  responseLogprobs: z.boolean().optional(),
  logprobs: z.int().min(0).max(20).optional(),
  responseModalities: z.array(z.enum(["TEXT", "IMAGE", "AUDIO"])).optional(),
  thinkingConfig: z.strictObject({
    includeThoughts: z.boolean().optional(),
    thinkingBudget: z.int().min(-1).optional(),
    thinkingLevel: z.enum(["MINIMAL", "LOW", "MEDIUM", "HIGH"]).optional(),
  }).refine(
    (config) => config.thinkingBudget === undefined || config.thinkingLevel === undefined,
    "You can only set only one of thinking budget and thinking level.",
  ).optional(),
  speechConfig: z.looseObject({}).optional(),
  imageConfig: z.looseObject({}).optional(),
  mediaResolution: z.string().optional(),
  enableEnhancedCivicAnswers: z.boolean().optional(),
});

/** A field that the decoder's table has and this schema has not, or the other way round, does not compile. */
type Fields = Readonly<Record<keyof typeof geminiFields, z.ZodType>>;

export const geminiRequest = z.strictObject(
  {
    model: z.string().min(1),
    stream: z.literal(true).optional(),
    contents: z.array(content).min(1, "contents is not specified"),
    systemInstruction: textContent.optional(),
    tools: z.array(tool).optional(),
    toolConfig: z.strictObject({
      functionCallingConfig: z.strictObject({
        mode: z.enum(["AUTO", "ANY", "NONE", "VALIDATED"]).optional(),
        allowedFunctionNames: z.array(z.string()).optional(),
        streamFunctionCallArguments: z.boolean().optional(),
      }).optional(),
      retrievalConfig: z.looseObject({}).optional(),
      includeServerSideToolInvocations: z.boolean().optional(),
    }).optional(),
    generationConfig: generationConfig.optional(),
    safetySettings: z.array(z.strictObject({
      category: z.string(),
      threshold: z.string(),
    })).optional(),
    cachedContent: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    serviceTier: z.enum(["unspecified", "standard", "flex", "priority"]).optional(),
  } satisfies Fields,
);

export type GeminiRequest = z.infer<typeof geminiRequest>;
