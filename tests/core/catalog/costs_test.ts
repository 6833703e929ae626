import { assert, assertEquals } from "../../support/assert.ts";
import { buildCatalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { readConfig } from "../../../core/config/config.ts";

const fileText = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));
type File = {
  currencies?: Record<string, unknown>;
  providers: Record<string, Record<string, unknown>>;
  models: { id: string; kind: string; routes: Record<string, unknown>[] }[];
};

function changed(change: (file: File) => void): File {
  const file: File = JSON.parse(fileText);
  change(file);
  return file;
}

function problemsOf(change: (file: File) => void): readonly string[] {
  const read = readConfig({}, JSON.stringify(changed(change)));
  return read.ok ? [] : read.problems;
}

const costOf = (kind: string, cost: object) => (file: File) => {
  file.models.find((model) => model.kind === kind)!.routes[0]!["cost"] = cost;
};

Deno.test("a route has its rate card in the currency of its provider", () => {
  const file = changed((written) => {
    written.currencies = { USD: "25400.5" };
    written.providers["sandbox"]!["currency"] = "USD";
    written.models[0]!.routes[0]!["cost"] = { unit: "token", perMtok: "0.15" };
  });
  const built = buildCatalog(gatewayFileSchema.parse(file));
  assert(built.ok && built.catalog.hasCosts);
  const [first, second] = built.catalog.models;
  assertEquals(first?.routes[0]?.rateCard?.terms.currency, { code: "USD", vndPerUnit: "25400.5" });
  assertEquals(second?.routes[0]?.rateCard, undefined);
});

Deno.test("a file without costs has none", () => {
  const built = buildCatalog(gatewayFileSchema.parse(JSON.parse(fileText)));
  assert(built.ok && !built.catalog.hasCosts);
});

Deno.test("a currency needs a rate", () => {
  assertEquals(problemsOf((file) => file.providers["sandbox"]!["currency"] = "USD"), [
    'gateway.json providers.sandbox.currency: "USD" is not in currencies',
  ]);
  assertEquals(problemsOf((file) => file.providers["sandbox"]!["currency"] = "VND"), []);
  for (const currencies of [{ USD: 0 }, { VND: 1 }, { usd: 1 }, { USD: 1e-7 }, { USD: "1e3" }]) {
    assert(
      problemsOf((file) => file.currencies = currencies).length > 0,
      JSON.stringify(currencies),
    );
  }
});

Deno.test("a cost is in a unit in which calls of its model are measured", () => {
  const fitting: readonly [string, object][] = [
    ["chat", { unit: "token", perMtok: 0.000001 }],
    ["chat", { unit: "request", amount: 0 }],
    ["image", { unit: "image", amount: "0.04" }],
    ["speech", { unit: "request", amount: 1 }],
    ["video", { unit: "second", perMinute: 6 }],
    ["video", { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 9, amount: 1 }] }],
  ];
  for (const [kind, cost] of fitting) {
    assertEquals(problemsOf(costOf(kind, cost)), [], `${kind} ${JSON.stringify(cost)}`);
  }
  const unfit: readonly [string, object][] = [
    ["chat", { unit: "image", amount: 1 }],
    ["speech", { unit: "second", perMinute: 1 }],
    ["image", { unit: "token", perMtok: 1 }],
    ["chat", { unit: "token", perMtok: "0.0000001" }],
    ["chat", { unit: "token", perMtok: -1 }],
    ["chat", { unit: "token" }],
    ["chat", { unit: "request", amount: 1, hostedTools: { web_search: { vndPerUse: 1 } } }],
  ];
  for (const [kind, cost] of unfit) {
    assert(problemsOf(costOf(kind, cost)).length > 0, `${kind} ${JSON.stringify(cost)}`);
  }
});
