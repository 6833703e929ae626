/** What customers, the bank and operators do at the same time, on every instance. */
import { assert, assertEquals } from "../support/assert.ts";
import { until } from "../support/until.ts";
import { openOrders, payOrders } from "./paid_orders.ts";
import { clusterTest, isLong, type Scenario } from "./scenario.ts";
import { sdkCall, sdksFor } from "./sdk_calls.ts";
import { startTraffic } from "./traffic.ts";

const orders = isLong ? 60 : 12;
const smallWallets = 3;
const callsOfSmallWallet = isLong ? 300 : 40;
/** VND: at most one reservation of {@linkcode reservedVnd} fits at a time. */
const smallVnd = 100;
const reservedVnd = 67;
/** The price of premium-1 in gateway.json. */
const vndPerMtok = 8_300;
/** Milliseconds within which a change at one instance holds at all. */
const spreadMs = 2_000;

/** One call after the other over all instances, on a wallet that pays one reservation at a time. */
async function callFromSmallWallet({ cluster, ledger }: Scenario, key: string): Promise<void> {
  const { openai } = sdksFor("http://unused.invalid", key);
  for (let number = 0; number < callsOfSmallWallet; number++) {
    const baseURL = `${cluster.address(number % cluster.gateways.length)}/v1`;
    await ledger.record(async () => {
      const { data, response } = await openai.withOptions({ baseURL }).chat.completions.create({
        model: "premium-1",
        max_tokens: Math.floor(reservedVnd / vndPerMtok * 1_000_000),
        messages: [{ role: "user", content: "hello" }],
      }).withResponse();
      const requestId = response.headers.get("x-request-id") ?? "";
      const tokens = BigInt(data.usage?.total_tokens ?? 0);
      return { requestId, costMicroVnd: tokens * BigInt(vndPerMtok) };
    });
  }
}

/** Waits until a call at each instance ends as expected: `undefined` for a whole answer. */
async function untilAll(
  { cluster, ledger }: Scenario,
  key: string,
  expected: string | undefined,
  what: string,
  model: "premium-1" | "premium-1-fast" = "premium-1",
): Promise<void> {
  await Promise.all(cluster.gateways.map(async (_, at) => {
    const sdks = sdksFor(cluster.address(at), key);
    await until(
      async () => await ledger.record(() => sdkCall(sdks, at, model)) === expected,
      `${what} at ${at}`,
      spreadMs,
    );
  }));
}

clusterTest("traffic, small wallets, bank notices, revocations, operators", {
  async run(scenario) {
    const { cluster, ledger } = scenario;
    const hot = await cluster.newPayer(ledger, 1_000_000);
    const small = await Promise.all(
      Array.from({ length: smallWallets }, () => cluster.newPayer(ledger, smallVnd)),
    );
    const traffic = startTraffic(cluster, ledger, hot.key, { clients: 9 });
    await Promise.all([
      payOrders(cluster, ledger, await openOrders(cluster, orders)),
      ...small.map(({ key }) => callFromSmallWallet(scenario, key)),
    ]);
    assertEquals([...ledger.failed], [], "no call of a client fails");

    const { id, key, keyId } = await cluster.newPayer(ledger, 1_000);
    await untilAll(scenario, key, undefined, "a new key works");
    const revoked = await cluster.admin("key", "revoke", id, keyId);
    assertEquals(revoked.code, 0, revoked.output);
    await untilAll(scenario, key, "401", "the key is refused");

    await cluster.switchModel(0, "premium-1-fast", "disable");
    await untilAll(scenario, hot.key, "503", "the route is disabled", "premium-1-fast");
    await cluster.switchModel(1, "premium-1-fast", "enable");
    await untilAll(scenario, hot.key, undefined, "the route is enabled", "premium-1-fast");
    await traffic.stop();
    assert(!ledger.failed.has("connection"));

    await cluster.operate(1, "/operator/maintenance", { on: true, message: "back soon" });
    await untilAll(scenario, hot.key, "503", "maintenance holds");
    await cluster.operate(2, "/operator/maintenance", { on: false });
    await untilAll(scenario, hot.key, undefined, "maintenance has ended");
  },
});
