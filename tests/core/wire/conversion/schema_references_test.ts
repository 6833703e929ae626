/** Schemas that are moved into another one on the way keep their references. */
import { assertEquals } from "../../../support/assert.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import {
  messagesFormatSchema,
  schemaInObject,
} from "../../../../core/wire/tools/schemas/json_schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { converted } from "./converting.ts";

/** What a pointer finds in a document. */
function find(root: Json, reference: string): Json | undefined {
  let at: Json | undefined = root;
  for (const written of reference.split("/").slice(1)) {
    const step = decodeURIComponent(written).replaceAll("~1", "/").replaceAll("~0", "~");
    at = Array.isArray(at) ? at[Number(step)] : isJsonObject(at) ? at[step] : undefined;
  }
  return at;
}

/** The words at the target of every reference of a document, in order. */
function targets(root: JsonObject): Json[] {
  const found: Json[] = [];
  const visit = (value: Json | undefined): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isJsonObject(value)) return;
    const { $ref } = value;
    if (typeof $ref === "string") {
      const target = find(root, $ref);
      found.push(
        isJsonObject(target)
          ? target["title"] ?? target["description"] ?? null
          : `nothing at ${$ref}`,
      );
    }
    Object.entries(value).filter(([key]) => key !== "const").forEach(([, child]) => visit(child));
  };
  visit(root);
  return found.sort();
}

const union: JsonObject = {
  title: "the root",
  $schema: "https://json-schema.org/draft/2020-12/schema",
  anyOf: [
    { $ref: "#/$defs/a%20b" },
    { $ref: "#/definitions/c~1d" },
    {
      title: "the third",
      type: "object",
      properties: { again: { $ref: "#" }, own: { $ref: "#/anyOf/2" }, $ref: { const: {} } },
    },
    { const: { $ref: "#/data" } },
  ],
  $defs: { "a b": { title: "A", type: "object", properties: { root: { $ref: "#" } } } },
  definitions: { "c/d": { title: "C", items: [{ $ref: "#/$defs/a%20b" }] } },
};

for (const [from, to] of [["chat", "messages"], ["messages", "chat"], ["responses", "messages"]]) {
  Deno.test(`${from} to ${to}: a tool whose schema is wrapped keeps its references`, () => {
    const user = { role: "user", content: "a" };
    const requests: Record<string, JsonObject> = {
      chat: {
        messages: [user],
        tools: [{ type: "function", function: { name: "f", parameters: union } }],
      },
      messages: {
        max_tokens: 9,
        messages: [user],
        tools: [{ name: "f", input_schema: union }],
      },
      responses: { input: [user], tools: [{ type: "function", name: "f", parameters: union }] },
    };
    const { body } = converted(from as Style, to as Style, { model: "m", ...requests[from!] });
    const [tool] = body["tools"] as JsonObject[];
    const holder = isJsonObject(tool?.["function"]) ? tool["function"] : tool;
    const schema = (holder?.["input_schema"] ?? holder?.["parameters"]) as JsonObject;
    assertEquals(Object.keys(schema["properties"] as JsonObject), ["input"]);
    assertEquals(targets(schema), targets(union));
    assertEquals(JSON.stringify(schema).includes('{"const":{"$ref":"#/data"}}'), true);
  });
}

Deno.test("a document inside the schema and its anchors keep references of their own", () => {
  const inner = { $id: "https://example.com/inner", items: { $ref: "#" }, not: { $ref: "#x" } };
  const { properties } = schemaInObject({ anyOf: [inner, { $ref: "#here" }] }, "input");
  assertEquals(properties, { input: { anyOf: [inner, { $ref: "#here" }] } });
});

Deno.test("a structured answer whose lists of types are split keeps its references", () => {
  const schema: JsonObject = {
    description: "the root",
    type: ["object", "null"],
    properties: {
      list: {
        description: "the list",
        type: ["null", "array"],
        items: { title: "item", type: "object", properties: { x: { $ref: "#/$defs/x" } } },
      },
      same: { $ref: "#/properties/list" },
      item: { $ref: "#/properties/list/items" },
      all: { $ref: "#" },
    },
    $defs: { x: { title: "X", type: "string" } },
  };
  const changed = messagesFormatSchema(schema);
  assertEquals(Object.keys(changed).sort(), ["$defs", "anyOf", "description"]);
  assertEquals(targets(schema), ["X", "item", "the list", "the root"]);
  assertEquals(targets(changed), targets(schema));
});
