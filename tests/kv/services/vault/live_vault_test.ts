import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { type Fault, faultyKv, StoreFault } from "../../../support/stores/faulty_kv.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { vaultEpochKey } from "../../../../kv/engine/schema/keys.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { LiveVault } from "../../../../kv/services/vault/live_vault.ts";
import {
  addStoredKey,
  removeStoredKey,
  replaceStoredKey,
} from "../../../../kv/services/vault/stored_keys.ts";

const act = { operator: commandLine, nowMs: Date.UTC(2026, 10, 20) };

async function world() {
  const kv = await Deno.openKv(":memory:");
  let lists = 0;
  let fault: Fault = "none";
  const store = faultyKv(kv, (call) => {
    if (call !== "list") return "none";
    lists++;
    return fault;
  });
  const masterKeys = await readMasterKeys(newMasterKey());
  const unopened: string[] = [];
  let changes = 0;
  const vault = new LiveVault({
    kv: store,
    masterKeys,
    onUnopened: (problem) => unopened.push(problem),
  });
  vault.attach(() => void changes++);
  return {
    kv,
    masterKeys,
    vault,
    lists: () => lists,
    turn: (to: Fault) => void (fault = to),
    unopened,
    changes: () => changes,
    add: (name: string, secret: string, keys = masterKeys) =>
      addStoredKey(kv, keys, { name, secret }, act),
    /** What a poll of the control state does. */
    poll: async () =>
      await vault.follow((await kv.get<string>(vaultEpochKey())).value ?? undefined),
    [Symbol.dispose]: () => kv.close(),
  };
}

Deno.test("the vault follows what is added, replaced and removed, and reads nothing in between", async () => {
  using it = await world();
  await it.poll();
  assertEquals([it.lists(), it.changes()], [0, 0]);
  assertEquals(it.vault.problemOf("main"), "there is no stored key main");

  await it.add("main", "first");
  await it.poll();
  assertEquals([it.vault.secretOf("main"), it.lists(), it.changes()], ["first", 1, 1]);
  assertEquals(it.vault.problemOf("main"), undefined);
  for (let i = 0; i < 5; i++) await it.poll();
  assertEquals(it.lists(), 1);

  await replaceStoredKey(it.kv, it.masterKeys, { name: "main", secret: "second" }, act);
  await it.poll();
  assertEquals([it.vault.secretOf("main"), it.changes()], ["second", 2]);
  await removeStoredKey(it.kv, "main", { ...act, isForced: false });
  await it.poll();
  assertEquals([it.vault.secretOf("main"), it.changes()], [undefined, 3]);
});

Deno.test("an answer that was overtaken brings no former key back", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  const epoch = async () => (await kv.get<string>(vaultEpochKey())).value ?? undefined;
  await addStoredKey(kv, masterKeys, { name: "main", secret: "first" }, act);
  const vault = new LiveVault({ kv, masterKeys });
  // The first list has what it read long before it is told.
  const isRead = Promise.withResolvers<void>();
  const isTold = Promise.withResolvers<void>();
  const list = kv.list.bind(kv);
  let lists = 0;
  kv.list = <Value>(...call: Parameters<typeof list>) => {
    const rows = list<Value>(...call);
    if (lists++ > 0) return rows;
    const next = rows.next.bind(rows);
    rows.next = async () => {
      const row = await next();
      isRead.resolve();
      await isTold.promise;
      return row;
    };
    return rows;
  };
  const slow = vault.follow(await epoch());
  await isRead.promise;
  await replaceStoredKey(kv, masterKeys, { name: "main", secret: "second" }, act);
  const quick = vault.follow(await epoch());
  for (let turn = 0; turn < 20; turn++) await epoch();
  isTold.resolve();
  await Promise.all([slow, quick]);
  assertEquals(vault.secretOf("main"), "second");
});

Deno.test("while the store is away the keys stay, and the poll fails", async () => {
  using it = await world();
  await it.add("main", "first");
  await it.poll();
  await replaceStoredKey(it.kv, it.masterKeys, { name: "main", secret: "second" }, act);
  it.turn("before");
  await assertRejects(() => it.poll(), StoreFault);
  assertEquals(it.vault.secretOf("main"), "first");
  it.turn("none");
  await it.poll();
  assertEquals(it.vault.secretOf("main"), "second");
});

Deno.test("a key that cannot be opened is reported once, and the others are served", async () => {
  using it = await world();
  await it.add("main", "first");
  await it.add("foreign", "hidden", await readMasterKeys(newMasterKey()));
  await it.poll();
  assertEquals(it.unopened.length, 1);
  assert(/^the stored key foreign is sealed with the master key \S+, which/.test(it.unopened[0]!));
  assertEquals(it.vault.problemOf("foreign"), it.unopened[0]);
  assertEquals([it.vault.secretOf("main"), it.vault.secretOf("foreign")], ["first", undefined]);
  await it.add("more", "third");
  await it.poll();
  assertEquals(it.unopened.length, 1);
  await replaceStoredKey(it.kv, it.masterKeys, { name: "foreign", secret: "known" }, act);
  await it.poll();
  assertEquals([it.vault.secretOf("foreign"), it.unopened.length], ["known", 1]);
});
