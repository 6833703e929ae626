/**
 * Reads a Gemini request into a conversation. The model and the choice of streaming, which are in the path, are the
 * members `model` and `stream`.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-request and docs/conversion.md#requests-gemini-client-and-gemini-model.
 *
 * - Folder `core/wire/gemini/request/`: requests of the Gemini style, with the model and the choice of streaming as
 *   members.
 * - In: requests of Gemini clients, or conversations.
 * - Out: conversations, or requests for Gemini servers; native requests without signatures that their vendor did not
 *   make.
 * - Never: sends a request, or imports the folder of another style.
 */
import { defined } from "../../../lib/base/defined.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import type {
  Conversation,
  Effort,
  Extra,
  OutputFormat,
  ReasoningRequest,
  Sampling,
} from "../../conversation/mod.ts";
import { readChoices } from "../../fields/common_fields.ts";
import {
  each,
  extra,
  extraOf,
  extrasOf,
  type FieldTable,
  object,
  read,
  silent,
  textOr,
  unread,
  warnUnread,
} from "../../fields/field_table.ts";
import {
  invalid,
  isEmpty,
  oneOf,
  optionalBoolean,
  optionalCount,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalString,
  refuse,
  requiredString,
} from "../../fields/fields.ts";
import { Warnings } from "../../contract/warnings.ts";
import { decodeGeminiContents, decodeInstructions } from "./decode_contents.ts";
import { decodeGeminiTools, jsonSchemaOf } from "./schema.ts";
import { withReferenceNames } from "./field_names.ts";

// The fields of a Gemini request: which of them, and which of their members, the decoder reads.
//
// See docs/internals/WIRE_FORMATS.md#gemini-request.

const isFalse = (value: Json) => value === false;

const blob = object({ mimeType: read, data: read, displayName: silent });

const part = object({
  text: read,
  thought: read,
  thoughtSignature: read,
  inlineData: blob,
  fileData: object({ fileUri: read, mimeType: read, displayName: silent }),
  functionCall: object({ id: read, name: read, args: read }),
  functionResponse: object({
    id: read,
    name: read,
    response: read,
    parts: each(object({ inlineData: blob })),
    // They belong to calls that run while the model goes on, which only live sessions have.
    willContinue: unread(isFalse),
    scheduling: unread(),
  }),
  executableCode: read,
  codeExecutionResult: read,
  toolCall: read,
  toolResponse: read,
  videoMetadata: unread(),
  mediaResolution: unread(),
  partMetadata: silent,
});

const content = object({ role: read, parts: each(part) });

const declaration = object({
  name: read,
  description: read,
  parameters: read,
  parametersJsonSchema: read,
  // What a function returns: no other style has it, and no answer depends on it.
  response: silent,
  responseJsonSchema: silent,
  behavior: unread((value) => value === "BLOCKING"),
});

/** The encoders report a tool of another kind as one entry. */
const tool = (value: Json, path: string, warnings: Parameters<typeof content>[2]) => {
  if (typeof value !== "object" || value === null || !("functionDeclarations" in value)) return;
  const { functionDeclarations } = value;
  if (functionDeclarations !== undefined) {
    each(declaration)(functionDeclarations, `${path}.functionDeclarations`, warnings);
  }
};

/** Every field of the style, with the two members of the path. */
export const geminiFields = {
  model: read,
  stream: read,
  contents: textOr(each(content)),
  systemInstruction: textOr(content),
  tools: each(tool),
  toolConfig: object({
    functionCallingConfig: object({
      mode: read,
      allowedFunctionNames: read,
      streamFunctionCallArguments: unread(isFalse),
    }),
    retrievalConfig: unread(isEmpty),
    includeServerSideToolInvocations: unread(isFalse),
  }),
  generationConfig: object({
    temperature: read,
    topP: read,
    topK: read,
    maxOutputTokens: read,
    stopSequences: read,
    candidateCount: read,
    responseMimeType: read,
    responseSchema: read,
    responseJsonSchema: read,
    seed: read,
    presencePenalty: read,
    frequencyPenalty: read,
    responseLogprobs: read,
    logprobs: read,
    responseModalities: read,
    thinkingConfig: object({ includeThoughts: read, thinkingBudget: read, thinkingLevel: read }),
    speechConfig: unread(isEmpty),
    imageConfig: unread(isEmpty),
    mediaResolution: unread((value) => value === "MEDIA_RESOLUTION_UNSPECIFIED"),
    enableEnhancedCivicAnswers: unread(isFalse),
  }),
  safetySettings: extra(isEmpty),
  cachedContent: extra(() => false, "refuse"),
  labels: extra(isEmpty),
  serviceTier: read,
} satisfies FieldTable;

const at = "generationConfig";

/** Reads a Gemini request. */
export function decodeGeminiRequest(given: JsonObject): Conversation {
  const body = withReferenceNames(given);
  const warnings = new Warnings();
  const config = optionalObject(body, at, at) ?? {};
  refuseUncarried(config);
  warnUnread(body, geminiFields, warnings);
  const maxTokens = optionalCount(config, "maxOutputTokens", `${at}.maxOutputTokens`, 1);
  const tier = optionalString(body, "serviceTier", "serviceTier");
  return {
    from: "gemini",
    model: requiredString(body, "model", "model"),
    system: decodeInstructions(body.systemInstruction, "systemInstruction"),
    turns: decodeGeminiContents(body.contents),
    ...decodeGeminiTools(body),
    ...defined({
      maxTokens,
      reasoning: decodeThinking(config),
      output: decodeFormat(config, warnings),
    }),
    sampling: decodeSampling(config),
    ...decodePictures(config),
    ...readChoices(config, "candidateCount", `${at}.candidateCount`),
    ...decodeLogprobs(config, warnings),
    stream: optionalBoolean(body, "stream", "stream") ?? false,
    streamUsage: true,
    ...(tier === undefined || tier === "unspecified" ? {} : {
      serviceTier: {
        tier: tier === "standard" ? "default" : tier.toLowerCase(),
        path: "serviceTier",
      },
    }),
    extras: [...extrasOf(body, geminiFields, "gemini"), ...configExtras(config)],
    warnings: warnings.list(),
  };
}

/** Refuses what clients rely on and no other style has. */
function refuseUncarried(config: JsonObject): void {
  const modalities = optionalList(config, "responseModalities", `${at}.responseModalities`) ?? [];
  if (modalities.some((kind) => modalityOf(kind) === undefined)) {
    refuse(`${at}.responseModalities`, "this model answers in text and pictures only");
  }
}

function modalityOf(kind: Json): "TEXT" | "IMAGE" | undefined {
  const word = typeof kind === "string" ? kind.toUpperCase() : undefined;
  return word === "TEXT" || word === "IMAGE" ? word : undefined;
}

/** Reads the request for log probabilities. The vendor refuses a number of alternatives without it. */
function decodeLogprobs(config: JsonObject, warnings: Warnings): Pick<Conversation, "logprobs"> {
  const path = `${at}.responseLogprobs`;
  const top = optionalCount(config, "logprobs", `${at}.logprobs`);
  if (optionalBoolean(config, "responseLogprobs", path) !== true) {
    if (top !== undefined && top > 0) warnings.add(`${at}.logprobs`);
    return {};
  }
  return { logprobs: { path, ...defined({ top }) } };
}

function decodePictures(config: JsonObject): Pick<Conversation, "pictures"> {
  const path = `${at}.responseModalities`;
  const kinds = optionalList(config, "responseModalities", path) ?? [];
  return kinds.some((kind) => modalityOf(kind) === "IMAGE") ? { pictures: { path } } : {};
}

/** Names of the fields that Chat servers have too. */
const sharedNames = {
  seed: "seed",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
} as const;

function configExtras(config: JsonObject): Extra[] {
  return Object.entries(sharedNames).flatMap(([field, name]) => {
    const value = config[field];
    if (value === undefined || value === null) return [];
    const kind = extra((asked) => field !== "seed" && asked === 0);
    return [extraOf(name, `${at}.${field}`, value, kind)];
  });
}

function decodeSampling(config: JsonObject): Sampling {
  const temperature = optionalNumber(config, "temperature", `${at}.temperature`);
  const topP = optionalNumber(config, "topP", `${at}.topP`);
  const topK = optionalCount(config, "topK", `${at}.topK`);
  const stop = (optionalList(config, "stopSequences", `${at}.stopSequences`) ?? []).map((text) =>
    typeof text === "string" ? text : invalid(`${at}.stopSequences`, "must be a list of strings")
  );
  return { ...defined({ temperature, topP, topK }), ...(stop.length === 0 ? {} : { stop }) };
}

const levels = ["minimal", "low", "medium", "high"] as const satisfies readonly Effort[];

function decodeThinking(config: JsonObject): ReasoningRequest | undefined {
  const path = `${at}.thinkingConfig`;
  const thinking = optionalObject(config, "thinkingConfig", path);
  if (thinking === undefined) return undefined;
  const shown = optionalBoolean(thinking, "includeThoughts", `${path}.includeThoughts`);
  const budget = optionalNumber(thinking, "thinkingBudget", `${path}.thinkingBudget`);
  const word = optionalString(thinking, "thinkingLevel", `${path}.thinkingLevel`)?.toLowerCase();
  const level = word === undefined || word === "thinking_level_unspecified"
    ? undefined
    : oneOf(word, levels, `${path}.thinkingLevel`);
  // To hide thoughts asks for none.
  if (shown !== true && budget === undefined && level === undefined) return undefined;
  return {
    path,
    ...thinkingAmount(budget, `${path}.thinkingBudget`),
    ...(level === undefined ? {} : { effort: level, effortPath: `${path}.thinkingLevel` }),
    ...(shown === undefined
      ? {}
      : { display: { word: shown ? "summarized" : "omitted", path: `${path}.includeThoughts` } }),
  };
}

/** Reads a budget: 0 switches thinking off, -1 leaves it to the model. */
function thinkingAmount(
  budget: number | undefined,
  path: string,
): Pick<ReasoningRequest, "mode" | "budgetTokens"> {
  if (budget === undefined || budget === -1) return { mode: "adaptive" };
  if (!Number.isSafeInteger(budget) || budget < 0) {
    invalid(path, "must be a whole number of at least -1");
  }
  return budget === 0 ? { mode: "off" } : { mode: "on", budgetTokens: budget };
}

const json = "application/json";

function decodeFormat(config: JsonObject, warnings: Warnings): OutputFormat | undefined {
  const type = optionalString(config, "responseMimeType", `${at}.responseMimeType`);
  const own = optionalObject(config, "responseSchema", `${at}.responseSchema`);
  const schema = schemaOf(config.responseJsonSchema) ??
    (own === undefined ? undefined : jsonSchemaOf(own));
  const path = `${at}.responseMimeType`;
  if (type !== undefined && type !== json && type !== "text/plain") {
    // One of the words of an enum, without quotes: no other style has it.
    warnings.add(path);
    return undefined;
  }
  if (type !== json) return undefined;
  if (schema === undefined) return { type: "json_object", path };
  const from = config.responseJsonSchema === undefined ? "responseSchema" : "responseJsonSchema";
  return { type: "json_schema", schema, path: `${at}.${from}` };
}

function schemaOf(value: Json | undefined): JsonObject | undefined {
  return value === undefined || value === null
    ? undefined
    : optionalObject({ value }, "value", `${at}.responseJsonSchema`);
}
