/** Play money of a sandbox never buys answers of a real provider: the store does not start until it is voided. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { Config } from "../../core/config/config.ts";
import { credit } from "../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { verifyStore } from "../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../kv/money/balances/wallets.ts";
import { runAdmin } from "../../routes/operator/cli/cli.ts";
import { openingCreditOf } from "../../routes/server/assembly/pages.ts";
import { ensureDemoAccount } from "../../routes/process/demo_account.ts";
import { openParts } from "../../routes/server/assembly/opening.ts";
import { testConfig } from "../support/gateways/gateway_in_process.ts";
import { newAccount } from "../support/worlds/money_world.ts";

const clock = systemClock;
const masterKeys = newMasterKey();

function configs(folder: string) {
  const env = { GATEWAY_KV: `${folder}/kv`, GATEWAY_MASTER_KEYS: masterKeys };
  return {
    sandbox: testConfig({ env }),
    production: testConfig({
      env: { ...env, PROVIDER_KEY: "provider-secret-1234567890" },
      file: (file) => ({
        ...file,
        providers: {
          sandbox: { kind: "http", baseUrl: "http://127.0.0.1:9", apiKeyEnv: "PROVIDER_KEY" },
        },
      }),
    }),
  };
}

/** Opens a store as the start does, and gives what was done with it, or why the start was refused. */
async function started<Done>(
  config: Config,
  act: (kv: KeyValueStore, keys: Parameters<typeof ensureDemoAccount>[1]) => Promise<Done>,
): Promise<Done | string> {
  const opened = await openParts(config, { clock, write: () => {} });
  if (!opened.ok) return opened.problem;
  using store = opened.store;
  return await act(store.kv, opened.masterKeys);
}

async function give(kv: KeyValueStore, accountId: AccountId): Promise<void> {
  const baseUrl = "http://127.0.0.1:8787";
  const options = { kv, clock, baseUrl, sandbox: true, bankTransfer: false };
  await openingCreditOf(options)?.(accountId);
}

const nothing = () => Promise.resolve("started" as const);

Deno.test("a store with sandbox money starts in production only after a command that voids it", async () => {
  const folder = await Deno.makeTempDir();
  const { sandbox, production } = configs(folder);
  const account = newAccount();
  assertEquals([sandbox.mode, production.mode], ["sandbox", "production"]);
  await started(sandbox, async (kv, keys) => {
    await ensureDemoAccount(kv, keys, clock.nowMs());
    await give(kv, account);
  });
  const refused = await started(production, nothing);
  assertStringIncludes(refused, "1 account(s) of this store have 20000 VND of sandbox money");
  assertStringIncludes(refused, "deno task admin sandbox void");

  const output: string[] = [];
  const world = {
    clock,
    write: (bytes: Uint8Array) => void output.push(new TextDecoder().decode(bytes)),
    error: (text: string) => void output.push(text),
  };
  assertEquals(await runAdmin(production, ["sandbox", "void"], world), 0, output.join(""));
  assertStringIncludes(output.join(""), '"voidedVnd": "120000"');
  const left = await started(production, async (kv) => {
    assertEquals((await verifyStore(kv)).problems, []);
    return (await readWallet(kv, account)).availableMicroVnd;
  });
  assertEquals(left, 0n);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("the demo account alone, or sandbox money that is spent, does not keep a store from production", async () => {
  const folder = await Deno.makeTempDir();
  const { sandbox, production } = configs(folder);
  const account = newAccount();
  await started(sandbox, async (kv, keys) => {
    await ensureDemoAccount(kv, keys, clock.nowMs());
  });
  assertEquals(await started(production, nothing), "started");
  const paid = await started(production, async (kv) => {
    const more = await credit(kv, {
      accountId: account,
      amountMicroVnd: fromVnd(50_000),
      kind: "topup",
      operationId: "test:topup",
      reason: "test",
      atMs: clock.nowMs(),
    });
    return more.status;
  });
  assertEquals(paid, "applied");
  assertEquals(await started(production, nothing), "started", "paid money is no sandbox money");
  assert(await started(sandbox, nothing) !== undefined);
  await Deno.remove(folder, { recursive: true });
});
