/** What calls cost the operator, after `kill -9` in the middle of them: nothing is lost or counted twice. */
import { listAllReceipts } from "../support/worlds/money_world.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { readMargins } from "../../kv/money/costs/margins.ts";
import { readRateCards } from "../../kv/money/costs/provider_sheet.ts";
import { verifyStore } from "../../kv/services/verify/verify_books.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { onStore, withStoreFolder } from "../support/worlds/money_process.ts";
import { bearerPost } from "../support/api_post.ts";

const fileText = await Deno.readTextFile(new URL("../../gateway.json", import.meta.url));

/** The shipped file, whose provider charges USD for one model. */
async function writeFile(folder: string): Promise<string> {
  const file = JSON.parse(fileText);
  file.currencies = { USD: 25_400 };
  file.providers.sandbox.currency = "USD";
  const model = file.models.find(({ id }: { id: string }) => id === "general-01");
  for (const route of model.routes) {
    route.cost = { unit: "token", perMtok: "0.15", outputPerMtok: 0.6 };
  }
  const path = `${folder}/gateway.json`;
  await Deno.writeTextFile(path, JSON.stringify(file));
  return path;
}

Deno.test("kill -9 amid calls: costs, their sums and their copies equal the receipts", () =>
  withStoreFolder(async (folder) => {
    const env = { GATEWAY_CONFIG: await writeFile(folder) };
    for (const answers of [5, 20]) {
      const gateway = await startGateway({ folder, env });
      let count = 0;
      await Promise.all(Array.from({ length: 60 }, async (_, i) => {
        try {
          const answer = await fetch(
            bearerPost(`${gateway.address}/v1/chat/completions`, gateway.key, {
              model: "general-01",
              max_tokens: 50,
              stream: i % 2 === 0,
              messages: [{ role: "user", content: `[[sandbox:pace ${1 + i % 5}]] call ${i}` }],
            }),
          );
          await answer.text();
          if (++count === answers) await gateway.end("SIGKILL");
        } catch {
          // The process was killed under it.
        }
      }));
      await gateway.end("SIGKILL");
    }
    // The last life indexes what the others left behind.
    const last = await startGateway({ folder, env });
    assertEquals(await last.end("SIGTERM"), 0);
    await onStore(folder, async (kv) => {
      const report = await verifyStore(kv);
      assert(report.ok, JSON.stringify(report.problems.map(({ detail }) => detail)));
      const cards = await readRateCards(kv);
      let [calls, costMicroVnd] = [0, 0n];
      for await (const { providerCost } of listAllReceipts(kv)) {
        if (providerCost?.kind !== "known") continue;
        assert(cards.has(providerCost.card), "a receipt names a card that is not stored");
        calls++;
        costMicroVnd += providerCost.costMicroVnd;
      }
      const { total } = await readMargins(kv, { fromDay: "2020-01-01", toDay: "2999-12-31" });
      assert(calls >= 25, `${calls} calls`);
      assertEquals([total.knownCalls, total.costMicroVnd], [calls, costMicroVnd]);
    });
  }));
