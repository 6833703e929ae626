/** Gemini requests for {@linkcode wholeRequests}. */
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { png, schema } from "./whole_requests_parts.ts";

const geminiBase = { model: "m", contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
const blob = { mimeType: "image/png", data: png };
const user = (part: JsonObject): JsonObject => ({
  ...geminiBase,
  contents: [{ role: "user", parts: [part, { text: "a" }] }],
});

const contents: JsonObject[] = [
  {
    role: "user",
    parts: [
      { text: "a", partMetadata: { a: "b" } },
      { inlineData: blob, mediaResolution: { level: "MEDIA_RESOLUTION_HIGH" } },
      { inlineData: { mimeType: "application/pdf", data: "JVBERg==" }, videoMetadata: { fps: 1 } },
    ],
  },
  {
    role: "model",
    parts: [
      { text: "t", thought: true },
      { text: "b" },
      { executableCode: { language: "PYTHON", code: "1", id: "e" } },
      { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1", id: "e" } },
      { functionCall: { id: "c1", name: "f", args: { a: "1" } }, thoughtSignature: "c2ln" },
    ],
  },
  {
    role: "user",
    parts: [{
      functionResponse: {
        id: "c1",
        name: "f",
        response: { output: "1" },
        parts: [{ inlineData: blob }],
        willContinue: true,
        scheduling: "SILENT",
      },
    }],
  },
];

export const wholeGeminiRequests: readonly JsonObject[] = [
  {
    model: "m",
    stream: true,
    contents,
    systemInstruction: { parts: [{ text: "s" }] },
    tools: [
      {
        functionDeclarations: [{
          name: "f",
          description: "d",
          parametersJsonSchema: schema,
          responseJsonSchema: schema,
          behavior: "NON_BLOCKING",
        }, {
          name: "g",
          parameters: { type: "OBJECT", properties: { a: { type: "STRING" } } },
          response: { type: "STRING" },
        }],
      },
    ],
    toolConfig: {
      functionCallingConfig: {
        mode: "ANY",
        allowedFunctionNames: ["f"],
        streamFunctionCallArguments: true,
      },
      retrievalConfig: { languageCode: "vi" },
      includeServerSideToolInvocations: true,
    },
    generationConfig: {
      temperature: 0.5,
      topP: 0.5,
      topK: 4,
      maxOutputTokens: 100,
      stopSequences: ["END"],
      responseMimeType: "application/json",
      responseJsonSchema: schema,
      seed: 1,
      presencePenalty: 1,
      frequencyPenalty: 1,
      logprobs: 1,
      speechConfig: { languageCode: "vi" },
      imageConfig: { aspectRatio: "1:1" },
      mediaResolution: "MEDIA_RESOLUTION_LOW",
      enableEnhancedCivicAnswers: true,
    },
    safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
    labels: { a: "b" },
    serviceTier: "flex",
  },
  {
    ...geminiBase,
    tools: [{
      functionDeclarations: [{ name: "f" }],
      googleSearch: {},
      urlContext: {},
      codeExecution: {},
      googleMaps: {},
      fileSearch: {},
    }],
    generationConfig: {
      responseMimeType: "application/json",
      responseSchema: { type: "OBJECT", properties: { a: { type: "STRING" } }, required: ["a"] },
      thinkingConfig: { includeThoughts: true, thinkingBudget: 20_000 },
    },
  },
  { ...geminiBase, generationConfig: { thinkingConfig: { thinkingLevel: "HIGH" } } },
  { ...geminiBase, generationConfig: { candidateCount: 2 } },
  { ...geminiBase, generationConfig: { responseLogprobs: true } },
  { ...geminiBase, generationConfig: { responseModalities: ["TEXT", "IMAGE"] } },
  { ...geminiBase, cachedContent: "cachedContents/1" },
  {
    ...geminiBase,
    tools: [{ functionDeclarations: [{ name: "f" }], computerUse: { environment: "x" } }],
  },
  user({ fileData: { fileUri: "https://example.com/a", mimeType: "image/png" } }),
  user({ inlineData: { mimeType: "audio/wav", data: "UklGRg==" } }),
];
