/** Random Gemini requests. */
import * as fc from "../support/property.ts";
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import {
  closedSchema,
  closing,
  image,
  type Loop,
  pdf,
  schema,
  some,
  type Step,
  steps,
  text,
  toolNames,
} from "./random_steps.ts";

function contentsOf(drawn: readonly Step[], idForm: number): JsonObject[] {
  const contents: JsonObject[] = [];
  let calls = 0;
  for (const one of drawn) {
    if (one.kind === "user") contents.push({ role: "user", parts: userParts(one.text, one.form) });
    else if (one.kind === "assistant") {
      contents.push({ role: "model", parts: modelParts(one.text, one.form) });
    } else if (one.kind === "loop") {
      // Earlier models know no ids.
      const ids = one.loop.calls.map(() => idForm === 0 ? {} : { id: `id${calls++}` });
      contents.push(...loopContents(one.loop, ids));
    }
  }
  return [...contents, { role: "user", parts: [{ text: closing }] }];
}

function userParts(value: string, form: number): Json[] {
  const forms: Json[][] = [
    [{ text: value }],
    [{ text: value }, { inlineData: { mimeType: "image/png", data: image } }],
    [{ text: "" }, { text: value }],
    [{ inlineData: { mimeType: "application/pdf", data: pdf } }, { text: value }],
    [{ inlineData: { mimeType: "text/plain", data: "aGk=" } }, { text: value }],
    [{ inline_data: { mime_type: "image/png", data: image } }, { text: value }],
  ];
  return forms[form] ?? [];
}

function modelParts(value: string, form: number): Json[] {
  const forms: Json[][] = [
    [{ text: value }],
    [{ text: "" }],
    [{ text: value }, { text: value, thoughtSignature: "c2ln" }],
    [{ text: value, thought: true }, { text: value }],
    [{ text: value, thought: true, thoughtSignature: "c2ln" }, { text: "", thoughtSignature: "" }],
  ];
  return forms[form] ?? [];
}

function loopContents(
  { calls, says, results, reversed, adds }: Loop,
  ids: readonly JsonObject[],
): JsonObject[] {
  const made = calls.map(({ tool, input }, i): JsonObject => ({
    functionCall: { ...ids[i], name: toolNames[tool] ?? "", args: input },
    ...(i === 0 ? { thoughtSignature: "c2ln" } : {}),
  }));
  const forms: JsonObject[] = [
    {},
    { output: "2" },
    { error: "no" },
    { result: [1, 2] },
    { output: { a: 1 } },
    { output: "" },
    { a: "b", c: null },
  ];
  const given = calls.map(({ tool }, i): JsonObject => ({
    functionResponse: {
      ...ids[i],
      name: toolNames[tool] ?? "",
      response: forms[results[i] ?? 0] ?? {},
    },
  }));
  const said = says === undefined ? [] : [{ text: says }];
  const more = adds === undefined ? [] : [{ text: adds }];
  return [
    { role: "model", parts: [...said, ...made] },
    { role: "user", parts: [...(reversed ? given.reverse() : given), ...more] },
  ];
}

const calling = fc.constantFrom<JsonObject>(
  {},
  { mode: "AUTO" },
  { mode: "ANY" },
  { mode: "NONE" },
  { mode: "VALIDATED" },
  { mode: "ANY", allowedFunctionNames: ["Bash"] },
  { mode: "ANY", allowedFunctionNames: ["Bash", "get_weather"] },
);

/** Gemini requests, with the members of their path. */
export const geminiRequest: fc.Arbitrary<JsonObject> = fc.tuple(
  steps,
  fc.nat(1),
  fc.option(text, { nil: undefined }),
  some({
    maxOutputTokens: fc.constantFrom(1, 100, 4000),
    temperature: fc.constantFrom(0, 1, 2),
    topP: fc.constantFrom(0.5, 1),
    topK: fc.constantFrom(1, 40),
    stopSequences: fc.constantFrom(["END"], [], ["a", " "]),
    responseMimeType: fc.constantFrom("text/plain", "application/json"),
    responseJsonSchema: fc.constantFrom(closedSchema, { type: "object", properties: {} }),
    thinkingConfig: fc.constantFrom(
      {},
      { includeThoughts: true },
      { thinkingBudget: 0 },
      { thinkingBudget: -1, includeThoughts: false },
      { thinkingBudget: 4000 },
      { thinkingLevel: "HIGH" },
    ),
    seed: fc.constant(1),
  }),
  calling,
  fc.array(schema, { minLength: toolNames.length, maxLength: toolNames.length }),
  fc.nat(3),
  fc.boolean(),
).map(([drawn, idForm, system, config, choice, schemas, toolForm, stream]): JsonObject => ({
  model: "m",
  ...(stream ? { stream } : {}),
  contents: contentsOf(drawn, idForm),
  ...(system === undefined ? {} : { systemInstruction: { parts: [{ text: system }] } }),
  ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  ...(toolForm === 0 ? {} : {
    tools: [{ functionDeclarations: declarations(schemas, toolForm) }],
    toolConfig: { functionCallingConfig: choice },
  }),
}));

function declarations(schemas: readonly JsonObject[], form: number): JsonObject[] {
  return toolNames.map((name, i): JsonObject => ({
    name,
    description: "d",
    ...(form === 1
      ? {}
      : form === 2
      ? { parametersJsonSchema: schemas[i] ?? {} }
      : { parameters: { type: "OBJECT", properties: { a: { type: "STRING", nullable: true } } } }),
  }));
}
