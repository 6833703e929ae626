/** What is done to tools on the way there is undone on the way back; capabilities and schemas keep their rules. */
import { assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { restoreAnswer } from "../../../../core/wire/convert/convert.ts";
import type { StreamEvent } from "../../../../core/wire/conversation/mod.ts";
import { budgetOf, effortOf, nearestEffort } from "../../../../core/wire/fields/output_format.ts";
import {
  resolveCapabilities,
  routeCapabilitiesSchema,
} from "../../../../core/wire/contract/capabilities.ts";
import { JsonProgress } from "../../../../core/lib/json/json_literal.ts";
import {
  allowsStrictChat,
  allowsStrictMessages,
  messagesFormatSchema,
} from "../../../../core/wire/tools/schemas/json_schema.ts";
import { type BlockEvent, BlockSequencer } from "../../../../core/wire/stream/choices.ts";
import { answerArguments, argumentsObject } from "../../../../core/wire/tools/tool_fields.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";

const call = (name: string, text: string) => ({
  type: "tool_call" as const,
  path: "",
  id: "1",
  name,
  input: { kind: "json_text" as const, text },
});

Deno.test("a whole answer's tools are restored", () => {
  const memory = {
    toolNames: new Map([["a_b_1", "a.b"]]),
    customTools: new Set(["calc"]),
    wrappedTools: new Set(["w"]),
    answerTool: "answer",
  };
  const restored = restoreAnswer({
    blocks: [
      call("a_b_1", "{}"),
      call("calc", '{"input":"4 + 4"}'),
      call("calc", "not wrapped"),
      call("w", '{"input":[1]}'),
      call("w", '{"other":1}'),
      call("answer", '{"x":1}'),
    ],
    stop: { reason: "tool_calls" },
  }, memory);
  const told = restored.blocks.map((block) =>
    block.type === "tool_call"
      ? [block.name, block.input.kind === "object" ? "" : block.input.text]
      : block.type === "text"
      ? [block.text]
      : []
  );
  assertEquals(told, [
    ["a.b", "{}"],
    ["calc", "4 + 4"],
    ["calc", "not wrapped"],
    ["w", "[1]"],
    ["w", '{"other":1}'],
    ['{"x":1}'],
  ]);
  const only = restoreAnswer(
    { blocks: [call("answer", "{}")], stop: { reason: "tool_calls" } },
    memory,
  );
  assertEquals(only.stop.reason, "end");
});

Deno.test("words and budgets agree both ways", () => {
  for (const effort of ["low", "medium", "high", "xhigh"] as const) {
    assertEquals(effortOf({ mode: "on", budgetTokens: budgetOf(effort), path: "" }), effort);
  }
  assertEquals(effortOf({ mode: "off", effort: "high", path: "" }), "none");
  assertEquals(effortOf({ mode: "adaptive", path: "" }), undefined);
});

Deno.test("the nearest word is on the route's list, and the lesser of two", () => {
  assertEquals(nearestEffort("minimal", ["low", "high"]), "low");
  assertEquals(nearestEffort("medium", ["low", "high"]), "low");
  assertEquals(nearestEffort("xhigh", ["low", "medium"]), "medium");
  assertEquals(nearestEffort("high", ["none"]), undefined);
  assertEquals(nearestEffort("none", ["medium"]), undefined);
});

Deno.test("capabilities are checked when they are read, and filled by style", () => {
  assertThrows(() => routeCapabilitiesSchema.parse({ max_token_field: "max_tokens" }));
  assertThrows(() => routeCapabilitiesSchema.parse({ efforts: ["huge"] }));
  assertEquals(resolveCapabilities("chat", {}).stop_max, 4);
  assertEquals(resolveCapabilities("messages", {}).tool_id, "word");
  assertEquals(resolveCapabilities("messages", { thinking: undefined }).thinking, "adaptive");
  assertEquals(resolveCapabilities("chat", { efforts: [] }).efforts, []);
});

Deno.test("strict schemas are told from others in all their depth", () => {
  const closed = (properties: JsonObject): JsonObject => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  const open: JsonObject = { type: "object", properties: { a: { type: "string" } } };
  const nested: readonly JsonObject[] = [
    closed({ a: open }),
    closed({ a: { type: "array", items: open } }),
    closed({ a: { anyOf: [{ type: "null" }, open] } }),
    { ...closed({}), $defs: { x: open } },
  ];
  const halfOpen: readonly JsonObject[] = [
    { ...closed({ a: { type: "string" } }), additionalProperties: true },
    { ...closed({ a: { type: "string" } }), required: [] },
  ];
  assertEquals(halfOpen.map(allowsStrictChat), [false, false]);
  for (const schema of nested) {
    assertEquals([allowsStrictChat(schema), allowsStrictMessages(schema)], [false, false]);
    assertEquals(allowsStrictMessages(messagesFormatSchema(schema)), true);
  }
  assertEquals(allowsStrictChat(closed({ a: closed({}) })), true);
  // A property that happens to be called like a keyword is a property.
  const named = closed({ minimum: { type: "integer" }, type: { type: "string" } });
  assertEquals([allowsStrictMessages(named), messagesFormatSchema(named)], [true, named]);
});

Deno.test("arguments: exact when they are an object, wrapped when they are not, cut back when they were cut", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.nat({ max: 60 }), (value, cut) => {
    const text = JSON.stringify({ first: 1, second: value });
    const whole = argumentsObject({ kind: "json_text", text });
    const expected: Json = JSON.parse(text);
    assertEquals<Json>(whole.input, expected);
    const input = answerArguments({ kind: "json_text", text: text.slice(0, -1 - cut) });
    // What remains is what was there: nothing is made up.
    for (const [key, kept] of Object.entries(input)) {
      assertEquals<unknown>(kept, (expected as JsonObject)[key]);
    }
  }));
});

Deno.test("an object is whole exactly when its last brace came", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.integer({ min: 1, max: 7 }),
      (value, size) => {
        const text = JSON.stringify(value);
        const progress = new JsonProgress();
        for (let at = 0; at < text.length; at += size) {
          assertEquals(progress.isWhole, false);
          progress.take(text.slice(at, at + size));
        }
        assertEquals(progress.isWhole, true);
      },
    ),
  );
});

Deno.test("the sequencer brings any mix of blocks into order and loses nothing", () => {
  const steps = fc.array(fc.record({ block: fc.nat({ max: 5 }), end: fc.boolean() }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, (steps) => {
      const ended = new Set<number>();
      const sent: BlockEvent[] = [];
      steps.forEach(({ block, end }, i) => {
        if (ended.has(block)) return;
        if (end && sent.some((event) => event.block === block)) {
          ended.add(block);
          sent.push({ type: "block_end", block });
        } else sent.push({ type: "text", block, json: JSON.stringify(String(i)) });
      });
      const out: StreamEvent[] = [];
      const sequencer = new BlockSequencer((event) => out.push(event));
      for (const event of sent) sequencer.take(event);
      sequencer.finish();
      const texts = (events: readonly StreamEvent[], block: number) =>
        events.filter((event) => event.type === "text" && event.block === block);
      for (let block = 0; block <= 5; block++) assertEquals(texts(out, block), texts(sent, block));
      assertSequential(out);
    }),
    { numRuns: 500 },
  );
});

function assertSequential(events: readonly StreamEvent[]): void {
  const done = new Set<number>();
  let open = -1;
  for (const event of events) {
    if (!("block" in event)) continue;
    assertEquals(done.has(event.block), false, "a block that ended stays ended");
    if (open !== -1) assertEquals(event.block, open, "one block at a time");
    open = event.type === "block_end" ? -1 : event.block;
    if (event.type === "block_end") done.add(event.block);
  }
  assertEquals(open, -1, "every block is ended");
}
