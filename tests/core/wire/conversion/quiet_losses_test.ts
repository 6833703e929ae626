/** What a route cannot carry is named by the client's own path, and thinking that is left open is not lost. */
import { assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type {
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import { accepted, converted } from "./converting.ts";

const asked: Readonly<Record<Style, JsonObject>> = {
  messages: { model: "m", max_tokens: 100, messages: [{ role: "user", content: "a" }] },
  chat: { model: "m", messages: [{ role: "user", content: "a" }] },
  responses: { model: "m", input: "a" },
  gemini: { model: "m", contents: [{ role: "user", parts: [{ text: "a" }] }] },
};

const clients = ["messages", "chat", "responses", "gemini"] as const satisfies readonly Style[];
const providers = ["messages", "chat", "responses", "gemini", "converse"] as const;

Deno.test("thinking that leaves the amount to the model goes as the middle level, or is named", () => {
  const left: [Style, JsonObject, string][] = [
    ["messages", { thinking: { type: "adaptive" } }, "thinking"],
    ["chat", { thinking: { type: "enabled" } }, "thinking"],
    ["chat", { reasoning: { enabled: true } }, "reasoning"],
    [
      "gemini",
      { generationConfig: { thinkingConfig: { thinkingBudget: -1 } } },
      "generationConfig.thinkingConfig",
    ],
  ];
  for (const [client, more, path] of left) {
    for (const to of ["chat", "responses"] as const) {
      if (client === to) continue;
      const request = { ...asked[client], ...more };
      const { body, dropped } = accepted(client, to, request);
      const effort = to === "chat" ? body.reasoning_effort : body.reasoning;
      const name = `${client} to ${to}`;
      assertEquals(JSON.stringify(effort ?? null).includes("medium"), true, name);
      assertEquals(dropped, [], name);
      const none = accepted(client, to, request, { efforts: [] });
      assertEquals(none.dropped, [path], name);
    }
    if (client === "chat") continue;
    const thinksByItself: RouteCapabilities = { efforts: [], thinking_switch: "thinking" };
    assertEquals(
      accepted(client, "chat", { ...asked[client], ...more }, thinksByItself).dropped,
      [],
    );
  }
});

Deno.test("hiding thoughts does not ask for thinking", () => {
  const config = { generationConfig: { thinkingConfig: { includeThoughts: false } } };
  const { body, dropped } = accepted("gemini", "chat", { ...asked.gemini, ...config });
  assertEquals([body.reasoning_effort, dropped], [undefined, []]);
});

Deno.test("a service tier that is not carried is named, unless every provider gives it", () => {
  const field = (client: Style) => client === "gemini" ? "serviceTier" : "service_tier";
  for (const client of clients) {
    // The Messages vendor has tiers of its own, and none of them costs more.
    if (client === "messages") continue;
    for (const to of providers) {
      if (to === client) continue;
      const name = `${client} to ${to}`;
      const request = (tier: string) => ({ ...asked[client], [field(client)]: tier });
      const capabilities = { shared_fields: [] };
      const own = client === "gemini" ? "standard" : "default";
      assertEquals(
        converted(client, to, request("flex"), capabilities).dropped,
        [field(client)],
        name,
      );
      assertEquals(converted(client, to, request(own), capabilities).dropped, [], name);
    }
  }
});

Deno.test("a strict function and a strict format are named where the client wrote them", () => {
  // Strictness needs every property to be required.
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const json_schema = { name: "o", schema, strict: true };
  const cases: [JsonObject, string, readonly ProviderStyle[]][] = [
    [
      { tools: [{ type: "function", function: { name: "f", parameters: schema, strict: true } }] },
      "tools.0.function.strict",
      ["responses", "gemini", "converse"],
    ],
    [
      { functions: [{ name: "f", parameters: schema, strict: true }] },
      "functions.0.strict",
      ["responses", "gemini", "converse"],
    ],
    [
      { response_format: { type: "json_schema", json_schema } },
      "response_format.json_schema.strict",
      ["responses"],
    ],
  ];
  for (const [more, path, styles] of cases) {
    for (const to of styles) {
      const { dropped } = converted("chat", to, { ...asked.chat, ...more });
      assertEquals(dropped.filter((one) => one.endsWith(".strict")), [path], to);
    }
  }
});
