/** Pages offer a role nothing that it may not do: no link, no button, and no form that is a refusal. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { may, roles } from "../../../../core/people/organisations/acts.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { mayVisit, pageActs } from "../../../../routes/dashboard/page/page_acts.ts";
import { formsOf } from "../../../support/browser/test_browser.ts";
import { openCompany } from "../../../support/worlds/company_world.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { topUp } from "../../../support/worlds/money_world.ts";

/** The name of a key, which not every role may see. */
const secretName = "secret-plans";

/** Pages that a person of any role opens, beside those with an act; guides among them. */
const others = [
  "/",
  "/models",
  "/models/premium-1",
  "/connect",
  "/docs",
  "/docs/errors",
  "/docs/tools",
  "/account",
  "/account/security",
  "/organisations",
];

/** The pages without parameters in their paths; those with one are reached from these. */
const pages = [
  ...others,
  ...pageActs.filter(({ method }) => method === "GET").map(({ path }) => path)
    .filter((path) => !/[:*]/.test(path) && !/\.\w+$/.test(path)),
];

/** The paths of a page's links, without their queries. */
function linksOf(html: string): string[] {
  return [...html.matchAll(/\shref="(\/[^"#?]*)/g)].map(([, path]) => path!);
}

for (const role of roles) {
  Deno.test(`pages offer ${role} only what the role may do`, async () => {
    await using world = await openDashboardWorld();
    const { account, members } = await openCompany(world);
    const { owner, [role]: member } = members;
    await topUp(world.kv, account.id, fromVnd(50_000));
    const form = await owner.browser.get("/budgets/new");
    const budget = { name: "All", of: "account", amount: "1000", window: "day", atLimit: "refuse" };
    assertEquals((await owner.browser.submit(form, "/budgets", budget)).status, 303);
    const key = { name: secretName, nowMs: world.time.nowMs(), memberId: account.id };
    const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, key);
    assert(made.ok);
    const ofKey = { ...budget, name: "One", of: `key:${made.record.id}` };
    const again = await owner.browser.get("/budgets/new");
    assertEquals((await owner.browser.submit(again, "/budgets", ofKey)).status, 303);
    const wrong: string[] = [];
    const seen = new Set(pages);
    for (const path of seen) {
      if (!mayVisit({ role }, path)) continue;
      const page = await member.browser.get(path);
      if (!may(role, "view_keys") && page.text.includes(secretName)) {
        wrong.push(`${path} names a key`);
      }
      for (const link of linksOf(page.text)) {
        if (!mayVisit({ role }, link)) wrong.push(`${path} links to ${link}`);
        if (/^\/(keys|budgets|wallet|invoices|webhooks)\//.test(link)) seen.add(link);
      }
      for (const { action } of formsOf(page.text)) {
        if (!mayVisit({ role }, action, "POST")) wrong.push(`${path} has a form to ${action}`);
      }
      if (page.text.includes("Your role may look at this")) wrong.push(`${path} refuses a form`);
    }
    assert(seen.size > pages.length, "pages of one thing were not reached");
    assertEquals([...new Set(wrong)], []);
  });
}

for (const role of roles) {
  Deno.test(`the filter of requests offers ${role} the names of keys only if the role may see them`, async () => {
    await using world = await openDashboardWorld();
    const { account, members } = await openCompany(world);
    const nowMs = world.time.nowMs();
    const options = { name: secretName, nowMs, memberId: account.id };
    const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, options);
    assert(made.ok);
    const seesKeys = may(role, "view_keys");
    const filters = ["", "?tag=wrong", "?by=key", `?key=${made.record.id}`];
    for (const filter of filters) {
      const { text } = await members[role].browser.get(`/usage${filter}`);
      const fields = [
        ...text.matchAll(/<(?:select|input) id="(key|model|tag|status|error|until)"/g),
      ]
        .map(([, name]) => name);
      const offered = ["model", "tag", "status", "error", "until"];
      assertEquals(fields, [...seesKeys ? ["key"] : [], ...offered], filter);
      assertEquals(text.includes(secretName), seesKeys, filter);
    }
  });
}
