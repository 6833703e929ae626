import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import type { Hono } from "hono";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { createAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { createAdminApp } from "../../../../../routes/operator/cli/app.ts";
import { openControl } from "../../../../../kv/engine/control/control.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { testEditing } from "../../../../support/worlds/catalog_editing.ts";
import { readAdminCommand } from "../../../../../routes/operator/cli/command_forms.ts";
import { createGatewayMetrics } from "../../../../../routes/telemetry/gateway_metrics.ts";
import { costedCatalog, makeCostedCalls } from "../../../../support/worlds/costed_calls.ts";
import { receiptOf, topUp } from "../../../../support/worlds/money_world.ts";

const nowMs = Date.UTC(2026, 10, 20, 3);

async function answerOf(app: Hono, line: string) {
  const read = readAdminCommand(line.split(" "));
  assert(read.kind === "request", JSON.stringify(read));
  const response = await app.request(read.request.path);
  assertEquals(response.status, 200);
  return await response.json();
}

Deno.test("margins and provider sheets are printed by commands", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const wallet = await openWalletEngine(kv, { clock });
  const account = await createAccount(kv, { nowMs });
  await topUp(kv, account.id, 100_000_000_000n);
  await makeCostedCalls({
    wallet,
    catalog: costedCatalog(),
    accountId: account.id,
    keyId: newId("apiKey", nowMs),
    nowMs,
    calls: 4,
  });
  await wallet.close();
  const control = await openControl(kv, clock);
  const app = createAdminApp({
    kv,
    clock,
    wallet,
    control,
    masterKeys: await readMasterKeys(newMasterKey()),
    origin: "https://gw.example",
    parts: undefined,
    retention: testConfig().retention,
    editing: testEditing(kv, clock),
    topup: testConfig().topup,
  });
  const margins = await answerOf(app, "margins --by model");
  assertEquals([margins.fromDay, margins.toDay], ["2026-11-01", "2026-11-20"]);
  const image = margins.rows.find(({ model }: { model: string }) => model === "image-1");
  assertEquals([image.revenueVnd, image.providerCostVnd, image.marginVnd], ["1000", "508", "492"]);
  assertEquals(margins.total.callsOfUnknownCost, 1);
  const sheet = await answerOf(app, "provider-sheet --from 2026-11-18 --to 2026-11-20");
  const row = sheet.rows.find(({ bucket }: { bucket: string }) => bucket === "image");
  assertEquals([row.units, row.currency, row.rate, row.sum, row.sumVnd], [
    1,
    "USD",
    "0.02",
    "0.02",
    "508",
  ]);
  const other = await answerOf(app, "provider-sheet --from 2026-11-18 --provider north");
  assertEquals(other.rows, []);
  control.close();
});

Deno.test("metrics count costs and the revenue of the same calls, by model and provider", () => {
  const { registry, observer } = createGatewayMetrics();
  const accountId = newId("account", nowMs);
  const route = "north/large#chat";
  observer.call(receiptOf(accountId, {
    route,
    costMicroVnd: 3_000_000n,
    providerCost: { kind: "known", card: "c", units: {}, costMicroVnd: 1_500_000n },
  }));
  observer.call(receiptOf(accountId, { route, providerCost: { kind: "unknown" } }));
  const text = registry.text();
  const labels = 'model="some-model",provider="north"';
  assertStringIncludes(text, `gateway_provider_cost_vnd_total{${labels}} 1.5`);
  assertStringIncludes(text, `gateway_costed_revenue_vnd_total{${labels}} 3`);
});
