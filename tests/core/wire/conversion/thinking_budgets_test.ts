/** How much a model may think is what its vendor takes, whatever the client asks for. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { modelFacts } from "../../../../core/catalog/presets/model_facts.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted } from "./converting.ts";

/** The figures of https://ai.google.dev/gemini-api/docs/thinking. */
const published = [
  { name: "gemini-2.5-pro", min: 128, max: 32_768, canBeOff: false },
  { name: "models/gemini-2.5-flash", min: 1, max: 24_576, canBeOff: true },
  { name: "gemini-2.5-flash-lite-preview", min: 512, max: 24_576, canBeOff: true },
];

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const requests = fc.oneof(
  fc.constantFrom(...efforts).map((reasoning_effort) => ({
    from: "chat" as const,
    names: false,
    body: { model: "m", messages: [{ role: "user", content: "Hi" }], reasoning_effort },
  })),
  fc.integer({ min: 1, max: 200_000 }).map((budget_tokens) => ({
    from: "messages" as const,
    names: true,
    body: {
      model: "m",
      max_tokens: 64_000,
      messages: [{ role: "user", content: "Hi" }],
      thinking: { type: "enabled", budget_tokens },
    },
  })),
);

function budgetIn(body: JsonObject): Json | undefined {
  const config = body.generationConfig as JsonObject | undefined;
  return (config?.thinkingConfig as JsonObject | undefined)?.thinkingBudget;
}

for (const { name, min, max, canBeOff } of published) {
  Deno.test(`${name} gets a budget that it takes, and a named one that changes is told`, () => {
    fc.assert(
      fc.property(requests, ({ from, names, body }) => {
        const sent = accepted(from, "gemini", body, modelFacts("gemini", name));
        const budget = budgetIn(sent.body);
        assert(typeof budget === "number");
        assert(budget === 0 ? canBeOff : budget >= min && budget <= max, `${budget}`);
        const asked = (body as JsonObject).thinking as JsonObject | undefined;
        const changed = names && asked?.budget_tokens !== budget;
        if (changed) assertEquals(sent.dropped, ["thinking"]);
      }),
      { numRuns: 300 },
    );
  });
}

Deno.test("a model without figures decides by itself above what all of its vendor's models take", () => {
  fc.assert(
    fc.property(requests, ({ from, body }) => {
      const budget = budgetIn(accepted(from, "gemini", body, { thinking: "budget" }).body);
      assert(typeof budget === "number" && budget <= 24_576);
    }),
    { numRuns: 300 },
  );
  const chat = { model: "m", messages: [{ role: "user", content: "Hi" }], reasoning_effort: "max" };
  assertEquals(budgetIn(accepted("chat", "gemini", chat, { thinking: "budget" }).body), -1);
});

Deno.test("thinking is switched off as the model takes it, else lowered and named", () => {
  const body = {
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    reasoning_effort: "none",
  };
  const forms: readonly (readonly [string, JsonObject, readonly string[]])[] = [
    ["claude-sonnet-5-5", { thinking: { type: "between_tools" } }, []],
    ["us.anthropic.claude-opus-5-5-v1", { output_config: { effort: "low" } }, ["reasoning_effort"]],
    ["claude-sonnet-4-5", { thinking: { type: "disabled" } }, []],
  ];
  for (const [model, expected, named] of forms) {
    const sent = accepted("chat", "messages", body, modelFacts("messages", model));
    const { thinking, output_config } = sent.body;
    assertEquals(
      { ...(thinking && { thinking }), ...(output_config && { output_config }) },
      expected,
    );
    assertEquals(sent.dropped, named);
  }
});

Deno.test("thinking between calls only is off elsewhere; named where there are tools to call", () => {
  const body = {
    model: "m",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
    thinking: { type: "between_tools" },
  };
  const tools = [{ name: "f", input_schema: { type: "object" } }];
  const chat = accepted("messages", "chat", body, { efforts: ["none", "low"] });
  assertEquals([chat.body.reasoning_effort, chat.dropped], ["none", []]);
  assertEquals(accepted("messages", "gemini", { ...body, tools }).dropped, ["thinking"]);
});

Deno.test("the last change of the effort within a Responses conversation is what counts", () => {
  const update = (effort: string): JsonObject => ({
    type: "configuration_update",
    reasoning: { effort },
  });
  const body = {
    model: "m",
    reasoning: { effort: "low" },
    input: [
      update("medium"),
      { role: "user", content: "Hi" },
      update("high"),
      { role: "user", content: "Go on" },
    ],
  };
  const chat = accepted("responses", "chat", body);
  assertEquals([chat.body.reasoning_effort, chat.dropped], ["high", []]);
  assertEquals(accepted("responses", "messages", body).body.output_config, { effort: "high" });
  const odd = { ...body, input: [...body.input, { ...update("low"), verbosity: "low" }] };
  assertEquals(accepted("responses", "chat", odd).dropped, ["input.4.verbosity"]);
});
