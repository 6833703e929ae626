/** Thinking that a client switches off is off, or the client hears that it is not. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { withoutIdleEffort } from "../../../../core/calls/exchange/chat_exchange.ts";
import { presetOf } from "../../../../core/catalog/presets/presets.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type {
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import { converted } from "./converting.ts";

const messages = [{ role: "user", content: "Hi" }];

/** Requests that switch thinking off, with an effort beside it where the style allows both. */
const off: readonly (readonly [Style, JsonObject])[] = [
  ["messages", {
    model: "m",
    max_tokens: 100,
    messages,
    thinking: { type: "disabled" },
    output_config: { effort: "high" },
  }],
  ["messages", { model: "m", max_tokens: 100, messages, thinking: { type: "disabled" } }],
  ["chat", { model: "m", messages, reasoning_effort: "none" }],
  ["chat", { model: "m", messages, thinking: { type: "disabled" }, reasoning_effort: "high" }],
  ["responses", { model: "m", input: "Hi", reasoning: { effort: "none" } }],
];

Deno.test("a route with a switch gets it, and no effort", () => {
  const switches: [RouteCapabilities["thinking_switch"], JsonObject][] = [
    ["thinking", { thinking: { type: "disabled" } }],
    ["reasoning", { reasoning: { enabled: false } }],
    ["enable_thinking", { enable_thinking: false }],
  ];
  for (const [from, body] of off) {
    if (from === "chat") continue;
    for (const [thinking_switch, members] of switches) {
      const request = converted(from, "chat", body, { thinking_switch });
      for (const [name, value] of Object.entries(members)) {
        assertEquals(request.body[name], value, `${from}: ${thinking_switch}`);
      }
      assertEquals(request.body["reasoning_effort"], undefined);
      assertEquals(request.dropped, []);
    }
  }
});

Deno.test("a route that knows the level none gets that", () => {
  const request = converted("messages", "chat", off[0]![1], {
    efforts: ["none", "low"],
    thinking_switch: "thinking",
  });
  assertEquals([request.body["reasoning_effort"], request.body["thinking"]], ["none", undefined]);
});

Deno.test("a route without either gets its lowest level, and the client hears of it", () => {
  const routes: [ProviderStyle, RouteCapabilities][] = [
    ["chat", { efforts: ["low", "high"] }],
    ["responses", { efforts: ["minimal", "low"] }],
    ["gemini", { thinking: "adaptive", efforts: ["low", "high"] }],
    ["converse", { reasoning_field: "reasoning_effort", efforts: ["low", "high"] }],
  ];
  for (const [from, body] of off) {
    for (const [to, capabilities] of routes) {
      if (from === to) continue;
      const { dropped } = converted(from, to, body, capabilities);
      assert(dropped.length > 0, `${from} to ${to}: unnamed`);
    }
  }
});

Deno.test("presets of vendors with a switch name it", () => {
  const rows = [
    ["deepseek", "thinking"],
    ["zai", "thinking"],
    ["openrouter", "reasoning"],
    ["qwen", "enable_thinking"],
  ] as const;
  for (const [name, field] of rows) {
    assertEquals(presetOf(name).facts?.chat?.thinking_switch, field);
  }
});

Deno.test("a native Messages route whose models take no effort gets none beside thinking that is off", () => {
  const body = {
    thinking: { type: "disabled" },
    output_config: { effort: "high", format: { type: "json_schema", schema: {} } },
  };
  const { changes, dropped } = withoutIdleEffort("messages", body, { efforts: [] });
  assertEquals(changes, { output_config: { format: { type: "json_schema", schema: {} } } });
  assertEquals(dropped, ["output_config.effort"]);
  const thinks = { ...body, thinking: { type: "adaptive" } };
  assertEquals(withoutIdleEffort("messages", thinks, { efforts: [] }).dropped, []);
});
