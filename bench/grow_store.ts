/**
 * Fills a store as years of operation would: `grow_store.ts <store file> <receipts>`, with 1,000 wallets and 10,000
 * keys. Receipts go through the wallet engine, so that they are what the gateway writes.
 */
import { systemClock } from "../core/lib/time/clock.ts";
import { type AccountId, newId } from "../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../core/people/api_keys/seal.ts";
import { fromVnd } from "../core/billing/money/micro_vnd.ts";
import { createAccount } from "../kv/people/accounts/accounts.ts";
import { createApiKey } from "../kv/people/api_keys/api_key_changes.ts";
import { credit } from "../kv/money/ledger/ledger.ts";
import { openWalletEngine, type WalletEngine } from "../kv/money/wallet/mod.ts";
import { print } from "./print.ts";
import { receiptDraft } from "./receipt_draft.ts";
import type { KeyValueStore } from "../kv/engine/store/key_value_store.ts";

const wallets = 1_000;
const keysPerWallet = 10;
const inFlight = 256;

async function makeAccounts(kv: KeyValueStore): Promise<AccountId[]> {
  // These keys are never shown again, so their master key is discarded.
  const masterKeys = await readMasterKeys(newMasterKey());
  const accounts: AccountId[] = [];
  for (let at = 0; at < wallets; at++) {
    const nowMs = Date.now();
    const account = await createAccount(kv, { nowMs, email: `grown-${at}@example.invalid` });
    accounts.push(account.id);
    await credit(kv, {
      accountId: account.id,
      amountMicroVnd: fromVnd(1_000_000_000),
      kind: "demo",
      operationId: `grow:${at}`,
      reason: "bench",
      atMs: nowMs,
    });
    for (let key = 0; key < keysPerWallet; key++) {
      await createApiKey(kv, masterKeys, account.id, { name: `key ${key}`, nowMs });
    }
  }
  return accounts;
}

async function makeReceipts(
  wallet: WalletEngine,
  accounts: readonly AccountId[],
  count: number,
): Promise<void> {
  const keyId = newId("apiKey", Date.now());
  let made = 0;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (made < count) {
      const accountId = accounts[made++ % accounts.length];
      if (accountId === undefined) return;
      const draft = receiptDraft(keyId);
      const reserved = await wallet.reserve(accountId, draft.priceMicroVnd);
      if (!reserved.ok) throw new Error(`refused: ${reserved.reason}`);
      await wallet.settle(reserved.reservation, draft);
      if (made % 100_000 === 0) print(`  ${made} receipts`);
    }
  }));
}

const [path = "", receipts = "0"] = Deno.args;
using kv = await Deno.openKv(path);
const accounts = await makeAccounts(kv);
const wallet = await openWalletEngine(kv, { clock: systemClock });
await makeReceipts(wallet, accounts, Number(receipts));
await wallet.close();
