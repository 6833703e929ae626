/** The operator's pages about stored keys, without a browser. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { commandLine, listAuditLines } from "../../../../../kv/people/audit/operator_audit.ts";
import { readHead, readVersionContents } from "../../../../../kv/services/catalog/versions.ts";
import { addStoredKey } from "../../../../../kv/services/vault/stored_keys.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";

const path = "/operator/provider-keys";
const secret = "sk-vendor-first-0123456789-aaaa";
const next = "sk-vendor-second-9876543210-bbbb";

Deno.test("a key is added, replaced and removed by forms, and no page has it", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    const texts: string[] = [];
    const page = async (at: string) => {
      const { status, text } = await staff.get(at);
      assertEquals(status, 200, at);
      texts.push(text);
      return text;
    };
    assertStringIncludes(await page(path), "There are no stored keys");
    const added = await staff.post(path, { name: "main", secret });
    assertEquals([added.status, added.location], [303, `${path}?done=switched`]);
    const list = await page(`${path}?done=switched`);
    for (const part of ["main", "…aaaa", "staff@example.com", "no provider", "Ready"]) {
      assertStringIncludes(list, part);
    }
    const one = await page(`${path}/main`);
    assertStringIncludes(one, 'type="password"');
    assert(!/type="password"[^>]*value="[^"]/.test(one), "the field is filled");
    const replaced = await staff.post(`${path}/main`, { secret: next });
    assertEquals([replaced.status, replaced.location], [303, `${path}/main?done=switched`]);
    assertStringIncludes(await page(`${path}/main`), "…bbbb");
    assertEquals((await staff.post(`${path}/main/remove`)).location, `${path}?done=switched`);
    assertEquals((await staff.get(`${path}/main`)).status, 404);
    texts.push((await staff.get("/operator/audit")).text);
    for (const text of texts) {
      for (const one of [secret, next]) assert(!text.includes(one), "a page has a secret");
    }
    const lines = await listAuditLines(kv, { count: 3 });
    assertEquals(lines.map(({ act, operatorEmail }) => [act, operatorEmail]), [
      ["provider_key_removed", "staff@example.com"],
      ["provider_key_replaced", "staff@example.com"],
      ["provider_key_added", "staff@example.com"],
    ]);
  }));

Deno.test("what is wrong is said beside its field, and a key in the wrong field does not come back", () =>
  operatorWorld(async ({ operator }) => {
    const staff = await operator("staff");
    await staff.post(path, { name: "main", secret });
    const cases: readonly [Record<string, string>, string][] = [
      [{ name: "main", secret: next }, "There is a key of this name"],
      [{ name: next, secret }, "The name must have 1 to 30"],
      [{ name: "", secret }, "The name must have 1 to 30"],
      [{ name: "other", secret: `${next} and more` }, "The key must be visible ASCII"],
      [{ name: "other", secret: "" }, "The key must be visible ASCII"],
    ];
    for (const [fields, said] of cases) {
      const refused = await staff.post(path, fields);
      assertEquals(refused.status, 400);
      assertStringIncludes(refused.text, said);
      for (const text of [secret, next]) assert(!refused.text.includes(text), said);
    }
    // A name that can be one is not typed twice.
    const kept = await staff.post(path, { name: "other", secret: "" });
    assertStringIncludes(kept.text, 'value="other"');
    const wrong = await staff.post(`${path}/main`, { secret: "khoá" });
    assertEquals(wrong.status, 400);
    assertStringIncludes(wrong.text, "The key must be visible ASCII");
    assertEquals((await staff.post(`${path}/nobody`, { secret })).status, 404);
  }));

Deno.test("a provider takes a stored key by its form, which keeps it from being removed without a question", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    await staff.post(path, { name: "main", secret });
    const form = await staff.get("/operator/catalogue/provider");
    assertStringIncludes(form.text, "Stored key main (…aaaa)");
    const fields = {
      edit: "provider",
      name: "",
      newName: "vendor",
      kind: "http",
      baseUrl: "https://api.vendor.example",
      apiKeyEnv: "",
      base: "1",
    };
    const missing = await staff.post("/operator/catalogue/preview", {
      ...fields,
      keySource: "gone",
    });
    assertEquals(missing.status, 400);
    assertStringIncludes(missing.text, "there is no stored key gone");
    assertStringIncludes(missing.text, "Stored key gone (missing)");
    const json = JSON.stringify({ baseUrl: fields.baseUrl, apiKeyVault: "main" });
    const applied = await staff.post("/operator/catalogue/apply", {
      ...fields,
      json,
      keySource: "main",
      reason: "a key of its own",
    });
    assertEquals(applied.status, 303, applied.text);
    const head = await readHead(kv);
    const contents = JSON.stringify(await readVersionContents(kv, head!.version));
    assertStringIncludes(contents, '"apiKeyVault":"main"');
    assert(!contents.includes(secret));
    assertStringIncludes((await staff.get(path)).text, "name=vendor");

    const asked = await staff.post(`${path}/main/remove`);
    assertEquals(asked.status, 400);
    assertStringIncludes(asked.text, "Still in use by vendor");
    assertEquals((await staff.get(`${path}/main`)).status, 200);
    assertEquals((await staff.post(`${path}/main/remove`, { force: "yes" })).status, 303);
    assertEquals((await staff.get(`${path}/main`)).status, 404);
  }));

Deno.test("the select of the form writes one source, and leaves an entry with several as it is", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    for (const name of ["main", "spare"]) await staff.post(path, { name, secret });
    const shown = async (fields: Record<string, string>) => {
      const base = String((await readHead(kv))?.newest ?? 1);
      const name = base === "1" ? "" : "vendor";
      const preview = await staff.post("/operator/catalogue/preview", {
        edit: "provider",
        name,
        newName: "vendor",
        kind: "http",
        baseUrl: "https://api.vendor.example",
        base,
        ...fields,
      });
      assertEquals(preview.status, 200, preview.text);
      const entry = /name="json" value="([^"]*)"/.exec(preview.text)?.[1] ?? "";
      return { entry: JSON.parse(entry.replaceAll("&quot;", '"')), base, name };
    };
    const apply = async (entry: unknown, base: string, name: string) => {
      const json = JSON.stringify(entry);
      const sent = { edit: "provider", name, newName: "vendor", base, json, reason: "r" };
      const applied = await staff.post("/operator/catalogue/apply", sent);
      assertEquals(applied.status, 303, applied.text);
    };
    const one = await shown({ keySource: "main", apiKeyEnv: "LEFT_FROM_BEFORE" });
    assertEquals([one.entry.apiKeyVault, one.entry.apiKeyEnv], ["main", undefined]);
    const both = { ...one.entry, apiKeyVault: ["main", "spare"] };
    await apply(both, one.base, one.name);
    const form = await staff.get("/operator/catalogue/provider?name=vendor");
    assertStringIncludes(form.text, "Several, as in the JSON");
    const moved = { baseUrl: "https://eu.vendor.example", apiKeyEnv: "" };
    const kept = await shown({ keySource: "AS_WRITTEN", ...moved });
    assertEquals(kept.entry.apiKeyVault, ["main", "spare"]);
  }));

Deno.test("keys that do not open, or only with an older master key, are named with what to do", () =>
  operatorWorld(async ({ operator, deps: { kv, editing } }) => {
    const staff = await operator("staff");
    await staff.post(path, { name: "main", secret });
    const act = { operator: commandLine, nowMs: 1 };
    const lost = await readMasterKeys(newMasterKey());
    await addStoredKey(kv, lost, { name: "foreign", secret: next }, act);
    const list = await staff.get(path);
    assertStringIncludes(list.text, "Cannot be opened: foreign");
    // Replaced, it opens again.
    await staff.post(`${path}/foreign`, { secret: next });
    assert(!(await staff.get(path)).text.includes("Cannot be opened"));
    assertEquals(editing.vault.secretOf("foreign"), next);
    assertEquals((await staff.post("/operator/provider-key-seals")).status, 303);
  }));
