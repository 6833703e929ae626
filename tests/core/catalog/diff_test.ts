import { assertEquals } from "../../support/assert.ts";
import { catalogChanges, changeLine, editedCatalog } from "../../../core/catalog/diff.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";

const before: JsonObject = {
  $schema: "one",
  listRate: 22_000,
  providers: { a: { kind: "sandbox" }, b: { kind: "sandbox" } },
  models: [
    {
      id: "m",
      aliases: ["x"],
      price: { unit: "token", vndPerMtok: 10 },
      routes: [{ provider: "a" }, { provider: "b", weight: 2 }],
    },
    { id: "gone", price: { unit: "request", vnd: 1 }, routes: [{ provider: "a" }] },
  ],
};

function changed(change: (catalog: JsonObject) => void): string[] {
  const after: JsonObject = JSON.parse(JSON.stringify(before));
  change(after);
  return catalogChanges(before, after).map(changeLine);
}

Deno.test("changes are named by entry and member, old and new", () => {
  assertEquals(
    changed((catalog) => {
      catalog["$schema"] = "another";
      catalog["listRate"] = 23_000;
      catalog["providers"] = { a: { kind: "sandbox", strict: true }, c: { kind: "sandbox" } };
      catalog["models"] = [
        {
          id: "m",
          aliases: ["x", "y"],
          price: { vndPerMtok: 12, unit: "token" },
          routes: [{ provider: "a", priority: 1 }, { provider: "c" }],
        },
        { id: "new" },
      ];
    }),
    [
      "~ settings listRate: 22000 → 23000",
      "+ provider a strict: true",
      '- provider b: {"kind":"sandbox"}',
      '+ provider c: {"kind":"sandbox"}',
      '~ model m aliases: ["x"] → ["x","y"]',
      "~ model m price.vndPerMtok: 10 → 12",
      "+ model m routes.a/m.priority: 1",
      '- model m routes.b/m: {"provider":"b","weight":2}',
      '+ model m routes.c/m: {"provider":"c"}',
      '- model gone: {"id":"gone","price":{"unit":"request","vnd":1},"routes":[{"provider":"a"}]}',
      '+ model new: {"id":"new"}',
    ],
  );
});

Deno.test("another order of members is no change; another order of routes is", () => {
  assertEquals(
    changed((catalog) => {
      catalog["models"] = [...catalog["models"] as JsonObject[]].reverse();
      catalog["providers"] = { b: { kind: "sandbox" }, a: { kind: "sandbox" } };
    }),
    [],
  );
  assertEquals(
    changed((catalog) => {
      const [first] = catalog["models"] as JsonObject[];
      (first!["routes"] as JsonObject[]).reverse();
    }).length,
    1,
  );
});

Deno.test("an edit touches what it names, and nothing else", () => {
  const lines = (after: JsonObject) => catalogChanges(before, after).map(changeLine);
  assertEquals(
    lines(editedCatalog(before, { edit: "model", id: "gone", entry: { id: "renamed" } })),
    [
      '- model gone: {"id":"gone","price":{"unit":"request","vnd":1},"routes":[{"provider":"a"}]}',
      '+ model renamed: {"id":"renamed"}',
    ],
  );
  assertEquals(lines(editedCatalog(before, { edit: "provider", name: "b", entry: null })), [
    '- provider b: {"kind":"sandbox"}',
  ]);
  assertEquals(lines(editedCatalog(before, { edit: "settings", entry: { listRate: 1 } })), [
    "~ settings listRate: 22000 → 1",
  ]);
  assertEquals(lines(editedCatalog(before, { edit: "whole", entry: before })), []);
});
