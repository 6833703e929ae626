/** Which tests a change chooses. */
import { assertEquals } from "../support/assert.ts";
import { chooseTests } from "./changed.ts";

const graph = new Map<string, readonly string[]>([
  ["core/price.ts", []],
  ["core/bill.ts", ["core/price.ts"]],
  ["routes/api/call.ts", ["core/bill.ts"]],
  ["routes/server/listen/app.ts", ["routes/api/call.ts"]],
  ["tests/core/bill_test.ts", ["core/bill.ts"]],
  ["tests/core/other_test.ts", []],
  ["tests/kv/store_test.ts", ["kv/store.ts"]],
  ["tests/routes/api/call_test.ts", ["routes/server/listen/app.ts"]],
  ["tests/routes/pages/page_test.ts", ["routes/server/listen/app.ts"]],
]);
const tests = [...graph.keys()].filter((file) => file.startsWith("tests/"));

const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [
    "core/price.ts",
    ["tests/core/bill_test.ts", "tests/core/other_test.ts"],
    ["tests/routes/api/call_test.ts", "tests/routes/pages/page_test.ts"],
  ],
  ["routes/api/call.ts", ["tests/routes/api/call_test.ts"], ["tests/routes/pages/page_test.ts"]],
  ["tests/kv/store_test.ts", ["tests/kv/store_test.ts"], []],
  ["README.md", [], []],
];

for (const [changed, files, distant] of cases) {
  Deno.test(`a change of ${changed} chooses what imports it or lies beside it`, () => {
    assertEquals(chooseTests(graph, tests, new Set([changed])), { files, distant });
  });
}
