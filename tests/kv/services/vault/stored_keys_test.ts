import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { storedKeyName } from "../../../../core/catalog/schema.ts";
import { everyRow, storedKeyKey } from "../../../../kv/engine/schema/keys.ts";
import {
  commandLine,
  listAuditLines,
  operatorProgram,
} from "../../../../kv/people/audit/operator_audit.ts";
import { addVersion, readHead } from "../../../../kv/services/catalog/versions.ts";
import { LiveVault } from "../../../../kv/services/vault/live_vault.ts";
import {
  addStoredKey,
  fingerprintOf,
  isSealedWithNewest,
  listStoredKeys,
  maxSecretChars,
  maxStoredKeys,
  openStoredKey,
  providersOfStoredKeys,
  removeStoredKey,
  replaceStoredKey,
  resealStoredKeys,
  type StoredKey,
} from "../../../../kv/services/vault/stored_keys.ts";
import * as fc from "../../../support/property.ts";
import { faultyKv } from "../../../support/stores/faulty_kv.ts";

const nowMs = Date.UTC(2026, 10, 20);
const act = { operator: commandLine, nowMs };
const secret = "sk-proj-of-a-vendor-0123456789abcdef";

/** A catalogue of which only its providers are looked at. */
const naming = (providers: Record<string, string | string[]>) => ({
  providers: Object.fromEntries(
    Object.entries(providers).map(([name, apiKeyVault]) => [name, { apiKeyVault }]),
  ),
});

async function publish(kv: Deno.Kv, contents: object, effectiveFromMs?: number) {
  const base = (await readHead(kv))?.newest ?? 0;
  const wanted = { text: JSON.stringify(contents), effectiveFromMs };
  const result = await addVersion(kv, wanted, { author: commandLine, reason: "r", nowMs, base });
  assert(result.ok);
}

/** Everything that a store holds, as one text. */
async function wholeStore(kv: Deno.Kv): Promise<string> {
  const rows = await Array.fromAsync(kv.list<unknown>(everyRow()));
  return JSON.stringify(rows.map(({ key, value }) => [key, value]));
}

async function world() {
  const kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  return {
    kv,
    masterKeys,
    add: (name: string, value = secret) =>
      addStoredKey(kv, masterKeys, { name, secret: value }, act),
    row: async (name: string) => (await kv.get<StoredKey>(storedKeyKey(name))).value,
    audited: async () =>
      (await listAuditLines(kv, { count: 50 }))
        .map(({ act, subject, detail }) => `${act} ${subject}: ${detail}`).reverse(),
    [Symbol.dispose]: () => kv.close(),
  };
}

Deno.test("a secret opens under its own name, with its master key, and in no other way", () =>
  fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "binary", minLength: 1, maxLength: 60 }),
      fc.stringMatching(/^[a-z][a-z0-9-]{0,29}$/),
      fc.nat(),
      async (text, name, place) => {
        using kv = await Deno.openKv(":memory:");
        const [old, other] = [newMasterKey(), newMasterKey()];
        const masterKeys = await readMasterKeys(old);
        const added = await addStoredKey(kv, masterKeys, { name, secret: text }, act);
        assert(added.ok);
        const { key } = added;
        // Half a character of a pair does not survive UTF-8; no provider has one in a key.
        const whole = new TextDecoder().decode(new TextEncoder().encode(text));
        const opened = await openStoredKey(masterKeys, key);
        assertEquals(opened, { ok: true, secret: whole });
        // A newer master key in front changes nothing.
        const rotated = await readMasterKeys(`${other},${old}`);
        assertEquals(await openStoredKey(rotated, key), { ok: true, secret: whole });
        assert(!isSealedWithNewest(rotated, key));

        const renamed = await openStoredKey(masterKeys, { ...key, name: `${name}x` });
        assert(!renamed.ok);
        assertStringIncludes(renamed.problem, "its row was changed");
        const [version, id, iv = "", ciphertext = ""] = key.sealed.split(".");
        const at = place % (ciphertext.length - 1);
        const changed = ciphertext[at] === "A" ? "B" : "A";
        const spoilt = `${ciphertext.slice(0, at)}${changed}${ciphertext.slice(at + 1)}`;
        const sealed = [version, id, iv, spoilt].join(".");
        assert(!(await openStoredKey(masterKeys, { name, sealed })).ok);
        const lost = await openStoredKey(await readMasterKeys(other), key);
        assert(!lost.ok);
        assertEquals(
          lost.problem,
          `the stored key ${name} is sealed with the master key ${id}, which is not configured`,
        );
      },
    ),
  ));

Deno.test("no row of the store has a secret, or more of it than its last four characters", async () => {
  using it = await world();
  const other = "AIzaSyOfAnotherVendor-fedcba9876543210";
  await it.add("openai-main");
  await replaceStoredKey(it.kv, it.masterKeys, { name: "openai-main", secret: other }, act);
  await removeStoredKey(it.kv, "openai-main", { ...act, isForced: false });
  await it.add("openai-main");
  const held = await wholeStore(it.kv);
  for (const text of [secret, other]) {
    for (let at = 0; at + 8 <= text.length; at++) {
      assert(!held.includes(text.slice(at, at + 8)), `${text.slice(at, at + 8)} is in the store`);
    }
  }
  assertEquals(await it.audited(), [
    "provider_key_added openai-main: …cdef",
    "provider_key_replaced openai-main: …3210",
    "provider_key_removed openai-main: …3210",
    "provider_key_added openai-main: …cdef",
  ]);
});

Deno.test("short secrets and JSON are told apart by a digest", async () => {
  const json = JSON.stringify({ type: "service_account", private_key: "k".repeat(40) });
  for (const text of [json, "short", "x".repeat(19)]) {
    assert(/^sha256:[0-9a-f]{8}$/.test(await fingerprintOf(text)), text);
  }
  assertEquals(await fingerprintOf("x".repeat(16) + "abcd"), "…abcd");
});

Deno.test("a name is given once; replacing and removing need that it is there", async () => {
  using it = await world();
  assert((await it.add("one")).ok);
  assertEquals(await it.add("one", "another-secret-of-the-vendor"), {
    ok: false,
    reason: "exists",
  });
  const replaced = await replaceStoredKey(it.kv, it.masterKeys, { name: "one", secret: "new" }, {
    operator: operatorProgram,
    nowMs: nowMs + 1,
  });
  assert(replaced.ok);
  const { addedAtMs, addedBy, replacedAtMs, replacedBy } = (await it.row("one"))!;
  assertEquals({ addedAtMs, addedBy, replacedAtMs, replacedBy }, {
    addedAtMs: nowMs,
    addedBy: "command line",
    replacedAtMs: nowMs + 1,
    replacedBy: "operator key",
  });
  assertEquals(await openStoredKey(it.masterKeys, (await it.row("one"))!), {
    ok: true,
    secret: "new",
  });
  const missing = { ok: false, reason: "missing" } as const;
  const nobody = { name: "two", secret };
  assertEquals(await replaceStoredKey(it.kv, it.masterKeys, nobody, act), missing);
  assertEquals(await removeStoredKey(it.kv, "two", { ...act, isForced: true }), missing);
});

Deno.test("operators who add at the same time get one key, and never one too many", async () => {
  using it = await world();
  const same = await Promise.all(
    Array.from({ length: 4 }, () => it.add("same", crypto.randomUUID())),
  );
  assertEquals(same.filter(({ ok }) => ok).length, 1);
  for (let i = (await listStoredKeys(it.kv)).length; i < maxStoredKeys - 1; i++) {
    assert((await it.add(`key-${i}`)).ok);
  }
  const last = await Promise.all(["a", "b", "c"].map((name) => it.add(name)));
  assertEquals(last.filter(({ ok }) => ok).length, 1);
  assertEquals((await listStoredKeys(it.kv)).length, maxStoredKeys);
});

Deno.test("the longest secret fits into a row", async () => {
  using it = await world();
  const longest = "x".repeat(maxSecretChars);
  assert((await it.add("long", longest)).ok);
  assertEquals(await openStoredKey(it.masterKeys, (await it.row("long"))!), {
    ok: true,
    secret: longest,
  });
});

Deno.test("a key in use is removed only by force, which the audit log names", async () => {
  using it = await world();
  for (const name of ["now", "later", "both", "idle"]) await it.add(name);
  await publish(it.kv, naming({ a: "now", b: ["both", "now"] }));
  await publish(it.kv, naming({ a: "now", b: "both", c: "later", d: "both" }), nowMs + 1_000);
  assertEquals(Object.fromEntries(await providersOfStoredKeys(it.kv)), {
    now: ["a", "b"],
    both: ["b", "d"],
    later: ["c"],
  });
  const remove = (name: string, isForced = false) =>
    removeStoredKey(it.kv, name, { ...act, isForced });
  assertEquals(await remove("now"), { ok: false, reason: "in_use", providers: ["a", "b"] });
  assertEquals(await remove("later"), { ok: false, reason: "in_use", providers: ["c"] });
  assertEquals(await remove("both"), { ok: false, reason: "in_use", providers: ["b", "d"] });
  assert((await remove("idle")).ok);
  assert((await remove("both", true)).ok);
  assertEquals((await listStoredKeys(it.kv)).map(({ name }) => name), ["later", "now"]);
  assertEquals((await it.audited()).slice(-2), [
    "provider_key_removed idle: …cdef",
    "provider_key_removed both: …cdef, although in use by b, d",
  ]);
});

Deno.test("a version that names a key is not published beside the removal of that key", async () => {
  using it = await world();
  await it.add("main");
  const vault = new LiveVault({ kv: it.kv, masterKeys: it.masterKeys });
  // The author's key was there when the contents were checked.
  const validBy = await vault.refresh();
  assertEquals(vault.problemOf("main"), undefined);
  assert((await removeStoredKey(it.kv, "main", { ...act, isForced: false })).ok);
  const text = JSON.stringify(naming({ a: "main" }));
  const byAuthor = { author: commandLine, reason: "r", nowMs, base: 0 };
  const late = await addVersion(it.kv, { text, validBy }, byAuthor);
  assert(!late.ok);
  assertEquals(late.reason, "conflict");
  assertEquals(await readHead(it.kv), undefined);
});

Deno.test("a key is not removed beside the publication of a version that names it", async () => {
  using it = await world();
  await it.add("main");
  // The version is published after the catalogue was found not to name the key.
  let isPublished = false;
  const { kv } = it;
  const atomic = kv.atomic.bind(kv);
  kv.atomic = () => {
    const operation = atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = async () => {
      if (!isPublished) {
        isPublished = true;
        await publish(kv, naming({ a: "main" }));
      }
      return await commit();
    };
    return operation;
  };
  const removed = await removeStoredKey(kv, "main", { ...act, isForced: false });
  assert(isPublished);
  assertEquals(removed, { ok: false, reason: "in_use", providers: ["a"] });
  assert(await it.row("main") !== null);
});

Deno.test("keys are sealed anew with the newest master key, so that the older one can go", async () => {
  using it = await world();
  const lost = await readMasterKeys(newMasterKey());
  await it.add("one");
  await it.add("two", "another-secret-of-the-vendor");
  await addStoredKey(it.kv, lost, { name: "three", secret }, act);
  const [newest, old] = [newMasterKey(), newMasterKey()];
  const before = await readMasterKeys(old);
  for (const name of ["one", "two"]) await removeStoredKey(it.kv, name, { ...act, isForced: true });
  for (const name of ["one", "two"]) await addStoredKey(it.kv, before, { name, secret }, act);

  const rotated = await readMasterKeys(`${newest},${old}`);
  const { resealed, problems } = await resealStoredKeys(it.kv, rotated, act);
  assertEquals(resealed, ["one", "two"]);
  assertEquals(problems.length, 1);
  assertStringIncludes(problems[0]!, "the stored key three is sealed with the master key");
  const alone = await readMasterKeys(newest);
  for (const name of resealed) {
    assertEquals(await openStoredKey(alone, (await it.row(name))!), { ok: true, secret });
  }
  // There is nothing more to do, and no line says that there was.
  const lines = await it.audited();
  assertEquals((await resealStoredKeys(it.kv, rotated, act)).resealed, []);
  assertEquals(await it.audited(), lines);
});

Deno.test("a key of a vendor is no name of a stored key", () => {
  const vendors = [
    "sk-proj-AbCd1234",
    `sk-${"0123456789abcdef".repeat(2)}`,
    "AIzaSyOfAVendor",
    "gsk_0123456789abcdef",
    "0123456789abcdef",
  ];
  for (const text of vendors) assert(!storedKeyName.safeParse(text).success, text);
});

Deno.test("a commit that the store's client sends twice counts once", async () => {
  using it = await world();
  const twice = faultyKv(it.kv, (call) => call === "commit" ? "repeated" : "none");
  const wanted = { name: "main", secret };
  assert((await addStoredKey(twice, it.masterKeys, wanted, act)).ok);
  assert((await replaceStoredKey(twice, it.masterKeys, { ...wanted, secret: "next" }, act)).ok);
  assertEquals(await openStoredKey(it.masterKeys, (await it.row("main"))!), {
    ok: true,
    secret: "next",
  });
  assert((await removeStoredKey(twice, "main", { ...act, isForced: false })).ok);
  assertEquals((await it.audited()).map((line) => line.split(" ")[0]), [
    "provider_key_added",
    "provider_key_replaced",
    "provider_key_removed",
  ]);
});
