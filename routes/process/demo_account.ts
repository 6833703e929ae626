/**
 * Creates accounts with play money, in sandbox mode only: one with which a fresh install can answer a call at once, and
 * one that pays for what visitors try.
 */
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
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

/** The account of visitors; apart, so that they leave the developer's play money alone. */
const trialEmail = "visitors@sandbox.invalid";

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
 * Finds an account with play money or creates it. Instances that start at the same moment on a shared store all find it
 * missing, and one of them creates it.
 */
async function playAccount(kv: KeyValueStore, email: string, nowMs: number): Promise<Account> {
  const account = await findAccountByEmail(kv, email) ??
    await tryCreateAccount(kv, { nowMs, email }) ??
    await findAccountByEmail(kv, email);
  if (account === undefined) throw new Error("Cannot make an account with play money");
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
  const account = await playAccount(kv, demoEmail, nowMs);
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

/** Returns the account that pays for visitors, with the play money of this day. */
export async function ensureTrialAccount(
  kv: KeyValueStore,
  vndPerDay: number,
  nowMs: number,
): Promise<AccountId> {
  const { id } = await playAccount(kv, trialEmail, nowMs);
  await credit(kv, {
    accountId: id,
    amountMicroVnd: fromVnd(vndPerDay),
    kind: "demo",
    operationId: `demo:${id}:${vietnamDay(nowMs)}`,
    reason: "Sandbox money",
    atMs: nowMs,
  });
  return id;
}

/** Returns the ids of the accounts that a sandbox has created in the store. */
export async function findPlayAccounts(kv: KeyValueStore): Promise<ReadonlySet<AccountId>> {
  const found = await Promise.all(
    [demoEmail, trialEmail].map((one) => findAccountByEmail(kv, one)),
  );
  return new Set(found.flatMap((account) => account === undefined ? [] : [account.id]));
}

/**
 * Revokes the keys of these accounts. In production the play money of a store that began as a sandbox would buy real
 * answers, and the demo account's keys are in logs and terminals. Sandbox mode creates a new key.
 */
export async function retirePlayAccounts(kv: KeyValueStore, nowMs: number): Promise<void> {
  for (const accountId of await findPlayAccounts(kv)) {
    for (const record of await listApiKeys(kv, accountId)) {
      if (isActive(record, nowMs)) await revokeApiKey(kv, accountId, record.id, nowMs);
    }
  }
}
