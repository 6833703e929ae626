/** A customer's page: what is wrong for them, what they were told, what operators wrote, and acts with their consequences. */
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { listNotes } from "../../../../../kv/people/accounts/account_notes.ts";
import { getAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { noteSentMail } from "../../../../../kv/people/accounts/sent_mails.ts";
import { createOrganisation } from "../../../../../kv/people/organisations/organisations.ts";
import { listSessions } from "../../../../../kv/people/accounts/sessions.ts";
import { createApiKey } from "../../../../../kv/people/api_keys/api_key_changes.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../../support/assert.ts";
import { countedKv } from "../../../../support/stores/counted_kv.ts";
import { topUp } from "../../../../support/worlds/money_world.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { refuse } from "../../../../support/worlds/refused_calls.ts";

const plain = (text: string) => text.replaceAll("\u00a0", " ").replaceAll(/<[^>]+>/g, " ");

function card(text: string, title: string): string {
  const at = text.indexOf(`<h2>${title}</h2>`);
  assert(at >= 0, title);
  return plain(text.slice(at, text.indexOf("</section>", at)));
}

Deno.test("the page says what is wrong: keys with limits and use, errors in words, mails by kind", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    await topUp(world.kv, ann.id, fromVnd(70_000));
    const made = await createApiKey(world.kv, await readMasterKeys(newMasterKey()), ann.id, {
      name: "render farm",
      nowMs: world.nowMs,
      dailyLimitMicroVnd: fromVnd(100_000),
    });
    assert(made.ok);
    await refuse(world.kv, { accountId: ann.id, keyId: made.record.id, atMs: world.nowMs - 5_000 });
    await noteSentMail(world.kv, ann.id, { kind: "low_balance", atMs: world.nowMs });
    await noteSentMail(world.kv, ann.id, { kind: "invoice_issued", atMs: 1, failed: true });
    const path = `/operator/accounts/${ann.id}`;
    const { text } = await (await operator("staff")).get(path);
    assertMatch(card(text, "API keys"), /1 active.*render farm.*Active.*₫0.*₫100,000/s);
    assertMatch(card(text, "API keys"), /insufficient_balance/);
    assertMatch(card(text, "Last errors"), /The balance does not pay for this call/);
    assertMatch(card(text, "Mails sent"), /Invoice issued\s+not delivered.*Low balance/s);
    const vietnamese = (await (await operator("second", "vi")).get(path)).text;
    assertMatch(card(vietnamese, "Email đã gửi"), /Đã phát hành hoá đơn\s+không gửi được/);
    // Acts stand last.
    for (const title of ["API keys", "Last errors", "Money", "Notes"]) {
      assert(text.indexOf(`<h2>${title}`) < text.indexOf("<h2>Actions</h2>"), title);
    }
  }));

Deno.test("an organisation is shown by its name, with its owner and the number of its members", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const acme = await createOrganisation(world.kv, ann.id, { name: "Acme", nowMs: world.nowMs });
    assert(acme !== "too_many");
    const staff = await operator("staff");
    const { text } = await staff.get(`/operator/accounts/${acme.id}`);
    assertMatch(text, /<h1 id="page-title">Acme<\/h1>/);
    assertMatch(card(text, "Facts"), /Owner\s+ann@example\.com\s+Members\s+1/);
    assertStringIncludes(text, `href="/operator/accounts/${ann.id}"`);
    await topUp(world.kv, acme.id, fromVnd(70_000));
    await refuse(world.kv, {
      accountId: acme.id,
      keyId: newId("apiKey", world.nowMs),
      atMs: world.nowMs - 5_000,
    });
    for (const path of ["/operator/accounts", "/operator/calls?status=error"]) {
      const listed = plain((await staff.get(path)).text);
      assert(/\bAcme\b/.test(listed), path);
    }
  }));

Deno.test("a note is for operators only, and one that is too long keeps what was typed", () =>
  operatorWorld(async ({ world, operator, as }) => {
    const ann = await world.customer("ann");
    const staff = await operator("staff");
    const path = `/operator/accounts/${ann.id}`;
    const added = await staff.post(`${path}/note`, { text: "wants <b>120</b> calls a minute" });
    assertEquals(added.location, `${path}?done=noted`);
    const { text } = await staff.get(added.location!);
    assertStringIncludes(text, "The note has been added.");
    assertMatch(card(text, "Notes"), /wants &lt;b>?.*calls a minute\s+staff@example\.com/);
    const long = await staff.post(`${path}/note`, { text: "y".repeat(501) });
    assertEquals(long.status, 400);
    assertStringIncludes(long.text, `${"y".repeat(501)}</textarea>`);
    assertEquals((await listNotes(world.kv, ann.id)).length, 1);
    const stranger = await (await as(ann)).get(path);
    assertEquals(stranger.status, 404);
    assertEquals((await staff.postForged(`${path}/note`, { text: "forged" })).status, 403);
  }));

Deno.test("an act is shown with its consequence before it is done", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    await topUp(world.kv, ann.id, fromVnd(70_000));
    await createApiKey(world.kv, await readMasterKeys(newMasterKey()), ann.id, {
      name: "a",
      nowMs: world.nowMs,
    });
    const staff = await operator("staff");
    const path = `/operator/accounts/${ann.id}`;
    const { text } = await staff.get(path);
    assert(!text.includes(`action="${path}/block"`) && !text.includes(`action="${path}/adjust"`));
    const shown = plain((await staff.get(`${path}/block`)).text);
    assertStringIncludes(shown, "Block ann@example.com?");
    assertStringIncludes(shown, "1 active key stops within two seconds");
    assertStringIncludes(shown, "₫70,000 stays in the wallet.");
    assertEquals((await getAccount(world.kv, ann.id))?.blockedAtMs, undefined);
    await staff.post(`${path}/block`, { reason: "abuse" });
    const back = plain((await staff.get(`${path}/block`)).text);
    assertStringIncludes(back, "Unblock ann@example.com?");
    assertEquals((await staff.get("/operator/accounts/acc_none/block")).status, 404);
  }));

Deno.test("the page reads a bounded number of lists", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const staff = await operator("staff");
    await staff.get("/operator/audit");
    const counts = countedKv(world.kv);
    await staff.get(`/operator/accounts/${ann.id}`);
    assert(counts.reads < 60, `${counts.reads} reads`);
  }));

Deno.test("an operator signs a customer out of every browser; keys and other customers are not touched", () =>
  operatorWorld(async ({ world, operator, as }) => {
    const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
    for (const account of [ann, ann, bob]) await as(account);
    const staff = await operator("staff");
    const path = `/operator/accounts/${ann.id}`;
    const shown = plain((await staff.get(`${path}/sign-out`)).text);
    assertStringIncludes(shown, "2 browsers have to sign in again");
    assertEquals((await listSessions(world.kv, ann.id, world.nowMs)).length, 2);
    const done = await staff.post(`${path}/sign-out`, { reason: "lost laptop" });
    assertEquals(done.location, `${path}?done=signedOut`);
    const left = [ann, bob].map(({ id }) => listSessions(world.kv, id, world.nowMs));
    assertEquals((await Promise.all(left)).map(({ length }) => length), [0, 1]);
  }));

Deno.test("the ledger, orders and access are tabs; the first one has the last movements and what was before", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    for (let at = 1; at <= 9; at++) await topUp(world.kv, ann.id, fromVnd(at * 1_000));
    const path = `/operator/accounts/${ann.id}`;
    const staff = await operator("staff");
    const dossier = (await staff.get(path)).text;
    // Nine top-ups, of which the last six are shown: 1 + 2 + 3 thousand came before.
    assertMatch(card(dossier, "Money"), /Balance before these lines\s+₫6,000/);
    assertMatch(card(dossier, "Money"), /₫45,000/);
    const tabs = {
      ledger: "Statement, last 90 days",
      orders: "Top-up orders",
      access: "Activity",
    };
    for (const [tab, title] of Object.entries(tabs)) {
      assert(!dossier.includes(`<h2>${title}`), title);
      assertStringIncludes(dossier, `href="${path}?tab=${tab}"`);
      assertStringIncludes((await staff.get(`${path}?tab=${tab}`)).text, `<h2>${title}`);
    }
    // Every act is in the head, and with its consequence at the end.
    for (const act of ["adjust", "limits", "sign-out", "block"]) {
      assertEquals(dossier.split(`href="${path}/${act}"`).length - 1, 2, act);
    }
  }));
