/** A master key is given up: whatever the store has sealed opens with the newest one alone. */
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  type MasterKeys,
  newMasterKey,
  open,
  readMasterKeys,
  seal,
  sealingKeyId,
} from "../../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../../core/people/api_keys/seal_owners.ts";
import {
  apiKeyKey,
  companyOpenIdKey,
  everyRow,
  secondFactorKey,
  webhookEndpointsKey,
} from "../../../../kv/engine/schema/keys.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import {
  type ApiKeyRecord,
  getApiKey,
  revealApiKey,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { changeOwnKey } from "../../../../kv/people/api_keys/own_keys.ts";
import { keepAnswer } from "../../../../kv/people/management_keys/answers.ts";
import { readPreset, savePreset } from "../../../../kv/people/organisations/presets.ts";
import {
  addEndpoint,
  openSecrets,
  rotateEndpointSecret,
  type WebhookRow,
} from "../../../../kv/people/webhooks/endpoints.ts";
import { foreignKeys, makeSigningKey } from "../../../../kv/services/proofs/proof_keys.ts";
import { type ResealedPage, resealSecrets } from "../../../../kv/services/vault/reseal_secrets.ts";
import {
  addStoredKey,
  listStoredKeys,
  openStoredKey,
  resealStoredKeys,
} from "../../../../kv/services/vault/stored_keys.ts";

const nowMs = Date.UTC(2026, 10, 20);

/** More keys than a page has rows. */
const accounts = 520;

/** Kinds of rows with a sealed text, and the ids of the master keys that sealed them. A seal has four parts, a signature three. */
async function seals(kv: Deno.Kv): Promise<Record<string, string[]>> {
  const found: Record<string, Set<string>> = {};
  const look = (kind: string, value: unknown): void => {
    if (typeof value === "string" && /^v1\.[\w-]{8}\.[\w-]{16}\.[\w-]+$/.test(value)) {
      (found[kind] ??= new Set()).add(sealingKeyId(value));
    } else if (typeof value === "object" && value !== null) {
      for (const part of Object.values(value)) look(kind, part);
    }
  };
  for await (const { key, value } of kv.list(everyRow())) look(String(key[0]), value);
  return Object.fromEntries(Object.entries(found).map(([kind, ids]) => [kind, [...ids]]));
}

/** Fills a store with a row of each kind that has a secret. */
async function fill(kv: Deno.Kv, masterKeys: MasterKeys) {
  const keys: { readonly record: ApiKeyRecord; readonly secret: string }[] = [];
  for (let at = 0; at < accounts; at++) {
    const { id } = await createAccount(kv, { email: `a${at}@example.com`, nowMs });
    const made = await createApiKey(kv, masterKeys, id, { name: "key", nowMs });
    assert(made.ok);
    keys.push(made);
  }
  const accountId = keys[0]!.record.accountId;
  const endpoint = { url: "https://hooks.example", name: "hook", kinds: [] };
  const added = await addEndpoint(kv, masterKeys, accountId, { ...endpoint, formId: "1", nowMs });
  assert(added.ok);
  const { id: endpointId } = added.done.endpoint;
  await rotateEndpointSecret(kv, masterKeys, accountId, endpointId, { formId: "2", nowMs });
  await kv.set(secondFactorKey(accountId), {
    sealedSecret: await seal(masterKeys, "totp", sealOwners.second_factor(accountId)),
    createdAtMs: nowMs,
    lastStep: 0,
  });
  const sealedOwnKey = await seal(masterKeys, "own", sealOwners.own_keys(accountId, "vendor"));
  await kv.set(companyOpenIdKey(accountId), {
    issuer: "https://issuer.example",
    clientId: "c",
    sealedSecret: await seal(masterKeys, "client", sealOwners.company_openid(accountId)),
    role: "developer",
  });
  await changeOwnKey(kv, accountId, {
    provider: "vendor",
    change: () => ({
      provider: "vendor",
      sealed: sealedOwnKey,
      fingerprint: "…",
      fallback: false,
      isTested: true,
      setAtMs: nowMs,
    }),
    nowMs,
  });
  const preset = { model: "m", system: "Be brief.", calls: { maxPrice: { prompt: 5n } } };
  await savePreset(kv, masterKeys, accountId, { name: "p", preset, nowMs });
  await makeSigningKey(kv, masterKeys, nowMs);
  const act = { operator: commandLine, nowMs };
  await addStoredKey(kv, masterKeys, { name: "main", secret: "sk-vendor-0123456789" }, act);
  const request = { organisationId: accountId, id: "hash", fingerprint: "f" };
  await keepAnswer(kv, masterKeys, request, { answer: "{}", nowMs });
  return { keys, accountId, endpointId };
}

async function resealAll(kv: Deno.Kv, masterKeys: MasterKeys) {
  const pages: ResealedPage[] = [];
  let after: string | undefined;
  do {
    const page = await resealSecrets(kv, masterKeys, after);
    pages.push(page);
    after = page.next;
  } while (after !== undefined);
  await resealStoredKeys(kv, masterKeys, { operator: commandLine, nowMs });
  const resealed: Record<string, number> = {};
  for (const page of pages) {
    for (const [kind, count] of Object.entries(page.resealed)) {
      resealed[kind] = (resealed[kind] ?? 0) + count;
    }
  }
  return { resealed, problems: pages.flatMap(({ problems }) => problems), pages: pages.length };
}

Deno.test("secrets of every kind open with the newest master key alone, once they were sealed anew", async () => {
  using kv = await Deno.openKv(":memory:");
  const [older, newest] = [newMasterKey(), newMasterKey()];
  const before = await readMasterKeys(older);
  const { keys, accountId, endpointId } = await fill(kv, before);
  assertEquals(
    Object.keys(await seals(kv)).sort(),
    Object.keys(sealOwners).sort(),
    "this test seals a secret of each kind",
  );
  const both = await readMasterKeys(`${newest},${older}`);
  const { resealed, problems } = await resealAll(kv, both);
  assertEquals(problems, []);
  assertEquals(resealed, {
    api_key: accounts,
    webhook_endpoints: 2,
    company_openid: 1,
    own_keys: 1,
    second_factor: 1,
    preset: 1,
    proof_key: 1,
  });
  const only = await readMasterKeys(newest);
  // An answer of the management API ends within a day.
  const { management_answer: _, ...left } = await seals(kv);
  for (const [kind, ids] of Object.entries(left)) assertEquals(ids, [only.sealing.id], kind);
  for (const { record, secret } of keys) {
    const now = await getApiKey(kv, record.accountId, record.id);
    assert(now !== undefined);
    assertEquals(await revealApiKey(only, now), secret);
  }
  const { value: hooks } = await kv.get<WebhookRow>(webhookEndpointsKey(accountId));
  assert(hooks !== null);
  assertEquals((await openSecrets(only, accountId, hooks, { endpointId, nowMs })).length, 2);
  assertEquals(await foreignKeys(kv, only), []);
  const read = await readPreset(kv, only, accountId, { name: "p", version: 1 });
  assertEquals([read?.preset.system, read?.preset.calls?.maxPrice?.prompt], ["Be brief.", 5n]);
  const [stored] = await listStoredKeys(kv);
  assert(stored !== undefined && (await openStoredKey(only, stored)).ok);
  assertEquals((await resealAll(kv, both)).resealed, {}, "a second run has nothing to do");
});

Deno.test("a secret that no master key opens is named and left as it is; a run that broke off is repeated", async () => {
  using kv = await Deno.openKv(":memory:");
  const [lost, older, newest] = [newMasterKey(), newMasterKey(), newMasterKey()];
  const { keys } = await fill(kv, await readMasterKeys(older));
  const foreign = keys[7]!.record;
  const sealed = await seal(
    await readMasterKeys(lost),
    "sk",
    sealOwners.api_key(foreign.accountId, foreign.id),
  );
  await kv.set(apiKeyKey(foreign.accountId, foreign.id), { ...foreign, sealed });
  const both = await readMasterKeys(`${newest},${older}`);
  // The first page alone, as when the command was stopped behind it.
  const first = await resealSecrets(kv, both);
  assert((first.resealed.api_key ?? 0) > 0 && first.next !== undefined);
  const { resealed, problems } = await resealAll(kv, both);
  assertEquals((first.resealed.api_key ?? 0) + (resealed["api_key"] ?? 0), accounts - 1);
  assertEquals(problems.length, 1);
  assert(problems[0]?.includes(`${foreign.id}: no configured master key opens this api_key`));
  const kept = await getApiKey(kv, foreign.accountId, foreign.id);
  assertEquals(kept?.sealed, sealed);
  const owner = sealOwners.api_key(foreign.accountId, foreign.id);
  assertEquals(await open(await readMasterKeys(lost), sealed, owner), "sk");
});

Deno.test("a key that is rotated while its row is sealed anew keeps its new secret", async () => {
  using kv = await Deno.openKv(":memory:");
  const [older, newest] = [newMasterKey(), newMasterKey()];
  const { keys } = await fill(kv, await readMasterKeys(older));
  const both = await readMasterKeys(`${newest},${older}`);
  const raced = keys[3]!.record;
  const owner = sealOwners.api_key(raced.accountId, raced.id);
  let isRaced = false;
  const atomic = kv.atomic.bind(kv);
  kv.atomic = () => {
    const operation = atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = async () => {
      if (!isRaced) {
        isRaced = true;
        const record = await getApiKey(kv, raced.accountId, raced.id);
        const sealed = await seal(both, "sk-rotated", owner);
        await kv.set(apiKeyKey(raced.accountId, raced.id), { ...record, sealed });
      }
      return await commit();
    };
    return operation;
  };
  assertEquals((await resealAll(kv, both)).problems, []);
  const now = await getApiKey(kv, raced.accountId, raced.id);
  assert(now !== undefined);
  assertEquals(await revealApiKey(await readMasterKeys(newest), now), "sk-rotated");
});
