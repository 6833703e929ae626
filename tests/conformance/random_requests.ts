/**
 * Random requests of each style: everything a client may send that the other styles can carry, in the odd forms that
 * clients are known for.
 */
import fc from "fast-check";
import type { Json, JsonObject } from "../../core/json.ts";

const word = fc.constantFrom("alpha", "be ta", "tiếng Việt", "名前", 'quo"te', "li\nne", "😀");
const text = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(" "));
const image = "iVBORw0KGgo=";
const pdf = "JVBERi0xLjQK";

/** An object with only the members that were drawn. */
function some(members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> {
  return fc.record(members, { requiredKeys: [], noNullPrototype: true }).map((drawn) =>
    JSON.parse(JSON.stringify(drawn))
  );
}

const closedSchema: JsonObject = {
  type: "object",
  properties: { a: { type: "string" }, b: { type: "array", items: { type: "integer" } } },
  required: ["a", "b"],
  additionalProperties: false,
};

const schema = fc.constantFrom<JsonObject>(
  { type: "object" },
  { type: "object", properties: {} },
  { type: "object", properties: { a: { type: "string", minLength: 1 } }, required: ["a"] },
  { type: "object", properties: { a: { type: "array" } } },
  { type: "object", properties: { a: { type: ["string", "null"] } }, additionalProperties: false },
  closedSchema,
);

const toolNames = ["get_weather", "Bash", "a".repeat(64), "mcp__server__tool"] as const;
const toolInput = fc.constantFrom<JsonObject>({}, { a: 1 }, { path: "C:\\x", list: [1, null, {}] });

interface Loop {
  /** Calls of one assistant turn: tool and arguments. */
  readonly calls: readonly { readonly tool: number; readonly input: JsonObject }[];
  readonly says: string | undefined;
  /** What each call returned. */
  readonly results: readonly number[];
  /** Order in which the results come back. */
  readonly reversed: boolean;
  /** What the user adds. */
  readonly adds: string | undefined;
}

const loop: fc.Arbitrary<Loop> = fc.record({
  calls: fc.array(
    fc.record({ tool: fc.nat(toolNames.length - 1), input: toolInput }),
    { minLength: 1, maxLength: 3 },
  ),
  says: fc.option(text, { nil: undefined }),
  results: fc.array(fc.nat(6), { minLength: 3, maxLength: 3 }),
  reversed: fc.boolean(),
  adds: fc.option(text, { nil: undefined }),
});

type Step =
  | { readonly kind: "user"; readonly text: string; readonly form: number }
  | { readonly kind: "assistant"; readonly text: string; readonly form: number }
  | { readonly kind: "system"; readonly text: string }
  | { readonly kind: "loop"; readonly loop: Loop };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("user" as const), text, form: fc.nat(5) }),
  fc.record({ kind: fc.constant("assistant" as const), text, form: fc.nat(4) }),
  fc.record({ kind: fc.constant("system" as const), text }),
  loop.map((drawn): Step => ({ kind: "loop", loop: drawn })),
);

const steps = fc.array(step, { maxLength: 6 });

/** Makes ids of calls in one of the forms that are met. */
function idMaker(form: number): (n: number) => string {
  switch (form) {
    case 0:
      return (n) => `toolu_${n}`;
    case 1:
      return (n) => `call_${"x".repeat(50)}${n}`;
    default:
      return (n) => `functions.get_x:${n}`;
  }
}

// ------------------------------------------------------------------------------------------- Messages

function messagesTurns(drawn: readonly Step[], idForm: number): JsonObject[] {
  const turns: JsonObject[] = [{ role: "user", content: "Begin." }];
  const nextId = idMaker(Math.min(idForm, 1));
  let calls = 0;
  for (const one of drawn) {
    const last = turns.at(-1)?.["role"];
    if (one.kind === "user") {
      turns.push({ role: "user", content: messagesUser(one.text, one.form) });
    } else if (one.kind === "assistant") {
      turns.push({ role: "assistant", content: messagesAssistant(one.text, one.form) });
      turns.push({ role: "user", content: "Go on." });
    } else if (one.kind === "system" && last === "user") {
      turns.push({ role: "system", content: one.text }, { role: "assistant", content: "Yes." });
      turns.push({ role: "user", content: "Go on." });
    } else if (one.kind === "loop") {
      const ids = one.loop.calls.map(() => nextId(calls++));
      turns.push(...messagesLoop(one.loop, ids));
    }
  }
  return turns;
}

function messagesUser(value: string, form: number): Json {
  const block: JsonObject = { type: "text", text: value };
  const source = { type: "base64", media_type: "image/png", data: image };
  const forms: Json[] = [
    value,
    [block, { type: "image", source }],
    [{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }, block],
    [
      {
        type: "document",
        title: "a.pdf",
        source: { type: "base64", media_type: "application/pdf", data: pdf },
      },
      block,
    ],
    [
      { type: "document", source: { type: "text", media_type: "text/plain", data: value } },
      { type: "search_result", source: "s", title: "t", content: [block] },
      { ...block, cache_control: { type: "ephemeral" } },
    ],
    [block, block],
  ];
  return forms[form] ?? value;
}

function messagesAssistant(value: string, form: number): Json {
  const block: JsonObject = { type: "text", text: value };
  const forms: Json[] = [
    value,
    [block],
    [{ type: "thinking", thinking: value, signature: "c2ln" }, block],
    [{ type: "redacted_thinking", data: "c2ln" }, block, block],
    [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
      block,
    ],
  ];
  return forms[form] ?? value;
}

function messagesLoop(
  { calls, says, results, reversed, adds }: Loop,
  ids: readonly string[],
): JsonObject[] {
  const uses = calls.map(({ tool, input }, i): JsonObject => ({
    type: "tool_use",
    id: ids[i],
    name: toolNames[tool],
    input,
  }));
  const answers = calls.map((_, i) => messagesResult(ids[i] ?? "", results[i] ?? 0));
  return [
    {
      role: "assistant",
      content: [...(says === undefined ? [] : [{ type: "text", text: says }]), ...uses],
    },
    {
      role: "user",
      content: [
        ...(reversed ? answers.reverse() : answers),
        ...(adds === undefined ? [] : [{ type: "text", text: adds }]),
      ],
    },
  ];
}

function messagesResult(id: string, form: number): JsonObject {
  const source = { type: "base64", media_type: "image/png", data: image };
  const forms: JsonObject[] = [
    {},
    { content: "" },
    { content: "2" },
    { content: [{ type: "text", text: "2" }, { type: "image", source }] },
    { content: "It failed", is_error: true },
    {
      content: [{
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: pdf },
      }],
    },
    { content: [{ type: "image", source }] },
  ];
  return { type: "tool_result", tool_use_id: id, ...forms[form] };
}

/** Messages requests. */
export const messagesRequest: fc.Arbitrary<JsonObject> = fc.tuple(
  steps,
  fc.nat(2),
  some({
    system: fc.constantFrom("Be brief.", [{ type: "text", text: "A" }, {
      type: "text",
      text: "B",
    }]),
    temperature: fc.constantFrom(0, 0.5, 1),
    top_p: fc.constantFrom(0.5, 1),
    top_k: fc.constant(5),
    stop_sequences: fc.constantFrom([], ["END"], ["a", "b", "c", "d"]),
    stream: fc.boolean(),
    output_config: fc.constantFrom({ effort: "max" }, {
      format: { type: "json_schema", schema: closedSchema },
    }),
    metadata: fc.constant({ user_id: "u".repeat(100) }),
    service_tier: fc.constantFrom("auto", "standard_only"),
    cache_control: fc.constant({ type: "ephemeral" }),
  }),
  fc.constantFrom<JsonObject>(
    {},
    { thinking: { type: "disabled" } },
    { thinking: { type: "adaptive" } },
    { thinking: { type: "enabled", budget_tokens: 2000 } },
  ),
  fc.constantFrom<JsonObject>(
    {},
    { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    { tool_choice: { type: "any" } },
    { tool_choice: { type: "tool", name: "Bash" } },
    { tool_choice: { type: "none" } },
  ),
  fc.array(schema, { minLength: toolNames.length, maxLength: toolNames.length }),
  fc.boolean(),
).map(([drawn, idForm, more, thinking, choice, schemas, hasTools]): JsonObject => {
  const messages = messagesTurns(drawn, idForm);
  const tools = toolNames.map((name, i) => ({ name, description: "d", input_schema: schemas[i] }));
  return {
    model: "m",
    max_tokens: 4000,
    messages,
    ...more,
    ...thinking,
    ...(hasTools ? { tools, ...choice } : {}),
  };
});

/** The vendor takes `json_object` only when a message says the word. */
const closing = "Go on, in JSON if that was asked for.";

// ----------------------------------------------------------------------------------------------- Chat

function chatMessages(
  drawn: readonly Step[],
  idForm: number,
  leading: string | undefined,
): JsonObject[] {
  const messages: JsonObject[] = leading === undefined
    ? []
    : [{ role: idForm === 0 ? "developer" : "system", content: leading }];
  const nextId = idMaker(idForm);
  // Some servers hand out the same ids in every turn.
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

// ------------------------------------------------------------------------------------------ Responses

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
