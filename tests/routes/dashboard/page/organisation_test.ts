import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { acts } from "../../../../core/people/organisations/acts.ts";
import {
  findAccountByEmail,
  getAccount,
  hasOnlyBooks,
  mailReaderOf,
} from "../../../../kv/people/accounts/accounts.ts";
import { closeAccount } from "../../../../kv/services/operations/account_closing.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { handOver, listMemberships } from "../../../../kv/people/organisations/organisations.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { topUp } from "../../../support/worlds/money_world.ts";
import { listMembers, removeMember } from "../../../../kv/people/organisations/members.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import { actNames, reachNames } from "../../../../routes/dashboard/text/act_names.ts";
import { locales } from "../../../../routes/dashboard/text/i18n.ts";
import { actFor, joinAs, openCompany } from "../../../support/worlds/company_world.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
} from "../../../support/worlds/dashboard_world.ts";

Deno.test("the fields that choose a role have beside them what each may do, in both languages", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn("ann@example.com");
  for (const locale of locales) {
    browser.cookies.set("locale", locale);
    for (const path of ["/organisation", "/organisation/management-keys"]) {
      const { text } = await browser.get(path);
      for (const act of acts) assertStringIncludes(text, actNames[locale][act], path);
    }
    const { text } = await browser.get("/organisation");
    assertStringIncludes(text, `>${reachNames[locale].own}<`);
  }
});

Deno.test("a person is invited by mail, joins, works there and is removed", async () => {
  await using world = await openDashboardWorld();
  const { browser: ann, account } = await world.signIn("ann@example.com");
  const page = await ann.get("/organisation");
  const wrong = await ann.submit(page, "/organisation/invitations", { email: "nobody" });
  assertEquals(wrong.status, 422);
  const invited = await ann.submit(page, "/organisation/invitations", {
    email: "Bob@Example.com",
    role: "developer",
  });
  assertEquals(invited.headers.get("location"), "/organisation?done=invited");
  const mail = (await world.deliver()).find(({ to }) => to === "bob@example.com");
  assertStringIncludes(mail?.text ?? "", "ann@example.com");
  assertStringIncludes(mail?.text ?? "", "/organisations");

  const { browser: bob, account: bobs } = await world.signIn("bob@example.com");
  const list = await bob.get("/organisations");
  assertStringIncludes(list.text, "ann@example.com invites you to");
  const joined = await bob.submit(list, "/organisations/accept");
  assertEquals(joined.headers.get("location"), "/organisation?done=joined");
  const made = await bob.submit(await bob.get("/keys/new"), "/keys", { name: "from Bob" });
  assertEquals(made.status, 200);
  const [key] = await listApiKeys(world.kv, account.id);
  assertEquals([key?.name, key?.memberId], ["from Bob", bobs.id]);
  assertEquals((await bob.get("/invoices/new")).status, 403);

  const members = await ann.get("/organisation");
  await ann.submit(members, "/organisation/members/remove", { person: bobs.id });
  assert(
    !(await bob.get("/keys")).text.includes("from Bob"),
    "the open session shows nothing more",
  );
  assertEquals((await listApiKeys(world.kv, account.id))[0]?.revokedAtMs, world.time.nowMs());
  assertEquals(world.reports, []);
});

/** Somebody who has handed over the own organisation, and belongs to it and to one that can be blocked. */
async function withTwoOrganisations(world: DashboardWorld) {
  const { kv, time } = world;
  const { account: other } = await openCompany(world, "Other");
  const { account: ann, browser } = await world.signIn("ann@example.com");
  const { account: bob } = await world.signIn("bob@example.com");
  const nowMs = time.nowMs();
  await joinAs(kv, ann.id, bob, { role: "developer", nowMs });
  await joinAs(kv, other.id, ann, { role: "developer", nowMs });
  assertEquals(await handOver(kv, ann.id, { from: ann, to: bob.id, nowMs }), "done");
  return { ann, browser, other, nowMs };
}

const lastOrganisationEnds: Readonly<
  Record<
    string,
    (leave: () => Promise<boolean>, blockOther: () => Promise<unknown>) => Promise<void>
  >
> = {
  "who is removed, and whose only other organisation is blocked": async (leave, blockOther) => {
    await blockOther();
    assert(await leave());
  },
  "who was removed, and whose last organisation is blocked then": async (leave, blockOther) => {
    assert(await leave());
    await blockOther();
  },
};

for (const [who, end] of Object.entries(lastOrganisationEnds)) {
  Deno.test(`${who}, gets a new one and signs in`, async () => {
    await using world = await openDashboardWorld();
    const { kv } = world;
    const { ann, browser, other, nowMs } = await withTwoOrganisations(world);
    await end(
      () => removeMember(kv, ann.id, ann.id, { nowMs }),
      () => block(kv, other.id),
    );
    for (const path of ["/organisation", "/keys"]) {
      const { text } = await browser.get(path);
      assert(!text.includes("bob@example.com"), "an open session shows nothing of the others");
    }
    const fresh = world.browser();
    const fields = { email: "ann@example.com", password: testPassword };
    const done = await fresh.submit(await fresh.get("/sign-in"), "/sign-in", fields);
    assertEquals(done.status, 303);
    assertEquals((await fresh.get("/keys/new")).status, 200, "it is the person's own");
    const person = await getAccount(kv, ann.id);
    assert(person !== undefined);
    assertEquals((await listMemberships(kv, person)).map(({ role }) => role), ["owner"]);
    await world.wallet.close();
    assertEquals((await verifyStore(kv)).problems, []);
  });
}

Deno.test("a form of one organisation is refused once another tab has switched", async () => {
  await using world = await openDashboardWorld();
  const { account, members: { owner } } = await openCompany(world);
  const stale = await owner.browser.get("/keys/new");
  await actFor(owner.browser, owner.person);
  const refused = await owner.browser.submit(stale, "/keys", { name: "astray" });
  assertEquals(refused.status, 403);
  assertEquals(await listApiKeys(world.kv, account.id), []);
  assertEquals(await listApiKeys(world.kv, owner.person.id), []);
});

Deno.test("ownership is handed over by its name, and mails follow the owner's address", async () => {
  await using world = await openDashboardWorld();
  const { account, members: { owner, admin } } = await openCompany(world);
  const page = await owner.browser.get("/organisation");
  const handOver = (confirmation: string) =>
    owner.browser.submit(page, "/organisation/hand-over", {
      newOwner: admin.person.id,
      confirmation,
    });
  assertEquals((await handOver("acme")).status, 422);
  assertEquals((await handOver("Acme")).headers.get("location"), "/organisation?done=handed");
  const after = await getAccount(world.kv, account.id);
  assert(after !== undefined);
  assertEquals(after.organisation?.mailTo, "admin@acme.example");
  const roles = (await listMembers(world.kv, after)).map(({ personId, role }) => [personId, role]);
  assertEquals(roles[0], [admin.person.id, "owner"]);
  assertEquals((await handOver("Acme")).status, 403, "the old owner is an admin now");
});

Deno.test("an outsider who knows the ids of another organisation finds nothing", async () => {
  await using world = await openDashboardWorld();
  const { account, members: { owner } } = await openCompany(world);
  await owner.browser.submit(await owner.browser.get("/keys/new"), "/keys", { name: "secret" });
  const [key] = await listApiKeys(world.kv, account.id);
  const { browser: eve } = await world.signIn("eve@example.com");
  assertEquals((await eve.get(`/keys/${key?.id}`)).status, 404);
  const list = await eve.get("/organisations");
  const csrf = /name="csrf" value="([^"]+)"/.exec(list.text)?.[1] ?? "";
  const post = (path: string, fields: Record<string, string>) =>
    eve.post(path, { csrf, ...fields });
  for (const act of ["switch", "accept", "leave"]) {
    await post(`/organisations/${act}`, { organisation: account.id });
  }
  await post("/organisation/members/role", { person: owner.person.id, role: "viewer" });
  await post("/organisation/members/remove", { person: owner.person.id });
  assert(!(await eve.get("/keys")).text.includes("secret"));
  const after = await getAccount(world.kv, account.id);
  assertEquals(after?.organisation?.memberCount, 5);
});

Deno.test("an account with an organisation of others is not deleted", async () => {
  await using world = await openDashboardWorld();
  const { members: { owner } } = await openCompany(world);
  await actFor(owner.browser, owner.person);
  const page = await owner.browser.get("/account");
  const refused = await owner.browser.submit(page, "/account/delete", {
    confirmation: "owner@acme.example",
    deletionPassword: "correct horse battery",
  });
  assertEquals(refused.status, 422);
  assertStringIncludes(refused.text, "Hand it over first");
});

Deno.test("an organisation is deleted by its name, when it is empty, and money is given up as shown", async () => {
  await using world = await openDashboardWorld();
  const { kv } = world;
  const { account: ann, browser } = await world.signIn("ann@example.com");
  await browser.submit(await browser.get("/organisations"), "/organisations", { name: "Acme" });
  const [acme] = (await listMemberships(kv, ann)).filter(({ account }) => account.id !== ann.id);
  assert(acme !== undefined);
  const { id } = acme.account;
  await topUp(kv, id, 1_500_000n);
  await browser.submit(await browser.get("/keys/new"), "/keys", { name: "secret" });
  const send = async (deletion: string, fields: Record<string, string> = {}) =>
    await browser.submit(await browser.get("/organisation"), "/organisation/delete", {
      deletion,
      ...fields,
    });
  assertEquals((await send("acme")).status, 422);
  assertEquals((await send("Acme")).status, 422, "the money is not given up");
  const gone = await send("Acme", { giveUp: "1.5" });
  assertEquals(gone.headers.get("location"), "/organisations");
  assertEquals((await browser.get("/keys")).text.includes("secret"), false);
  assertEquals((await getAccount(kv, id))?.deletedAtMs, world.time.nowMs());
  assertEquals((await listMemberships(kv, ann)).map(({ account }) => account.id), [ann.id]);
  await world.wallet.close();
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("an organisation that began as a person's account is deleted, and the person goes on", async () => {
  await using world = await openDashboardWorld();
  const { kv } = world;
  const nowMs = world.time.nowMs();
  const { account: ann, browser: anns } = await world.signIn("ann@example.com");
  const { account: bob, browser } = await world.signIn("bob@example.com");
  const { id } = ann;
  await topUp(kv, id, 1_500_000n);
  await anns.submit(await anns.get("/keys/new"), "/keys", { name: "nightly-batch" });
  await anns.submit(await anns.get("/organisation"), "/organisation/name", { name: "Acme" });
  await anns.submit(await anns.get("/organisation"), "/organisation/teams", { teamName: "Search" });
  await joinAs(kv, id, bob, { role: "admin", nowMs });
  assertEquals(await handOver(kv, id, { from: ann, to: bob.id, nowMs }), "done");
  await actFor(browser, ann);
  const send = async () =>
    await browser.submit(await browser.get("/organisation"), "/organisation/delete", {
      deletion: "Acme",
      giveUp: "1.5",
    });
  assertStringIncludes((await send()).text, "Remove the other members first.");
  await browser.submit(await browser.get("/organisation"), "/organisation/members/remove", {
    person: id,
  });
  assertStringIncludes(
    (await browser.get("/organisation")).text,
    "It began as the account of ann@example.com, who keeps that account",
  );
  assertEquals((await send()).headers.get("location"), "/organisations");

  // Bob has his own; Ann signs in as before, with the new organisation that she got when she was removed.
  assertEquals((await listMemberships(kv, bob)).map(({ account }) => account.id), [bob.id]);
  const again = world.browser();
  const signedIn = await again.submit(await again.get("/sign-in"), "/sign-in", {
    email: "ann@example.com",
    password: testPassword,
  });
  assertEquals(signedIn.status, 303);
  assert(!(await again.get("/keys")).text.includes("nightly-batch"));
  const now = await getAccount(kv, id);
  assert(now !== undefined);
  assertEquals([now.email, now.deletedAtMs, now.givenUpMicroVnd], [
    "ann@example.com",
    undefined,
    1_500_000n,
  ]);
  const [own, ...more] = await listMemberships(kv, now);
  assert(own !== undefined && own.account.id !== id && own.role === "owner");
  assertEquals(more, []);
  assertEquals((await listApiKeys(kv, id)).map(({ name, hash }) => [name, hash !== ""]), [[
    "",
    true,
  ]]);
  const left = await Array.fromAsync(kv.list({ prefix: [] }));
  for (const kind of ["team", "removed_member", "activity", "member", "invitation"]) {
    assertEquals(left.filter(({ key }) => key[0] === kind && key[1] === id).length, 0, kind);
  }
  // Nothing goes into a wallet that nobody can use.
  assertEquals(hasOnlyBooks(now), true);
  assertEquals(mailReaderOf(now, "topup_credited"), undefined);
  assertEquals(mailReaderOf(now, "new_browser")?.to, "ann@example.com");

  // Then Ann goes, too.
  await world.wallet.close();
  assertEquals((await verifyStore(kv)).problems, []);
  await closeAccount(kv, id, { nowMs, givenUpMicroVnd: 0n });
  const gone = await getAccount(kv, id);
  assertEquals([gone?.email, gone?.deletedAtMs, gone?.givenUpMicroVnd, gone?.organisation], [
    undefined,
    nowMs,
    1_500_000n,
    undefined,
  ]);
  assertEquals(await findAccountByEmail(kv, "ann@example.com"), undefined);
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("an organisation with members, or of a person, is not deleted by its page", async () => {
  await using world = await openDashboardWorld();
  const { account, members: { owner } } = await openCompany(world);
  const page = await owner.browser.get("/organisation");
  const refused = await owner.browser.submit(page, "/organisation/delete", { deletion: "Acme" });
  assertStringIncludes(refused.text, "Remove the other members first.");
  assertEquals((await getAccount(world.kv, account.id))?.deletedAtMs, undefined);
  await actFor(owner.browser, owner.person);
  assert(!(await owner.browser.get("/organisation")).text.includes("/organisation/delete"));
});

Deno.test("the page of management keys leads to the reference of the API that they are for", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn("ann@example.com");
  const { text } = await browser.get("/organisation/management-keys");
  const [, address = ""] = /href="(\/docs\/api\/[^"]+)"/.exec(text) ?? [];
  const reference = await browser.get(address);
  assertEquals(reference.status, 200);
  assertStringIncludes(reference.text, "Redeem a voucher");
});
