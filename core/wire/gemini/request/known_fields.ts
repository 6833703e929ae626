/**
 * The fields of a Gemini request: which of them, and which of their members, the decoder reads.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-request.
 */
import { each, object, read, silent, textOr, unread } from "../../fields/known_fields.ts";
import { extra, type FieldTable } from "../../fields/field_table.ts";
import { isEmpty } from "../../fields/fields.ts";
import type { Json } from "../../../lib/json/json.ts";

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
