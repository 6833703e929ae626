/** Sign-in at several providers of the operator: GitHub, which has no id token, beside OpenID providers. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import {
  callbackPathOf,
  type ProviderId,
  providerIds,
} from "../../../core/config/sign_in_providers.ts";
import {
  createAccount,
  findAccountByEmail,
  getAccount,
} from "../../../kv/people/accounts/accounts.ts";
import { createGitHubClient } from "../../../routes/auth/github.ts";
import { createOpenIdClient } from "../../../routes/auth/openid.ts";
import { rateRules } from "../../../routes/auth/sign_in_budgets.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { openCompanyIssuer } from "../../support/servers/company_issuer.ts";
import { type GitHubAnswer, openGitHub } from "../../support/servers/github_server.ts";
import type { TestBrowser } from "../../support/browser/test_browser.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";

const baseUrl = "https://gw.example";
const gitHubCallback = baseUrl + callbackPathOf("github");

/** Opens a gateway with all three providers. */
async function openWorld() {
  const github = openGitHub(gitHubCallback);
  const [google, other] = await Promise.all([
    openCompanyIssuer("https://google.example"),
    openCompanyIssuer("https://id.example"),
  ]);
  const clock = new ManualTime();
  const openIdOf = ({ issuer, fetch }: typeof google, label: string) =>
    createOpenIdClient({ issuer, clientId: "gw", clientSecret: "s", label }, { fetch, clock });
  const { origin: issuer, clientId, clientSecret } = github;
  const settings = { issuer, clientId, clientSecret, label: "GitHub" };
  const world = await openDashboardWorld({
    baseUrl,
    providers: [
      { id: "google", client: openIdOf(google, "Google") },
      { id: "github", client: createGitHubClient(settings, { fetch }) },
      { id: "openid", client: openIdOf(other, "Example ID") },
    ],
  });
  return {
    world,
    github,
    issuers: { google, openid: other },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await github[Symbol.asyncDispose]();
    },
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** Leaves for a provider, signs in there, and returns the address to come back to. */
async function leave(
  { github, issuers }: World,
  browser: TestBrowser,
  id: ProviderId,
): Promise<URL> {
  const left = await browser.get(`/auth/${id}/start?next=%2Fkeys`);
  assertEquals(left.status, 303);
  const redirect = left.headers.get("location");
  return id === "github"
    ? github.signIn(redirect)
    : issuers[id].signIn(redirect, { subject: "7", email: "ann@example.com" });
}

const isSignedIn = (browser: TestBrowser) => browser.cookies.has("__Host-session");

Deno.test("every provider has a button above the form, and signs the same person in to one account", async () => {
  await using all = await openWorld();
  for (const page of ["/sign-in", "/sign-up"]) {
    const { text } = await all.world.browser().get(page);
    const places = [
      ...["Google", "GitHub", "Example ID"].map((label) => text.indexOf(`Continue with ${label}`)),
      text.indexOf('name="email"'),
    ];
    assert(!places.includes(-1), page);
    assertEquals(places, places.toSorted((one, other) => one - other));
  }
  for (const id of providerIds) {
    const browser = all.world.browser();
    const back = await leave(all, browser, id);
    assertEquals(back.pathname, callbackPathOf(id));
    assertEquals((await browser.get(back.pathname + back.search)).status, 303, id);
    assert(isSignedIn(browser));
  }
  const account = await findAccountByEmail(all.world.kv, "ann@example.com");
  assertEquals(account?.identities, [
    { issuer: "https://google.example", subject: "7" },
    { issuer: all.github.origin, subject: "583231" },
    { issuer: "https://id.example", subject: "7" },
  ]);
});

Deno.test("a person of GitHub is known by the id, whatever becomes of the addresses", async () => {
  await using all = await openWorld();
  const first = all.world.browser();
  const back = await leave(all, first, "github");
  assertEquals((await first.get(back.pathname + back.search)).status, 303);
  const account = await findAccountByEmail(all.world.kv, "ann@example.com");
  all.github.person = {
    id: 583_231,
    emails: [{ email: "new@example.com", primary: true, verified: true }],
  };
  const later = all.world.browser();
  const again = await leave(all, later, "github");
  await later.get(again.pathname + again.search);
  assertStringIncludes((await later.get("/account")).text, account!.id);
  // Somebody else takes the address there, and is another person.
  all.github.person = {
    id: 9,
    emails: [{ email: "new@example.com", primary: true, verified: true }],
  };
  const other = all.world.browser();
  const theirs = await leave(all, other, "github");
  await other.get(theirs.pathname + theirs.search);
  assert(!(await other.get("/account")).text.includes(account!.id));
});

Deno.test("only the primary address counts, verified and in its normal form, for each that there can be", async () => {
  await using all = await openWorld();
  const { kv } = all.world;
  const victim = await createAccount(kv, { nowMs: 0, email: "victim@corp.test" });
  const email = fc.constantFrom(
    "victim@corp.test",
    "victim@\uff43orp.test",
    " victim@corp.test",
    "other@corp.test",
    "no address",
    "",
  );
  const address = fc.record({ email, primary: fc.boolean(), verified: fc.boolean() });
  let id = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(address, { maxLength: 4 }), async (emails) => {
      all.world.time.advance(rateRules.openIdByAddress.windowMs);
      all.github.person = { id: ++id, emails };
      const browser = all.world.browser();
      const back = await leave(all, browser, "github");
      await browser.get(back.pathname + back.search);
      const primaries = emails.filter(({ primary }) => primary);
      const [proven] = primaries.length === 1 && primaries[0]!.verified ? primaries : [];
      const isAddress = proven?.email === "victim@corp.test" || proven?.email === "other@corp.test";
      assertEquals(isSignedIn(browser), isAddress, JSON.stringify(emails));
      const joined = (await getAccount(kv, victim.id))?.identities ?? [];
      const isVictim = proven?.email === "victim@corp.test";
      assertEquals(joined.some(({ subject }) => subject === String(id)), isVictim);
    }),
    { numRuns: 60 },
  );
});

Deno.test("whatever member of an answer of GitHub is changed or missing, nobody is signed in by it", async () => {
  await using all = await openWorld();
  const wrong = fc.oneof(
    fc.constantFrom(null, "", 0, -1, 1.5, true, [], {}, "583231", 2 ** 53),
    fc.string(),
  );
  const answers: Readonly<Record<GitHubAnswer, readonly string[]>> = {
    token: ["access_token", "token_type"],
    user: ["id"],
    emails: ["email", "primary", "verified"],
  };
  const change = fc.constantFrom(
    ...Object.entries(answers).flatMap(([answer, members]) =>
      members.flatMap((
        member,
      ) => [{ answer, member, how: "absent" }, { answer, member, how: "other" }])
    ),
    ...Object.keys(answers).flatMap((answer) =>
      ["status", "error", "no json", "list"].map((how) => ({ answer, member: "", how }))
    ),
  );
  await fc.assert(
    fc.asyncProperty(change, wrong, async ({ answer, member, how }, value) => {
      all.world.time.advance(rateRules.openIdByAddress.windowMs);
      all.github.person = {
        id: 1_000_000,
        emails: [{ email: "eve@example.com", primary: true, verified: true }],
      };
      // Some other values are as good as the true ones.
      const isHarmless = how === "other" && (
        (member === "token_type" && typeof value === "string" &&
          value.toLowerCase() === "bearer") ||
        ((member === "primary" || member === "verified") && value === true)
      );
      if (isHarmless) return;
      const changedMember = (body: object) => {
        const { [member]: _, ...rest }: Record<string, unknown> = { ...body };
        return how === "absent" ? rest : { ...rest, [member]: value };
      };
      all.github.changed = (what, body) => {
        if (what !== answer) return { body };
        if (how === "status") return { body, status: 500 };
        if (how === "error") return { body: { error: "access_denied" } };
        if (how === "no json") return { body: "<html>" };
        if (how === "list") return { body: [[]] };
        if (Array.isArray(body)) return { body: body.map(changedMember) };
        return { body: changedMember(Object(body)) };
      };
      const browser = all.world.browser();
      const back = await leave(all, browser, "github");
      const came = await browser.get(back.pathname + back.search);
      assertEquals(came.status, 422, JSON.stringify({ answer, member, how, value }));
      assert(!isSignedIn(browser));
      assertEquals(await findAccountByEmail(all.world.kv, "eve@example.com"), undefined);
    }),
    { numRuns: 120 },
  );
});

Deno.test("a way back with another parameter, provider or browser, or a second time, is refused", async () => {
  await using all = await openWorld();
  const changes: readonly ((back: URL, other: ProviderId) => void)[] = [
    (back) => back.searchParams.set("state", "invented"),
    (back) => back.searchParams.delete("state"),
    (back) => back.searchParams.append("state", "second"),
    (back) => back.searchParams.set("code", "invented"),
    (back) => back.searchParams.delete("code"),
    (back) => back.searchParams.set("iss", "https://evil.example"),
    (back) => {
      back.search = `?error=access_denied&state=${back.searchParams.get("state")}`;
    },
    (back, other) => back.pathname = callbackPathOf(other),
  ];
  for (const id of providerIds) {
    for (const [at, change] of changes.entries()) {
      for (const other of providerIds.filter((one) => one !== id)) {
        all.world.time.advance(rateRules.openIdByAddress.windowMs);
        const browser = all.world.browser();
        const back = await leave(all, browser, id);
        change(back, other);
        assertEquals((await browser.get(back.pathname + back.search)).status, 422, `${id} ${at}`);
        assert(!isSignedIn(browser));
      }
    }
    const [browser, thief] = [all.world.browser(), all.world.browser()];
    await thief.get(`/auth/${id}/start`);
    const back = await leave(all, browser, id);
    assertEquals((await thief.get(back.pathname + back.search)).status, 422);
    const own = await leave(all, browser, id);
    assertEquals((await browser.get(own.pathname + own.search)).status, 303);
    assertEquals((await browser.get(own.pathname + own.search)).status, 422);
  }
});

Deno.test("a provider that is not configured has no page", async () => {
  await using world = await openDashboardWorld({ baseUrl });
  for (const id of providerIds) {
    assertEquals((await world.browser().get(`/auth/${id}/start`)).status, 404);
  }
});
