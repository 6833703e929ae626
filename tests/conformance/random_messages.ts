/** Random Messages requests. */
import * as fc from "../support/property.ts";
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import {
  closedSchema,
  idMaker,
  image,
  type Loop,
  pdf,
  schema,
  some,
  type Step,
  steps,
  toolNames,
} from "./random_steps.ts";

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
