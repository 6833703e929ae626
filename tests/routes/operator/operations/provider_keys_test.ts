/** Stored keys of providers, from the operator's API to the header of a call. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { everyRow } from "../../../../kv/engine/schema/keys.ts";
import { exportRecords } from "../../../../kv/services/verify/export.ts";
import { operatorApi } from "../../../support/worlds/operator_api.ts";
import {
  openStoredKeyWorld,
  storedKeyCatalogue,
} from "../../../support/worlds/stored_key_world.ts";

const keys = "/api/provider-keys";
const first = "sk-vendor-first-0123456789-aaaa";
const second = "sk-vendor-second-9876543210-bbbb";

Deno.test("a key is added, replaced and removed while two instances serve, each without a restart", async () => {
  await using w = await openStoredKeyWorld();
  const { gateway, other } = w;
  // A gateway whose provider has no key yet starts, and refuses calls without asking the provider.
  assertEquals((await w.call()).status, 503);
  assertEquals(w.sent, []);
  const { body: { data: [before] } } = await w.operate("GET", "/routes");
  assertEquals(before.credentials, { count: 0, resting: 0, reasons: ["not configured"] });

  const added = await w.operate("POST", keys, { name: "main", secret: first });
  assertEquals([added.status, added.body.fingerprint], [200, "…aaaa"]);
  await w.poll();
  for (const instance of [gateway, other]) assertEquals((await w.call(instance)).status, 200);
  assertEquals(w.sent.splice(0), [first, first]);

  assertEquals((await w.operate("PUT", `${keys}/main`, { secret: second })).status, 200);
  await w.poll();
  for (const instance of [gateway, other]) assertEquals((await w.call(instance)).status, 200);
  assertEquals(w.sent.splice(0), [second, second]);

  const refused = await w.operate("DELETE", `${keys}/main`, {});
  // Nothing was published yet: `gateway.json` is not in the store.
  assertEquals(refused.status, 200);
});

Deno.test("a key that the catalogue names is removed by force only; its provider is out of use then", async () => {
  await using w = await openStoredKeyWorld();
  await w.operate("GET", "/catalog");
  await w.operate("POST", keys, { name: "main", secret: first });
  const refused = await w.operate("DELETE", `${keys}/main`);
  assertEquals([refused.status, refused.body.providers], [409, ["vendor"]]);
  assertEquals((await w.call()).status, 200);
  assertEquals((await w.operate("DELETE", `${keys}/main`, { force: true })).status, 200);
  await w.poll();
  for (const instance of [w.gateway, w.other]) {
    assertEquals((await w.call(instance)).status, 503);
  }
  assertEquals(w.sent, [first]);
});

Deno.test("a version that names a key which is not there is refused, and says where", async () => {
  await using w = await openStoredKeyWorld();
  await w.operate("POST", keys, { name: "main", secret: first });
  const { body: { newest } } = await w.operate("GET", "/catalog");
  const wanted = storedKeyCatalogue(w.port, ["main", "spare"]);
  const problem = "catalogue providers.vendor.apiKeyVault: there is no stored key spare";
  const preview = await w.operate("POST", "/catalog/preview", { catalog: wanted });
  assertEquals([preview.status, preview.body.problems], [422, [problem]]);
  const body = { catalog: wanted, reason: "two keys" };
  const late = await w.operate("PUT", "/catalog", body, newest);
  assertEquals([late.status, late.body.error.problems], [422, [problem]]);
  // All problems are told at once.
  const worse = { ...wanted, listRate: -1 };
  const both = await w.operate("POST", "/catalog/preview", { catalog: worse });
  assertEquals(both.body.problems.length, 2);

  // Added on this instance, it is known at once; on another one as soon as it looks.
  await w.operate("POST", keys, { name: "spare", secret: second });
  assertEquals((await w.operate("PUT", "/catalog", body, newest)).status, 200);
  await w.poll();
  for (const instance of [w.gateway, w.other]) {
    w.sent.length = 0;
    for (let i = 0; i < 16; i++) {
      assertEquals((await w.call(instance, `conversation ${i}`)).status, 200);
    }
    assertEquals([...new Set(w.sent)].toSorted(), [first, second]);
  }
  const single = { catalog: storedKeyCatalogue(w.port), reason: "one again" };
  assertEquals((await w.operate("PUT", "/catalog", single, newest + 1)).status, 200);
  assertEquals((await w.operate("DELETE", `${keys}/spare`)).status, 200);
  const back = { version: newest + 1, reason: "back" };
  const rollback = await w.operate("POST", "/catalog/rollback", back, newest + 2);
  assertEquals(rollback.status, 422);
  assertStringIncludes(rollback.text, "there is no stored key spare");
});

Deno.test("an instance with other master keys serves without the key, and says why", async () => {
  const otherMasterKeys = await readMasterKeys(newMasterKey());
  await using w = await openStoredKeyWorld({ otherMasterKeys });
  await w.operate("POST", keys, { name: "main", secret: first });
  await w.poll();
  await w.poll();
  assertEquals((await w.call()).status, 200);
  assertEquals((await w.call(w.other)).status, 503);
  const lines = w.other.log.filter((line) =>
    line.includes("a stored provider key cannot be opened")
  );
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, "which is not configured");
});

Deno.test("a refused secret or name is named, without what was sent", async () => {
  await using w = await openStoredKeyWorld();
  await w.operate("POST", keys, { name: "main", secret: first });
  const wrong: readonly [unknown, string][] = [
    [{ name: "main", secret: second }, "name"],
    [{ name: first, secret: second }, "name"],
    [{ name: "next", secret: `${second} with spaces` }, "secret"],
    [{ name: "next", secret: "khoá" }, "secret"],
    [{ name: "next", secret: "" }, "secret"],
    [{ name: "next", secret: "\n" }, "secret"],
    [{ name: "next", secret: second.repeat(300) }, "secret"],
    [{ name: "next" }, "secret"],
    [{ name: "next", secret: second, note: first }, "note"],
  ];
  for (const [body, param] of wrong) {
    const answer = await w.operate("POST", keys, body);
    assertEquals([answer.status, answer.body.error.param], [400, param], JSON.stringify(body));
    for (const secret of [first, second]) assert(!answer.text.includes(secret), answer.text);
  }
  assertEquals((await w.operate("PUT", `${keys}/nobody`, { secret: second })).status, 404);
  assertEquals((await w.operate("DELETE", `${keys}/nobody`)).status, 404);
  // The line end of a file is no part of it, and the JSON of a service account may have more.
  assertEquals((await w.operate("PUT", `${keys}/main`, { secret: `${second}\n` })).status, 200);
  const json = JSON.stringify({ type: "service_account", private_key: "a b\nc" }, undefined, 2);
  assertEquals((await w.operate("POST", keys, { name: "google", secret: json })).status, 200);
});

Deno.test("no log, audit line, answer, export or row has a secret, also when the provider repeats it", async () => {
  await using w = await openStoredKeyWorld({ refuses: first });
  const answers = [
    await w.operate("GET", "/catalog"),
    await w.operate("POST", keys, { name: "main", secret: first }),
    await w.operate("POST", keys, { name: "main", secret: second }),
    await w.call(),
    await w.operate("GET", "/routes"),
    await w.operate("PUT", `${keys}/main`, { secret: second }),
    await w.call(),
    await w.operate("GET", keys),
    await w.operate("POST", "/api/provider-key-seals", {}),
    await w.operate("DELETE", `${keys}/main`),
    await w.operate("GET", "/api/audit"),
    await w.operate("GET", "/api/calls"),
    await w.operate("GET", "/catalog"),
  ];
  assertEquals(w.sent, [first, second]);
  await w.poll();
  const { kv } = w.gateway;
  const rows = await Array.fromAsync(kv.list<unknown>(everyRow()));
  const plain = (_: string, value: unknown) =>
    typeof value === "bigint"
      ? String(value)
      : value instanceof Uint8Array
      ? new TextDecoder().decode(value)
      : value;
  const places = {
    answers: answers.map(({ text }) => text).join("\n"),
    log: [...w.gateway.log, ...w.other.log].join("\n"),
    rows: JSON.stringify(rows.map(({ key, value }) => [key, value]), plain),
    exported: (await Array.fromAsync(exportRecords(kv))).join(""),
  };
  assertStringIncludes(places.exported, '["provider_key","main"]');
  assert(!places.exported.includes('"sealed"'), "the export has sealed texts");
  for (const [place, text] of Object.entries(places)) {
    assert(text.length > 100, place);
    for (const secret of [first, second]) assert(!text.includes(secret), `${place} has a secret`);
  }
});

Deno.test("the list says who uses a key, and with which master key it is sealed", async () => {
  await using api = await operatorApi();
  await api.done("provider_keys.add", keys, { name: "main", secret: first });
  await api.done("provider_keys.replace", `${keys}/main`, { secret: second });
  const { data } = await api.done("provider_keys.list", keys);
  assertEquals(
    data.map(({ added_at: _, replaced_at: __, ...rest }: Record<string, unknown>) => rest),
    [{
      name: "main",
      fingerprint: "…bbbb",
      added_by: "operator key",
      replaced_by: "operator key",
      providers: [],
      newest_master_key: true,
    }],
  );
  const seals = await api.done("provider_keys.reseal", "/api/provider-key-seals");
  assertEquals(seals, { ok: true, resealed: [], problems: [] });
  await api.done("provider_keys.remove", `${keys}/main`);
  assertEquals((await api.audited()).slice(0, 3), [
    "provider_key_removed by operator key: …bbbb",
    "provider_key_replaced by operator key: …bbbb",
    "provider_key_added by operator key: …aaaa",
  ]);
});
