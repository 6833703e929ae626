/** `/operator/catalogue`: forms make the change that they show, nothing is applied unseen or over somebody else's change. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";
import type { PageVisitor } from "../../../../support/browser/page_visitor.ts";
import { changeLine, editedCatalog } from "../../../../../core/catalog/diff.ts";
import { listAuditLines, operatorProgram } from "../../../../../kv/people/audit/operator_audit.ts";
import { addVersion, listVersions, readHead } from "../../../../../kv/services/catalog/versions.ts";
import { catalogText } from "../../../../../kv/services/catalog/contents.ts";
import {
  applyCatalog,
  catalogState,
  changesOfVersion,
} from "../../../../../routes/operator/operations/contract/editing.ts";

const path = "/operator/catalogue";

/** The fields of a form with their values, as a browser would send them. */
function fieldsOf(text: string, marker: string): Record<string, string> {
  const form = text.split("<form").find((part) => part.includes(marker)) ?? "";
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<(?:input|textarea|select)[^>]*>/g)) {
    const name = /name="([^"]+)"/.exec(tag)?.[1];
    if (name === undefined || name === "csrf") continue;
    if (tag.includes('type="checkbox"') && !tag.includes("checked")) continue;
    fields[name] = /value="([^"]*)"/.exec(tag)?.[1] ?? "";
  }
  for (
    const [, name, body] of form.matchAll(/<select[^>]*name="([^"]+)"[^>]*>([\s\S]*?)<\/select>/g)
  ) {
    fields[name!] = /<option value="([^"]*)" selected/.exec(body!)?.[1] ??
      /<option value="([^"]*)"/.exec(body!)?.[1] ?? "";
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value.replaceAll("&quot;", '"')]),
  );
}

/** Sends the form of a model with some fields changed, and what the preview offers with a reason. */
async function change(staff: PageVisitor, id: string, fields: Record<string, string>) {
  const form = await staff.get(`${path}/model?id=${id}`);
  const sent = { ...fieldsOf(form.text, 'name="price.unit"'), ...fields };
  const preview = await staff.post(`${path}/preview`, sent);
  return { preview, offered: fieldsOf(preview.text, 'name="reason"') };
}

Deno.test("a form that is sent unchanged changes nothing", () =>
  operatorWorld(async ({ operator }) => {
    const staff = await operator("staff");
    for (const id of ["premium-1", "low-cost-01", "image-1", "video-d"]) {
      const { preview } = await change(staff, id, {});
      assertStringIncludes(preview.text, "Nothing would change");
    }
  }));

Deno.test("fields of a model, its price and its routes become one version, with reason and audit line", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    const { preview, offered } = await change(staff, "premium-1", {
      "displayName": "Premium One",
      "aliases": "premium, other-name",
      "price.vndPerMtok": "9900.5",
      "price.outputVndPerMtok": "12000",
      "routes.0.weight": "3",
      "routes.rows": "2",
      "routes.1.provider": "sandbox",
      "routes.1.model": "second",
      "routes.1.style": "chat",
      "routes.1.priority": "1",
    });
    assertEquals(preview.status, 200);
    assertEquals((await readHead(kv))?.newest, 1);
    const applied = await staff.post(`${path}/apply`, { ...offered, reason: "dearer" });
    assertEquals(applied.location, `${path}?done=switched`);
    const lines = (await changesOfVersion(kv, 2))?.map(changeLine);
    assertEquals(lines, [
      "~ model premium-1 displayName: Premium 1 → Premium One",
      '~ model premium-1 aliases: ["premium","premium-latest","claude-premium-1"] → ' +
      '["premium","other-name"]',
      "~ model premium-1 price.vndPerMtok: 8300 → 9900.5",
      "+ model premium-1 price.outputVndPerMtok: 12000",
      "+ model premium-1 routes.sandbox/premium-1#messages+chat+responses.weight: 3",
      "+ model premium-1 routes.sandbox/second#chat: " +
      '{"provider":"sandbox","model":"second","style":"chat","priority":1}',
    ]);
    const [line] = await listAuditLines(kv, { count: 1 });
    assertEquals([line?.act, line?.operatorEmail, line?.detail], [
      "catalog_applied",
      "staff@example.com",
      "dearer",
    ]);
  }));

Deno.test("a change needs a reason and a possible moment, and shows all problems", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    const { offered } = await change(staff, "premium-1", { "price.vndPerMtok": "1" });
    const noReason = await staff.post(`${path}/apply`, { ...offered, reason: "", sure: "yes" });
    assertEquals(noReason.status, 400);
    assertStringIncludes(noReason.text, "Give a reason");
    const badTime = await staff.post(`${path}/apply`, {
      ...offered,
      reason: "r",
      from: "soon",
      sure: "yes",
    });
    assertEquals(badTime.status, 400);
    const { preview } = await change(staff, "premium-1", {
      "price.vndPerMtok": "cheap",
      "family": "",
    });
    assertEquals(preview.status, 400);
    for (const part of ["family", "Write a price in VND"]) {
      assertStringIncludes(preview.text, part);
    }
    assertEquals((await listVersions(kv)).length, 1);
  }));

Deno.test("a price that could be two is refused with both readings, in fields and in JSON", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    const price = '"price": {"unit": "request", "vnd": ';
    const changes: readonly (readonly [Record<string, string>, string])[] = [
      [{ "price.vndPerMtok": "40.000" }, "Write 40000 or 40: this could be either."],
      [{ "price.outputVndPerMtok": "1,250" }, "Write 1250 or 1.25: this could be either."],
      [{ "json": `{"id": "premium-1", ${price}40.000}}` }, "write 40000 or 40"],
      [{ "json": `{"id": "premium-1", ${price}"1.500"}}` }, "write 1500 or 1.5"],
    ];
    for (const [fields, both] of changes) {
      const { preview } = await change(staff, "premium-1", fields);
      assertEquals(preview.status, 400);
      assertStringIncludes(preview.text, both);
    }
    assertEquals((await listVersions(kv)).length, 1);
    const { preview } = await change(staff, "premium-1", {
      "price.vndPerMtok": "40.0000",
      "contextWindow": "200.000",
    });
    assertStringIncludes(preview.text, "40");
    assertStringIncludes(preview.text, "200000");
  }));

Deno.test("a change that was prepared on an older version is shown again, and not applied", () =>
  operatorWorld(async ({ operator, deps: { kv, editing } }) => {
    const staff = await operator("staff");
    const { offered } = await change(staff, "premium-1", { "price.vndPerMtok": "1" });
    const state = await catalogState(editing);
    const theirs = editedCatalog(state.contents, { edit: "model", id: "image-1", entry: null });
    const wanted = { base: state.head.newest, reason: "theirs" };
    await applyCatalog(editing, theirs, wanted, { email: "operator key" });
    const late = await staff.post(`${path}/apply`, { ...offered, reason: "ours", sure: "yes" });
    assertEquals(late.status, 400);
    assertStringIncludes(late.text, "operator key has made version 2 meanwhile");
    assertEquals((await readHead(kv))?.newest, 2);
    const again = fieldsOf(late.text, 'name="reason"');
    assertEquals(
      (await staff.post(`${path}/apply`, { ...again, sure: "yes" })).location,
      `${path}?done=switched`,
    );
    const { contents } = await catalogState(editing);
    assert(!JSON.stringify(contents["models"]).includes('"image-1"'), "both changes are in it");
  }));

Deno.test("a version waits for its moment, is withdrawn, and an old one is rolled back to by one click", () =>
  operatorWorld(async ({ operator, deps: { kv }, world }) => {
    const staff = await operator("staff");
    const { offered } = await change(staff, "premium-1", { "price.vndPerMtok": "1" });
    const tomorrow = new Date(world.nowMs + 31 * 3_600_000).toISOString().slice(0, 16);
    await staff.post(`${path}/apply`, { ...offered, reason: "later", from: tomorrow, sure: "yes" });
    const list = await staff.get(path);
    assertStringIncludes(list.text, "Version 2 comes into force");
    await staff.post(`${path}/withdraw`, { base: "2" });
    assertEquals((await readHead(kv))?.scheduled, undefined);
    const { offered: now } = await change(staff, "premium-1", { "price.vndPerMtok": "1" });
    await staff.post(`${path}/apply`, { ...now, reason: "now", sure: "yes" });
    const history = await staff.get(`${path}/versions`);
    for (const state of ["in force", "withdrawn", "past"]) {
      assertStringIncludes(history.text, `>${state}</span>`);
    }
    const offer = await staff.post(`${path}/preview`, {
      edit: "rollback",
      base: "3",
      version: "1",
    });
    assertStringIncludes(offer.text, "Restore version 1");
    const rollback = fieldsOf(offer.text, 'name="reason"');
    const unsure = await staff.post(`${path}/rollback`, rollback);
    assertEquals(unsure.status, 400);
    assertStringIncludes(unsure.text, "Confirm the prices first");
    const back = await staff.post(`${path}/rollback`, { ...rollback, sure: "yes" });
    assertEquals(back.location, `${path}?done=switched`);
    const [newest] = await listVersions(kv);
    assertEquals([newest?.rollbackTo, newest?.parent], [1, 3]);
  }));

Deno.test("a form with something wrong comes back with all that was typed, and words beside the field", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    const beside = (text: string, field: string) =>
      new RegExp(`name="${field}"[\\s\\S]*?</div>`).exec(text)?.[0] ?? "";
    const rows: readonly (readonly [field: string, typed: string, words: string])[] = [
      ["price.vndPerMtok", "forty", "Write a price in VND"],
      ["price.vndPerMtok", "40.000", "Write 40000 or 40"],
      ["contextWindow", "many", "Write a whole number"],
      ["routes.0.priority", "first", "Write a whole number"],
      ["price.longPrompt.aboveTokens", "long", "Write a whole number"],
      ["price.hostedTools.web_search.vndPerUse", "much", "Write a price in VND"],
      ["price.serviceTiers.0.value", "much", "must be a number"],
      ["routes.0.cost.perMtok", "2.125", "Write 2125 or 2.1250"],
      ["routes.0.cost.outputPerMtok", "2.1234567", "Write an amount such as 2.5"],
      ["routes.0.capabilities.stop_max", "few", "Write a whole number"],
      ["routes.0.capabilities.tool_name_max", "3", "must be at least 16"],
      ["rateLimits.all.requestsPerMinute", "0", "must be at least 1"],
    ];
    for (const [field, typed, words] of rows) {
      const { preview } = await change(staff, "premium-1", {
        displayName: "Kept",
        "routes.0.cost.unit": "token",
        "price.serviceTiers.0.name": "flex",
        [field]: typed,
      });
      assertEquals(preview.status, 400, field);
      const shown = beside(preview.text, field.replaceAll(".", "\\."));
      assertStringIncludes(shown, `value="${typed}"`);
      assertStringIncludes(shown, words);
      assertStringIncludes(preview.text, 'value="Kept"');
      assert(!/models\.\d+\./.test(preview.text), "a path in place of words");
    }
    const nameless = await change(staff, "", { id: "", displayName: "Kept" });
    assertStringIncludes(beside(nameless.preview.text, "id"), "Give it a name.");
    assertStringIncludes(nameless.preview.text, 'value="Kept"');
    const broken = await staff.post(`${path}/preview`, { edit: "model", name: "m", json: "{oops" });
    assertStringIncludes(broken.text, "{oops");
    assertEquals((await listVersions(kv)).length, 1);
  }));

Deno.test("a price that changes by more than half is applied only when it was confirmed by itself", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    const small = await change(staff, "premium-1", { "price.vndPerMtok": "8000" });
    assert(!small.preview.text.includes('name="sure"'));
    const { preview, offered } = await change(staff, "premium-1", { "price.vndPerMtok": "830" });
    assertStringIncludes(preview.text, "changes by more than 50\u00a0%");
    assertStringIncludes(preview.text, "−90\u00a0%");
    const unsure = await staff.post(`${path}/apply`, { ...offered, reason: "a slip" });
    assertStringIncludes(unsure.text, "Confirm the prices first");
    assertEquals((await listVersions(kv)).length, 1);
    await staff.post(`${path}/apply`, { ...offered, reason: "meant so", sure: "yes" });
    assertEquals((await listVersions(kv)).length, 2);
    // Steps by length have a change each.
    const video = await change(staff, "video-a", { "price.tiers.0.vnd": "9900" });
    assertStringIncludes(video.preview.text, "Prices by length: 5–10 s");
    assertStringIncludes(video.preview.text, "+200\u00a0%");
    assertStringIncludes(video.preview.text, "changes by more than 50\u00a0%");
  }));

Deno.test("providers are added by form and JSON, and a provider in use is not removed", () =>
  operatorWorld(async ({ operator, deps: { kv } }) => {
    const staff = await operator("staff");
    const added = await staff.post(`${path}/preview`, {
      edit: "provider",
      name: "",
      newName: "second",
      base: "1",
      kind: "sandbox",
    });
    const offered = fieldsOf(added.text, 'name="reason"');
    await staff.post(`${path}/apply`, { ...offered, reason: "r" });
    const strict = await staff.post(`${path}/preview`, {
      edit: "provider",
      name: "second",
      base: "2",
      json: '{"kind":"sandbox","strict":true}',
    });
    await staff.post(`${path}/apply`, { ...fieldsOf(strict.text, 'name="reason"'), reason: "r" });
    assertEquals((await changesOfVersion(kv, 3))?.map(changeLine), [
      "+ provider second strict: true",
    ]);
    const removed = await staff.post(`${path}/preview`, {
      edit: "provider",
      name: "sandbox",
      base: "3",
      remove: "yes",
    });
    assertEquals(removed.status, 400);
    assertStringIncludes(removed.text, "&quot;sandbox&quot; is not in providers");
    const bad = await staff.post(`${path}/preview`, { edit: "whole", base: "3", json: "[1]" });
    assertEquals(bad.status, 400);
  }));

Deno.test("a gateway.json that was passed over is offered, with what would change", () =>
  operatorWorld(async ({ operator, deps: { kv, editing, clock } }) => {
    const { contents } = await catalogState(editing);
    const text = catalogText({ ...contents, listRate: 23_000 });
    const act = { author: operatorProgram, reason: "", nowMs: clock.nowMs(), base: 1 };
    await addVersion(kv, { text, fileDigest: "of another file" }, act);
    const staff = await operator("staff");
    assertStringIncludes((await staff.get(path)).text, "gateway.json has changed");
    const preview = await staff.post(`${path}/preview`, { edit: "file", base: "2" });
    assertStringIncludes(preview.text, "23,000");
    await staff.post(`${path}/decline`, { base: "2" });
    assert(!(await staff.get(path)).text.includes("gateway.json has changed"));
    assertEquals((await readHead(kv))?.newest, 2);
  }));
