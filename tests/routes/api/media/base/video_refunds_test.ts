/** A video that fails costs nothing: not the wallet, not the limit of its key, not the usage that is shown. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { createApiKey } from "../../../../../kv/people/api_keys/api_key_changes.ts";
import type { ApiKeyOptions } from "../../../../../kv/people/api_keys/api_keys.ts";
import { openKeyLimitBook } from "../../../../../kv/services/limits/limit_book.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { createApp } from "../../../../../routes/server/listen/app.ts";
import { createUsageApi } from "../../../../../routes/usage_api/usage_api.ts";
import { type MediaWorld, mockProvider, openMediaWorld } from "../../gateway/media_world.ts";

const model = {
  id: "video-t",
  kind: "video",
  family: "t",
  price: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 30, vnd: 3000 }] },
  videoRules: { profile: "A" },
  routes: [{ provider: "p1" }],
};

/** A customer's key with limits, and what it asks. */
async function limitedKey(world: MediaWorld, options: Omit<ApiKeyOptions, "name">) {
  const { kv, directory, wallet, clock } = world.gateway;
  const made = await createApiKey(kv, world.test.masterKeys, world.accountId, {
    name: "limited",
    nowMs: clock.nowMs(),
    ...options,
  });
  assert(made.ok);
  const headers = { authorization: `Bearer ${made.secret}`, "content-type": "application/json" };
  // Limits look at the store every few seconds of the clock that the test moves.
  const limits = openKeyLimitBook({ kv, clock, kindOf: () => "video" });
  const gateway = { ...world.gateway, limits };
  const app = createApp(gateway, { stopping: () => false });
  const usageApi = createUsageApi({
    baseUrl: "http://localhost",
    vatRates: [],
    seller: undefined,
    kv,
    clock,
    directory,
    wallet,
  });
  return {
    video: async () =>
      await app.fetch(
        new Request("http://gateway.example/v1/videos", {
          method: "POST",
          headers,
          body: JSON.stringify({ model: "video-t", prompt: "x" }),
        }),
        { clientAddress: "127.0.0.1" },
      ),
    read: async (path: string) => await (await usageApi.request(path, { headers })).json(),
  };
}

for (const period of ["dailyLimitMicroVnd", "monthlyLimitMicroVnd"] as const) {
  Deno.test(`a refunded video no longer counts against the ${period}`, async () => {
    let state = "queued";
    await using provider = mockProvider(() => Response.json({ id: "u", status: state }));
    await using world = await openMediaWorld({
      providers: { p1: provider.port },
      models: [model],
    });
    const key = await limitedKey(world, { [period]: fromVnd(5_000) });
    const statusOf = async () => {
      const response = await key.video();
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await statusOf(), 200);
    assertEquals(await statusOf(), 402, "two would be above the limit");
    state = "failed";
    await world.advance(1_100);
    await world.poll();
    state = "queued";
    await world.advance(10_000);
    assertEquals(await statusOf(), 200, "the first one was refunded");
    assertEquals(await statusOf(), 402);
    assertEquals(await world.balanceVnd(), 997_000);
  });
}

Deno.test("usage and receipts show refunds, and the sums agree", async () => {
  let state = "queued";
  await using provider = mockProvider(() => Response.json({ id: "u", status: state }));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model] });
  const key = await limitedKey(world, {});
  const failed = await key.video();
  await failed.body?.cancel();
  state = "failed";
  await world.advance(1_100);
  await world.poll();
  state = "queued";
  const made = await key.video();
  await made.body?.cancel();
  for (const isIndexed of [false, true]) {
    if (isIndexed) await world.gateway.wallet.indexOnce();
    const usage = await key.read("/v1/usage");
    assertEquals([usage.total.cost_vnd, usage.total.refunded_vnd], ["6000", "3000"]);
    assertEquals(usage.data[0].refunded_vnd, "3000");
    const { data } = await key.read("/v1/receipts");
    const shown = data.map((receipt: Record<string, unknown>) => [
      receipt["request_id"],
      receipt["cost_vnd"],
      receipt["refunded_vnd"],
      typeof receipt["refunded_at"],
    ]);
    assertEquals(shown, [
      [made.headers.get("x-request-id"), "3000", "0", "object"],
      [failed.headers.get("x-request-id"), "3000", "3000", "string"],
    ]);
    const one = await key.read(`/v1/receipts/${failed.headers.get("x-request-id")}`);
    assertEquals([one.cost_vnd, one.refunded_vnd], ["3000", "3000"]);
    assertEquals((await verifyStore(world.gateway.kv)).problems, []);
  }
});
