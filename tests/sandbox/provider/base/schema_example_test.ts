import { assertEquals } from "../../../support/assert.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { exampleOf } from "../../../../sandbox/provider/base/schema_example.ts";

Deno.test("the example fits the schema", () => {
  const cases: [JsonObject, Json][] = [
    [{ type: "object", properties: {} }, {}],
    [{ type: "object", properties: { city: { type: "string" } } }, { city: "city" }],
    [{ properties: { a: { type: "integer" }, b: { type: "boolean" }, c: { type: "null" } } }, {
      a: 1,
      b: true,
      c: null,
    }],
    [{ enum: ["x", "y"] }, "x"],
    [{ const: 7 }, 7],
    [{ type: "string", default: "d" }, "d"],
    [{ type: "string", format: "date" }, "2026-01-02"],
    [{ type: "string", format: "constructor" }, "value"],
    [{ type: "string", minLength: 8 }, "valuexxx"],
    [{ type: "string", maxLength: 2 }, "va"],
    [{ type: ["null", "number"], minimum: 2.5 }, 2.5],
    [{ type: "integer", exclusiveMinimum: 5 }, 6],
    [{ type: "number", exclusiveMaximum: 0 }, -0.5],
    [{ type: "integer", maximum: -3 }, -3],
    [{ type: "integer", multipleOf: 5, minimum: 7 }, 10],
    [{ type: "array", items: { type: "integer" }, minItems: 2 }, [1, 1]],
    [{ type: "array", maxItems: 0 }, []],
    [{ prefixItems: [{ type: "integer" }, { type: "boolean" }], type: "array" }, [1, true]],
    [{ anyOf: [{ type: "null" }, { type: "integer" }] }, null],
    [{ oneOf: [{ $ref: "#/$defs/n" }, { type: "integer" }], $defs: { n: { type: "boolean" } } }, 1],
    [{ $ref: "#/$defs/n", $defs: { n: { enum: ["z"] } } }, "z"],
    [{
      allOf: [{ properties: { a: { type: "integer" } } }, {
        properties: { b: { type: "boolean" } },
      }],
    }, { a: 1, b: true }],
    [{ type: "object", properties: {}, required: ["left"] }, { left: "left" }],
    [{ $ref: "#/$defs/missing" }, null],
  ];
  for (const [schema, expected] of cases) {
    assertEquals<unknown>(exampleOf(schema), expected, JSON.stringify(schema));
  }
});

Deno.test("a recursive schema ends", () => {
  const node: JsonObject = {
    type: "object",
    properties: {
      name: { type: "string" },
      children: { type: "array", items: { $ref: "#/$defs/node" } },
    },
    required: ["name", "children"],
  };
  const tree = JSON.stringify(exampleOf({ $ref: "#/$defs/node", $defs: { node } }));
  assertEquals(tree.length < 1_000, true, tree);
  const endless = exampleOf({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } });
  assertEquals(endless, null);
  const names = [...Array(100).keys()].map((i) => `p${i}`);
  const wide = { properties: Object.fromEntries(names.map((name) => [name, { $ref: "#" }])) };
  const bushy = exampleOf({ ...wide, required: names });
  assertEquals(JSON.stringify(bushy).length < 1_000_000, true);
});
