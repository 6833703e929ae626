import { assert, assertEquals } from "../../../support/assert.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import { hashApiKey, newApiKey } from "../../../../core/people/api_keys/api_key.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { endOrganisation } from "../../../../kv/people/deletion/account_deletion.ts";
import { createAccount, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  activeKeysPerMember,
  createApiKey,
  revokeApiKey,
  rotateApiKey,
} from "../../../../kv/people/api_keys/api_key_changes.ts";
import {
  findApiKeyByHash,
  isUsableSecret,
  listApiKeys,
  maxKeysListed,
  revealApiKey,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { controlStaleMs, openControl } from "../../../../kv/engine/control/control.ts";
import { accountKey, apiKeyKey } from "../../../../kv/engine/schema/keys.ts";
import { openKeyDirectory } from "../../../../kv/people/api_keys/key_directory.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const masterKeys = await readMasterKeys(newMasterKey());

class TestClock {
  ms = 1_000_000;
  nowMs = () => this.ms;
  monotonicMs = () => this.ms;
}

async function make(kv: KeyValueStore, accountId: AccountId, name = "k") {
  const made = await createApiKey(kv, masterKeys, accountId, { name, nowMs: 1_000_000 });
  assert(made.ok);
  return made;
}

Deno.test("a key is found by its hash, shown again from its ciphertext, and stored nowhere in clear", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1 });
  const { record, secret } = await make(kv, account.id);
  assertEquals(await findApiKeyByHash(kv, await hashApiKey(secret)), record);
  assertEquals(await revealApiKey(masterKeys, record), secret);
  for await (const entry of kv.list({ prefix: [] })) {
    assert(
      !JSON.stringify([entry.key, entry.value]).includes(secret),
      "the secret is in the store",
    );
  }
});

Deno.test("the list holds every key in use, however many were made and revoked in between", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1 });
  const oldest = await make(kv, account.id, "oldest");
  for (let made = 0; made < maxKeysListed; made++) {
    const { record } = oldest;
    const id = newId("apiKey", 1_000_000);
    await kv.set(apiKeyKey(account.id, id), { ...record, id, name: "rotated", revokedAtMs: 1 });
  }
  const newest = await make(kv, account.id, "newest");
  const listed = await listApiKeys(kv, account.id);
  assertEquals([listed[0], listed.at(-1)], [oldest.record, newest.record]);
  assertEquals(listed.length, maxKeysListed + 1);
});

Deno.test("a ciphertext moved to another key does not open", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1 });
  const one = await make(kv, account.id);
  const two = await make(kv, account.id);
  assert(one.record.sealed !== undefined);
  assertEquals(
    await revealApiKey(masterKeys, { ...two.record, sealed: one.record.sealed }),
    undefined,
  );
});

Deno.test("of many keys made at once exactly ten become active, and a revoked one frees its place", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1 });
  const results = await Promise.all(
    Array.from(
      { length: 25 },
      () => createApiKey(kv, masterKeys, account.id, { name: "k", nowMs: 1 }),
    ),
  );
  let made = results.filter((result) => result.ok).length;
  // Creations that lost every race may return "conflict"; repeating them one by one must fill up to
  // the limit and no further.
  while (made < activeKeysPerMember) {
    const again = await createApiKey(kv, masterKeys, account.id, { name: "k", nowMs: 1 });
    assert(again.ok);
    made++;
  }
  const eleventh = await createApiKey(kv, masterKeys, account.id, { name: "k", nowMs: 1 });
  assertEquals(eleventh, { ok: false, reason: "limit", limit: activeKeysPerMember });
  const keys = await listApiKeys(kv, account.id);
  assertEquals(keys.length, activeKeysPerMember);
  await revokeApiKey(kv, account.id, keys[0]!.id, 2);
  assert((await createApiKey(kv, masterKeys, account.id, { name: "k", nowMs: 2 })).ok);
});

Deno.test("a rotated key works with both secrets until the grace period ends", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1 });
  const { record, secret } = await make(kv, account.id);
  const rotated = await rotateApiKey(kv, masterKeys, account.id, record.id, {
    nowMs: 100,
    graceMs: 50,
  });
  assert(rotated?.ok === true);
  const former = await hashApiKey(secret);
  const current = await hashApiKey(rotated.secret);
  const found = await findApiKeyByHash(kv, former);
  assert(found !== undefined);
  assertEquals([isUsableSecret(found, former, 149), isUsableSecret(found, former, 150)], [
    true,
    false,
  ]);
  assertEquals(isUsableSecret(found, current, 1e15), true);
  assertEquals(await revealApiKey(masterKeys, rotated.record), rotated.secret);
});

Deno.test("the directory answers without a promise while warm, and a revocation holds at once on its instance", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const control = await openControl(kv, clock);
  try {
    const directory = openKeyDirectory(kv, control, clock);
    const account = await createAccount(kv, { nowMs: 1 });
    const { record, secret } = await make(kv, account.id);
    assertEquals((await directory.lookup(secret))?.accountId, account.id);
    const warm = directory.lookup(secret);
    assert(!(warm instanceof Promise) && warm !== undefined, "a warm lookup must not wait");
    await revokeApiKey(kv, account.id, record.id, clock.ms);
    await control.refresh();
    assertEquals(await directory.lookup(secret), undefined);
  } finally {
    control.close();
  }
});

Deno.test("without a fresh look at the store nothing is served from memory", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const control = await openControl(kv, clock);
  try {
    const directory = openKeyDirectory(kv, control, clock);
    const account = await createAccount(kv, { nowMs: 1 });
    const { record, secret } = await make(kv, account.id);
    await directory.lookup(secret);
    // Another instance revokes. The polls of this one fail from here on, so its state becomes
    // stale.
    await revokeApiKey(kv, account.id, record.id, clock.ms);
    clock.ms += controlStaleMs + 1;
    assertEquals(await directory.lookup(secret), undefined);
  } finally {
    control.close();
  }
});

Deno.test("keys of a blocked account are refused within the same bound", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const control = await openControl(kv, clock);
  try {
    const directory = openKeyDirectory(kv, control, clock);
    const account = await createAccount(kv, { nowMs: 1 });
    const { secret } = await make(kv, account.id);
    await directory.lookup(secret);
    await block(kv, account.id);
    await control.refresh();
    assertEquals(await directory.lookup(secret), undefined);
  } finally {
    control.close();
  }
});

Deno.test("keys of an organisation that ended are refused before they are deleted, while its founder goes on", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const control = await openControl(kv, clock);
  try {
    const directory = openKeyDirectory(kv, control, clock);
    const nowMs = clock.nowMs();
    const ann = await createAccount(kv, { nowMs, email: "ann@example.com" });
    const { secret } = await make(kv, ann.id);
    const principal = await directory.lookup(secret);
    assert(principal !== undefined);
    // Handed over: the owner is somebody else.
    const organisation = { name: "Acme", ownerId: newId("account", nowMs), memberCount: 1 };
    await kv.set(accountKey(ann.id), { ...ann, organisation });
    await endOrganisation(kv, ann.id, { nowMs, givenUpMicroVnd: 0n });
    await control.refresh();
    assertEquals(await directory.lookup(secret), undefined);
    assertEquals(await directory.reread(principal), undefined);
    const person = await getAccount(kv, ann.id);
    assertEquals([person?.email, person?.blockedAtMs], ["ann@example.com", undefined]);
  } finally {
    control.close();
  }
});

Deno.test("an invented or mistyped key is refused without a look at the store", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const control = await openControl(kv, clock);
  try {
    const directory = openKeyDirectory(kv, control, clock);
    const mistyped = `${newApiKey().slice(0, -1)}!`;
    for (const text of ["", "sk-", "sk-ant-123", mistyped, "x".repeat(100_000)]) {
      assertEquals(directory.lookup(text), undefined, text.slice(0, 60));
    }
  } finally {
    control.close();
  }
});
