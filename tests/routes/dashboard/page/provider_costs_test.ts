import { assert } from "../../../support/assert.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../support/worlds/money_world.ts";

const costMicroVnd = 918_273_645n;
const secrets = [
  "918273645",
  "918.273645",
  "918.27",
  "918,27",
  "CARDID",
  "providerCost",
  "provider_cost",
  "rate_card",
];

Deno.test("no page and no download of a customer tells what a call cost the operator", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const key = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "test",
    nowMs: world.time.nowMs(),
  });
  assert(key.ok);
  await topUp(world.kv, account.id, 2_000_000_000n);
  const reservation = await mustReserve(world.wallet, account.id, 50_000_000n);
  const { requestId } = await world.wallet.settle(
    reservation,
    draftOf(40_000_000n, {
      keyId: key.record.id,
      startedAtMs: world.time.nowMs(),
      attempts: [{ route: "sandbox/some-model", outcome: "ok", ms: 3 }],
      providerCost: { kind: "known", card: "CARDID", units: { request: 1 }, costMicroVnd },
    }),
  );
  await world.wallet.indexOnce();
  const seen: string[] = [];
  for (const { method, path } of world.routes) {
    if (method !== "GET") continue;
    const filled = path.replace(/:\w+(\{[^}]*\})?/g, requestId).replace("*", "");
    const page = await browser.get(filled);
    if (page.status !== 200) continue;
    seen.push(filled);
    const text = page.text.replaceAll(requestId, "");
    for (const secret of secrets) assert(!text.includes(secret), `${filled}: ${secret}`);
  }
  assert(seen.includes(`/receipts/${requestId}`), seen.join(" "));
  assert(seen.length > 10, seen.join(" "));
});
