/** Every page and form by every role: refused exactly where the table of roles and acts says so. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { may, type Role, roles } from "../../../../core/people/organisations/acts.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { pageActOf } from "../../../../routes/dashboard/page/page_acts.ts";
import { openCompany } from "../../../support/worlds/company_world.ts";
import { sourcesIn, sourceText } from "../../../repository/source_files.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { formsOf } from "../../../support/browser/test_browser.ts";

/** First segments of what needs no role: public pages, and pages about the person alone. */
const withoutAct = new Set([
  "",
  "assets",
  "auth",
  "chart",
  "compare",
  "connect",
  "docs",
  "families",
  "favicon.ico",
  "forgot",
  "goodbye",
  "incident-mails",
  "invoice-files",
  "llms.txt",
  "mails",
  "models",
  "openid",
  "organisations",
  "overview",
  "preferences",
  "privacy",
  "proofs",
  "reset",
  "robots.txt",
  "sign-in",
  "sign-out",
  "sign-up",
  "sitemap.xml",
  "status",
  "status.atom",
  "status.rss",
  "terms",
  "verify",
  "contact",
  "changelog",
  "operator",
]);

const rootOf = (path: string) => path.slice(1).split("/")[0] ?? "";
const filled = (path: string) => path.replace(/:\w+(?:\{[^}]*\})?/g, "x");

Deno.test("each page and form has an act, or is known to need none", async () => {
  await using world = await openDashboardWorld();
  const unknown = world.routes.filter(({ method, path }) =>
    method !== "ALL" && !`${method} ${path}`.startsWith("GET /account") &&
    !withoutAct.has(rootOf(path)) &&
    pageActOf(method, filled(path)) === undefined
  );
  assertEquals(unknown.map(({ method, path }) => `${method} ${path}`), []);
});

Deno.test("pages perform operations as those of their form, and in no other way", () => {
  const performing = [...sourcesIn("routes/dashboard")].filter((path) => {
    const [, imported = ""] =
      /import \{([^}]*)\} from "[./]*acts\/operation\.ts"/.exec(sourceText(path)) ?? [];
    return /\bperform\b/.test(imported);
  });
  assertEquals(performing, ["routes/dashboard/visitor/acting.ts"]);
});

for (const role of roles) {
  Deno.test(`pages and forms as ${role}`, async () => {
    await using world = await openDashboardWorld();
    const company = await openCompany(world);
    const { browser } = company.members[role];
    const csrf = async () =>
      formsOf((await browser.get("/organisations")).text)
        .flatMap(({ fields }) => fields).find(([name]) => name === "csrf")?.[1] ?? "";
    const wrong: string[] = [];
    const tried: Role[] = [];
    for (const { method, path } of world.routes) {
      const act = pageActOf(method, filled(path))?.act;
      if (act === undefined || act === "everyone") continue;
      const answer = method === "GET"
        ? await browser.get(filled(path))
        : await browser.post(filled(path), { csrf: await csrf() });
      const isRefused = answer.status === 403;
      if (isRefused) assertStringIncludes(answer.text, "Your role does not allow this");
      if (isRefused === may(role, act)) wrong.push(`${method} ${path}: ${answer.status}`);
      tried.push(role);
    }
    assert(tried.length > 40, `${tried.length} pages and forms`);
    assertEquals(wrong, []);
    assertEquals(world.reports, []);
  });
}

Deno.test("a developer changes the keys that they have made, and no other ones", async () => {
  await using world = await openDashboardWorld();
  const { account, members } = await openCompany(world);
  const { developer, owner } = members;
  const keyOf = async (memberId: typeof account.id, name: string) => {
    const nowMs = world.time.nowMs();
    const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
      name,
      nowMs,
      memberId,
    });
    assert(made.ok);
    return made.record.id;
  };
  const own = await keyOf(developer.person.id, "own");
  const others = await keyOf(owner.person.id, "others");
  const page = await developer.browser.get(`/keys/${own}`);
  const csrf = formsOf(page.text).flatMap(({ fields }) => fields)
    .find(([name]) => name === "csrf")?.[1] ?? "";
  assertEquals((await developer.browser.post(`/keys/${others}/revoke`, { csrf })).status, 403);
  assertEquals((await developer.browser.post(`/keys/${own}/revoke`, { csrf })).status, 303);
});
