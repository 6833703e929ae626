/**
 * 200 parallel calls, streamed or whole, on a wallet that can pay for three, with `kill -9` in between: all processes together never
 * spend more than the wallet has and may owe.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { credit } from "../../kv/money/ledger/ledger.ts";
import { listReceipts } from "../../kv/money/receipts/receipts.ts";
import { readWallet } from "../../kv/money/balances/wallets.ts";
import {
  assertSoundBooks,
  killAmid,
  newPayer,
  onStore,
  type Payer,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import { apiPost } from "../support/api_post.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };
const calls = 200;
const worthVnd = 60;
const debtVnd = 15;
/** A call costs about 20 VND, and holds less at its beginning than the bytes of its answer will need. */
const said = "[[sandbox:length 2400]] tell me of rivers";

/** The default file with another debt, in the folder of the store. */
async function writeConfig(folder: string): Promise<string> {
  const file = JSON.parse(await Deno.readTextFile(new URL("../../gateway.json", import.meta.url)));
  const path = `${folder}/gateway.json`;
  const wallet = { debtVnd: { toppedUp: debtVnd } };
  await Deno.writeTextFile(path, JSON.stringify({ ...file, wallet }));
  return path;
}

function rush(
  gateway: StartedGateway,
  { key }: Payer,
  stream: boolean,
  text: string,
): (() => Promise<void>)[] {
  return Array.from({ length: calls }, () => async () => {
    const response = await fetch(apiPost(`${gateway.address}/v1/chat/completions`, key, {
      model: "premium-1",
      stream,
      messages: [{ role: "user", content: text }],
    }));
    assert([200, 402, 429].includes(response.status), `${response.status}`);
    await response.text();
  });
}

for (const stream of [true, false]) {
  const name = stream ? "streams" : "whole answers without max_tokens";
  Deno.test(
    `200 ${name} at once and kill -9: never more than the wallet has and may owe`,
    processes,
    () =>
      withStoreFolder(async (folder) => {
        const env = { GATEWAY_CONFIG: await writeConfig(folder) };
        let payer: Payer;
        {
          await using first = await startMoneyGateway(folder, env);
          payer = await newPayer(first);
        }
        const { accountId } = payer;
        await onStore(folder, (kv) =>
          credit(kv, {
            accountId,
            amountMicroVnd: fromVnd(worthVnd),
            kind: "topup",
            operationId: "test:rush",
            reason: "test",
            atMs: Date.now(),
          }));
        const killed = await startMoneyGateway(folder, env);
        await killAmid(killed, rush(killed, payer, stream, `[[sandbox:pace 1]] ${said}`), 2);
        await onStore(folder, assertSoundBooks);
        {
          await using last = await startMoneyGateway(folder, env);
          await Promise.all(rush(last, payer, stream, said).map((call) => call()));
        }
        await onStore(folder, async (kv) => {
          await assertSoundBooks(kv);
          const { receipts } = await listReceipts(kv, accountId, { limit: 500 });
          const spent = receipts.reduce((sum, { costMicroVnd }) => sum + costMicroVnd, 0n);
          const produced = receipts.reduce(
            (sum, { shortfallMicroVnd }) => sum + shortfallMicroVnd,
            spent,
          );
          assert(spent > fromVnd(worthVnd - 25), `the wallet was used: ${spent}`);
          assert(produced <= fromVnd(worthVnd + debtVnd), `${produced} were given out`);
          const { availableMicroVnd } = await readWallet(kv, accountId);
          assertEquals(availableMicroVnd, fromVnd(worthVnd) - spent);
          assert(availableMicroVnd >= -fromVnd(debtVnd));
        });
      }),
  );
}
