/** What the tables call lossless survives the way there and back. */
import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted } from "./converting.ts";

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).map((word) =>
  `${word}.`
);
const texts = fc.array(words.map((text) => ({ type: "text", text })), {
  minLength: 1,
  maxLength: 3,
});
const image = fc.constantFrom<JsonObject>(
  { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
  { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
);
const pdf: fc.Arbitrary<JsonObject> = fc.constant({
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: "JVBERg==" },
  title: "Plan.pdf",
});
const input = fc.dictionary(
  fc.string({ unit: "grapheme", maxLength: 6 }).filter((key) => key !== "__proto__"),
  fc.oneof(fc.integer(), words, fc.boolean(), fc.constant(null)),
  { maxKeys: 3, noNullPrototype: true },
);

/** A round of tool use: the assistant says something and calls, the user answers each call and goes on. */
const round = fc.record({
  said: fc.option(words, { nil: undefined }),
  inputs: fc.array(input, { minLength: 1, maxLength: 3 }),
  results: fc.array(fc.array(words, { maxLength: 2 }), { minLength: 3, maxLength: 3 }),
  more: fc.option(fc.array(fc.oneof(image, pdf), { maxLength: 2 }), { nil: undefined }),
});

const conversation = fc.record({
  system: fc.option(texts, { nil: undefined }),
  first: fc.tuple(texts, fc.array(fc.oneof(image, pdf), { maxLength: 2 })),
  rounds: fc.array(round, { maxLength: 3 }),
  temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
  stop: fc.option(fc.uniqueArray(words, { minLength: 1, maxLength: 4 }), { nil: undefined }),
  choice: fc.constantFrom<JsonObject | undefined>(
    undefined,
    { type: "auto" },
    { type: "any" },
    { type: "none" },
    { type: "tool", name: "f" },
    { type: "auto", disable_parallel_tool_use: true },
  ),
  stream: fc.boolean(),
}).map((given) => {
  const messages: JsonObject[] = [{
    role: "user",
    content: [...given.first[0], ...given.first[1]],
  }];
  given.rounds.forEach((turn, n) => {
    const calls = turn.inputs.map((input, i): JsonObject => ({
      type: "tool_use",
      id: `toolu_${n}_${i}`,
      name: "f",
      input,
    }));
    const said: JsonObject[] = turn.said === undefined ? [] : [{ type: "text", text: turn.said }];
    messages.push({ role: "assistant", content: [...said, ...calls] });
    const results = calls.map((call, i): JsonObject => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: plainest((turn.results[i] ?? []).map((text) => ({ type: "text", text })), ""),
    }));
    messages.push({ role: "user", content: [...results, ...turn.more ?? []] });
  });
  messages.push({ role: "assistant", content: "Done." }, { role: "user", content: "Thanks." });
  return {
    model: "upstream-model",
    max_tokens: 1000,
    messages,
    ...(given.system === undefined ? {} : { system: given.system }),
    ...(given.temperature === undefined ? {} : { temperature: given.temperature }),
    ...(given.stop === undefined ? {} : { stop_sequences: given.stop }),
    ...(given.choice === undefined ? {} : { tool_choice: given.choice }),
    tools: [{ name: "f", description: "d", input_schema: { type: "object", properties: {} } }],
    ...(given.stream ? { stream: true } : {}),
  };
});

/** One lone text is the same as a string, in both styles. */
function plainest(blocks: JsonObject[], none: string): JsonObject[] | string {
  if (blocks.length === 0) return none;
  const [first] = blocks;
  return blocks.length === 1 && first?.type === "text" ? String(first.text) : blocks;
}

function withPlainTexts(body: JsonObject): JsonObject {
  const messages = (body.messages as JsonObject[]).map((message) => ({
    ...message,
    content: Array.isArray(message.content)
      ? plainest(message.content as JsonObject[], "")
      : message.content,
  }));
  return { ...body, messages };
}

Deno.test("Messages → Chat → Messages keeps text, media, calls, results, tools, choice and sampling", () => {
  fc.assert(
    fc.property(conversation, (body) => {
      const there = accepted("messages", "chat", body);
      assertEquals(there.dropped, []);
      const back = accepted("chat", "messages", there.body);
      assertEquals(back.dropped, []);
      assertEquals(back.body, withPlainTexts(body));
    }),
    { numRuns: 300 },
  );
});

Deno.test("Chat → Messages → Chat keeps what both have", () => {
  fc.assert(
    fc.property(conversation, (body) => {
      const chat = accepted("messages", "chat", body).body;
      const there = accepted("chat", "messages", chat);
      assertEquals(accepted("messages", "chat", there.body).body, chat);
    }),
    { numRuns: 300 },
  );
});

Deno.test("the same history converts to the same bytes in every request: prompt caches depend on it", () => {
  fc.assert(
    fc.property(conversation, (body) => {
      const shorter = { ...body, messages: body.messages.slice(0, 1) };
      for (const to of ["chat", "responses"] as const) {
        const long = accepted("messages", to, body).body;
        assertEquals(JSON.stringify(accepted("messages", to, body).body), JSON.stringify(long));
        const list = to === "chat" ? "messages" : "input";
        const [first, prefix] = [shorter, body].map((request) =>
          JSON.stringify(accepted("messages", to, request).body[list]).slice(1, -1)
        );
        assertEquals(prefix?.startsWith(first ?? "-"), true);
      }
    }),
    { numRuns: 100 },
  );
});
