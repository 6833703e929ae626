import { assertEquals } from "../../../support/assert.ts";
import { withoutStore } from "../../../../core/calls/exchange/item_tap.ts";
import { convertRequest } from "../../../../core/wire/convert/convert.ts";
import type { RouteCapabilities, Style } from "../../../../core/wire/contract/contract.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";

const encrypted = "reasoning.encrypted_content";

Deno.test("a native answer is stored by no vendor, whatever was asked for", () => {
  const cases: [Style, JsonObject, RouteCapabilities, JsonObject, string[]][] = [
    ["responses", {}, {}, { store: false }, []],
    ["responses", { store: null }, {}, { store: false }, []],
    ["responses", { store: true }, {}, { store: false }, ["store"]],
    ["responses", { store: false, reasoning: {} }, { efforts: ["low"] }, {}, []],
    ["responses", { reasoning: {} }, {}, { store: false, include: [encrypted] }, []],
    ["responses", { include: ["x"] }, { efforts: ["low"] }, {
      store: false,
      include: ["x", encrypted],
    }, []],
    ["responses", { include: [encrypted], reasoning: {} }, {}, { store: false }, []],
    ["responses", { include: null, reasoning: {} }, {}, { store: false, include: [encrypted] }, []],
    ["responses", { reasoning: null }, { efforts: [] }, { store: false }, []],
    ["chat", {}, {}, {}, []],
    ["chat", { store: false, metadata: { a: "b" } }, {}, {}, []],
    ["chat", { store: true }, {}, { store: false }, ["store"]],
    ["chat", { store: true, metadata: { a: "b" } }, {}, { store: false, metadata: null }, [
      "store",
      "metadata",
    ]],
    ["messages", { store: true }, {}, {}, []],
  ];
  for (const [style, body, capabilities, changes, dropped] of cases) {
    assertEquals(
      withoutStore(style, body, capabilities),
      { changes, dropped },
      JSON.stringify(body),
    );
  }
});

Deno.test("a Responses client that asks for a store gets its answer from every style, and a warning", () => {
  for (const style of ["chat", "messages"] as const) {
    const body = { model: "m", input: "Hi", store: true };
    const options = { capabilities: {}, upstreamModel: "m", maxOutputTokens: 100 };
    const converted = convertRequest("responses", style, body, options);
    assertEquals([converted.ok, converted.ok && converted.request.dropped], [true, ["store"]]);
  }
});
