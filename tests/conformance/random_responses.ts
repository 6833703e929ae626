/** Random Responses requests. */
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

function responsesItems(drawn: readonly Step[], idForm: number): JsonObject[] {
  const items: JsonObject[] = [];
  const nextId = idMaker(idForm);
  let calls = 0;
  for (const one of drawn) {
    if (one.kind === "user") {
      items.push({ role: "user", content: responsesUser(one.text, one.form) });
    } else if (one.kind === "assistant") items.push(...responsesAssistant(one.text, one.form));
    else if (one.kind === "system") items.push({ role: "developer", content: one.text });
    else {
      const ids = one.loop.calls.map(() => nextId(calls++));
      items.push(...responsesLoop(one.loop, ids));
    }
  }
  items.push({ role: "user", content: closing });
  return items;
}

function responsesUser(value: string, form: number): Json {
  const part: JsonObject = { type: "input_text", text: value };
  const forms: Json[] = [
    value,
    [part, { type: "input_image", image_url: `data:image/png;base64,${image}`, detail: "auto" }],
    [{ type: "input_image", image_url: "https://example.com/a.png" }, part],
    [
      {
        type: "input_file",
        filename: "a.pdf",
        file_data: `data:application/pdf;base64,${pdf}`,
      },
      part,
    ],
    [{ ...part, prompt_cache_breakpoint: { mode: "explicit" } }],
    [part, part],
  ];
  return forms[form] ?? value;
}

function responsesAssistant(value: string, form: number): JsonObject[] {
  const said: JsonObject = { type: "message", role: "assistant", id: "msg_1", status: "completed" };
  const reasoning: JsonObject = {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: value }],
    encrypted_content: "gAAA",
  };
  const part = { type: "output_text", text: value, annotations: [] };
  return [
    [{ role: "assistant", content: value }],
    [{ ...said, content: [part] }],
    [reasoning, { ...said, content: [part] }],
    [{ ...said, content: [{ type: "refusal", refusal: value }] }],
    [{ type: "web_search_call", id: "ws_1", status: "completed" }, { ...said, content: [part] }],
  ][form] ?? [];
}

function responsesLoop(
  { calls, says, results, reversed, adds }: Loop,
  ids: readonly string[],
): JsonObject[] {
  const made = calls.map(({ tool, input }, i): JsonObject => ({
    type: "function_call",
    id: `fc_${i}`,
    call_id: ids[i],
    name: toolNames[tool],
    arguments: JSON.stringify(input),
  }));
  const answers = calls.map((_, i): JsonObject => {
    const forms: Json[] = [
      "",
      "2",
      [{ type: "input_text", text: "2" }],
      [{ type: "input_image", image_url: `data:image/png;base64,${image}` }],
      "ok",
      " ",
      "{}",
    ];
    return { type: "function_call_output", call_id: ids[i], output: forms[results[i] ?? 0] };
  });
  return [
    ...(says === undefined ? [] : [{ role: "assistant", content: says }]),
    ...made,
    ...(reversed ? answers.reverse() : answers),
    ...(adds === undefined ? [] : [{ role: "user", content: adds }]),
  ];
}

/** Responses requests. */
export const responsesRequest: fc.Arbitrary<JsonObject> = fc.tuple(
  steps,
  fc.nat(1),
  some({
    instructions: text,
    max_output_tokens: fc.constantFrom(16, 4000),
    temperature: fc.constantFrom(0, 1, 2),
    stream: fc.boolean(),
    reasoning: fc.constantFrom({ effort: "none" }, { effort: "high", summary: "auto" }, {
      summary: "detailed",
    }),
    text: fc.constantFrom(
      { verbosity: "low" },
      { format: { type: "json_object" } },
      { format: { type: "json_schema", name: "o", schema: closedSchema, strict: true } },
    ),
    include: fc.constant(["reasoning.encrypted_content"]),
    store: fc.constant(false),
    parallel_tool_calls: fc.boolean(),
    prompt_cache_key: fc.constant("k"),
  }),
  fc.constantFrom<JsonObject>(
    {},
    { tool_choice: "required" },
    { tool_choice: "none" },
    { tool_choice: { type: "function", name: "Bash" } },
    { tool_choice: { type: "custom", name: "patch" } },
    {
      tool_choice: {
        type: "allowed_tools",
        mode: "auto",
        tools: [{ type: "function", name: "Bash" }],
      },
    },
  ),
  fc.array(schema, { minLength: toolNames.length, maxLength: toolNames.length }),
  fc.boolean(),
).map(([drawn, idForm, more, choice, schemas, hasTools]): JsonObject => {
  const tools: JsonObject[] = toolNames.map((name, i) => ({
    type: "function",
    name,
    parameters: schemas[i] ?? {},
    strict: schemas[i] === closedSchema,
  }));
  tools.push({
    type: "custom",
    name: "patch",
    format: { type: "grammar", syntax: "lark", definition: "start: WORD" },
  });
  return {
    model: "m",
    input: responsesItems(drawn, idForm),
    ...more,
    ...(hasTools ? { tools, ...choice } : {}),
  };
});
