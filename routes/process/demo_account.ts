/**
 * Creates an account with play money, so that a fresh install can answer a call at once. Sandbox
 * mode only.
 */
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import {
  type Account,
  findAccountByEmail,
  tryCreateAccount,
} from "../../kv/people/accounts/accounts.ts";
import { createApiKey, revokeApiKey } from "../../kv/people/api_keys/api_key_changes.ts";
import { isActive, listApiKeys, revealApiKey } from "../../kv/people/api_keys/api_keys.ts";
import { credit } from "../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";

const demoEmail = "demo@sandbox.invalid";
const demoVnd = 100_000;

async function demoKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  nowMs: number,
) {
  for (const record of await listApiKeys(kv, accountId)) {
    const secret = isActive(record, nowMs) ? await revealApiKey(masterKeys, record) : undefined;
    if (secret !== undefined) return secret;
  }
  const made = await createApiKey(kv, masterKeys, accountId, { name: "demo", nowMs });
  if (!made.ok) throw new Error("Cannot make a demo key: all keys of the demo account are in use");
  return made.secret;
}

/**
 * Finds the demo account or creates it. Instances that start at the same moment on a shared store all find it missing,
 * and one of them creates it.
 */
async function demoAccount(kv: KeyValueStore, nowMs: number): Promise<Account> {
  const account = await findAccountByEmail(kv, demoEmail) ??
    await tryCreateAccount(kv, { nowMs, email: demoEmail }) ??
    await findAccountByEmail(kv, demoEmail);
  if (account === undefined) throw new Error("Cannot make the demo account");
  return account;
}

/**
 * Creates the demo account on the first start and returns a key of it. The account is credited
 * once.
 */
export async function ensureDemoAccount(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  nowMs: number,
): Promise<{ accountId: AccountId; secret: string }> {
  const account = await demoAccount(kv, nowMs);
  await credit(kv, {
    accountId: account.id,
    amountMicroVnd: fromVnd(demoVnd),
    kind: "demo",
    operationId: `demo:${account.id}`,
    reason: "Sandbox money",
    atMs: account.createdAtMs,
  });
  return { accountId: account.id, secret: await demoKey(kv, masterKeys, account.id, nowMs) };
}

/** Returns the id of the demo account, if a sandbox has used the store. */
export async function findDemoAccount(kv: KeyValueStore): Promise<AccountId | undefined> {
  return (await findAccountByEmail(kv, demoEmail))?.id;
}

/**
 * Revokes the keys of the demo account. In production the play money of a store that began as a
 * sandbox would buy real answers, and its keys are in logs and terminals. Sandbox mode creates a
 * new key.
 */
export async function retireDemoAccount(kv: KeyValueStore, nowMs: number): Promise<void> {
  const account = await findAccountByEmail(kv, demoEmail);
  if (account === undefined) return;
  for (const record of await listApiKeys(kv, account.id)) {
    if (isActive(record, nowMs)) await revokeApiKey(kv, account.id, record.id, nowMs);
  }
}
