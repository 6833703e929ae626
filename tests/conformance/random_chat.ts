/** Random Chat requests. */
import * as fc from "../support/property.ts";
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import {
  closedSchema,
  closing,
  idMaker,
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

function chatMessages(
  drawn: readonly Step[],
  idForm: number,
  leading: string | undefined,
): JsonObject[] {
  const messages: JsonObject[] = leading === undefined
    ? []
    : [{ role: idForm === 0 ? "developer" : "system", content: leading }];
  const nextId = idMaker(idForm);
  // Some servers reuse the same ids in every turn.
  let calls = 0;
  for (const one of drawn) {
    if (one.kind === "user") {
      messages.push({ role: "user", content: chatUser(one.text, one.form) });
    } else if (one.kind === "assistant") messages.push(chatAssistant(one.text, one.form));
    else if (one.kind === "system") messages.push({ role: "system", content: one.text });
    else {
      const ids = one.loop.calls.map((_, i) => nextId(idForm === 2 ? i : calls++));
      messages.push(...chatLoop(one.loop, ids));
    }
  }
  messages.push({ role: "user", content: closing });
  return messages;
}

function chatUser(value: string, form: number): Json {
  const part: JsonObject = { type: "text", text: value };
  const url = `data:image/png;base64,${image}`;
  const forms: Json[] = [
    value,
    [part, { type: "image_url", image_url: { url, detail: "low" } }],
    [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }, part],
    [
      {
        type: "file",
        file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` },
      },
      part,
    ],
    [{ type: "text", text: "" }, part],
    [{ ...part, cache_control: { type: "ephemeral" } }, part],
  ];
  return forms[form] ?? value;
}

function chatAssistant(value: string, form: number): JsonObject {
  const forms: JsonObject[] = [
    { content: value },
    { content: "" },
    { content: [{ type: "text", text: value }, { type: "text", text: value }] },
    { content: null, refusal: value },
    { content: value, reasoning_content: value, refusal: null, annotations: [] },
  ];
  return { role: "assistant", ...forms[form] };
}

function chatLoop(
  { calls, says, results, reversed, adds }: Loop,
  ids: readonly string[],
): JsonObject[] {
  const tool_calls = calls.map(({ tool, input }, i): JsonObject => ({
    id: ids[i],
    type: "function",
    function: {
      name: toolNames[tool],
      arguments: results[i] === 6 ? "" : results[i] === 5 ? '{"cut' : JSON.stringify(input),
    },
  }));
  const answers = calls.map((_, i): JsonObject => {
    const forms: Json[] = ["", "2", [{ type: "text", text: "2" }], "Error: no", " ", "[]", "ok"];
    return { role: "tool", tool_call_id: ids[i], content: forms[results[i] ?? 0] };
  });
  return [
    { role: "assistant", content: says ?? null, tool_calls },
    ...(reversed ? answers.reverse() : answers),
    ...(adds === undefined ? [] : [{ role: "user", content: adds }]),
  ];
}

/** Chat requests. */
export const chatRequest: fc.Arbitrary<JsonObject> = fc.tuple(
  steps,
  fc.nat(2),
  fc.option(text, { nil: undefined }),
  some({
    max_completion_tokens: fc.constantFrom(1, 100, 4000),
    temperature: fc.constantFrom(0, 1, 2),
    top_p: fc.constantFrom(0.5, 1),
    stop: fc.constantFrom("END", ["a", " "], []),
    stream: fc.boolean(),
    reasoning_effort: fc.constantFrom("none", "minimal", "low", "high", "xhigh"),
    response_format: fc.constantFrom(
      { type: "text" },
      { type: "json_object" },
      { type: "json_schema", json_schema: { name: "o", schema: closedSchema, strict: true } },
      {
        type: "json_schema",
        json_schema: { name: "o", schema: { type: "object", properties: { a: { minimum: 1 } } } },
      },
    ),
    seed: fc.constant(1),
    user: fc.constant("u".repeat(100)),
    service_tier: fc.constantFrom("auto", "default", "flex"),
    parallel_tool_calls: fc.boolean(),
  }),
  fc.constantFrom<JsonObject>(
    {},
    { tool_choice: "auto" },
    { tool_choice: "required" },
    { tool_choice: "none" },
    { tool_choice: { type: "function", function: { name: "Bash" } } },
    {
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: {
          mode: "required",
          tools: [{ type: "function", function: { name: "Bash" } }],
        },
      },
    },
  ),
  fc.array(schema, { minLength: toolNames.length, maxLength: toolNames.length }),
  fc.nat(3),
).map(([drawn, idForm, leading, more, choice, schemas, toolForm]): JsonObject => {
  const tools: JsonObject[] = toolNames.map((name, i) => ({
    type: "function",
    function: {
      name,
      ...(toolForm === 1 ? {} : { parameters: schemas[i] ?? {} }),
      ...(toolForm === 2 && schemas[i] === closedSchema ? { strict: true } : {}),
    },
  }));
  if (toolForm === 2) tools.push({ type: "custom", custom: { name: "patch", description: "d" } });
  return {
    model: "m",
    messages: chatMessages(drawn, idForm, leading),
    ...more,
    ...(toolForm === 0 ? {} : { tools, ...choice }),
  };
});
