/** Acts of a person on their own access: in whose activity logs they are, and in whose not. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { type ActivityAct, findActivity } from "../../../../kv/people/audit/account_activity.ts";
import { addIdentity } from "../../../../kv/people/accounts/account_credentials.ts";
import { forgetSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { removeMember } from "../../../../kv/people/organisations/members.ts";
import {
  createOrganisation,
  handOver,
  listMemberships,
} from "../../../../kv/people/organisations/organisations.ts";
import {
  actFor,
  type Company,
  joinAs,
  openCompany,
} from "../../../support/worlds/company_world.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
} from "../../../support/worlds/dashboard_world.ts";
import { codeFor, secretOn } from "../../../support/worlds/operator_world.ts";
import type { TestBrowser } from "../../../support/browser/test_browser.ts";
import { makeKey, secretForm } from "../../../support/worlds/key_pages.ts";
import { until } from "../../../support/until.ts";

const security = "/account/security";

/** The acts in the log of an account, oldest first. */
async function actsOf({ kv }: DashboardWorld, { id }: Pick<Account, "id">): Promise<ActivityAct[]> {
  return (await findActivity(kv, id, { count: 200 })).lines.map(({ act }) => act).reverse();
}

/** What an act adds to the logs of some accounts. */
async function added(
  world: DashboardWorld,
  accounts: readonly Account[],
  act: () => Promise<unknown>,
): Promise<readonly ActivityAct[][]> {
  const before = await Promise.all(accounts.map((one) => actsOf(world, one)));
  await act();
  const after = await Promise.all(accounts.map((one) => actsOf(world, one)));
  return after.map((acts, at) => acts.slice(before[at]?.length));
}

async function enter(
  browser: TestBrowser,
  email: string,
  password = testPassword,
): Promise<void> {
  await browser.submit(await browser.get("/sign-in"), "/sign-in", { email, password });
}

interface Step {
  readonly before?: () => Promise<unknown>;
  readonly act: (browser: TestBrowser) => Promise<unknown>;
  readonly lines: readonly ActivityAct[];
}

/** What an admin of Acme does to their own access, in this order. */
function stepsOf(world: DashboardWorld, { members: { admin } }: Company): Record<string, Step> {
  const app = `${security}/app`;
  let codes: string[] = [];
  const email = admin.person.email ?? "";
  return {
    "an app is set up": {
      async act(browser) {
        const page = await browser.get(app);
        const code = codeFor(secretOn(page) ?? "", world.time.nowMs());
        const { text } = await browser.submit(page, app, { code });
        codes = [...text.matchAll(/<code>((?:[0-9a-z]{4}-){3}[0-9a-z]{4})<\/code>/g)]
          .map(([, code = ""]) => code);
      },
      lines: ["app_added"],
    },
    "it is switched off by a recovery code": {
      act: async (browser) =>
        await browser.submit(await browser.get(security), `${app}/off`, {
          recoveryCode: codes[0] ?? "",
        }),
      lines: ["recovery_code_used", "app_removed"],
    },
    "another browser has a wrong password": {
      async act() {
        await enter(world.browser(), email, "not the password");
        await until(
          async () => (await actsOf(world, admin.person)).includes("sign_in_failed"),
          "the line of the wrong password",
        );
      },
      lines: ["sign_in_failed"],
    },
    "a provider is linked": {
      act: async () =>
        await addIdentity(
          world.kv,
          admin.person.id,
          { issuer: "https://id.example", subject: "7" },
          {
            by: { kind: "stranger", address: "203.0.113.9", browser: "" },
            nowMs: world.time.nowMs(),
          },
        ),
      lines: ["identity_added"],
    },
    "the operator forgets the second factor": {
      act: async () =>
        await forgetSecondFactor(world.kv, admin.person.id, {
          operator: { accountId: admin.person.id, email: "boss@gateway.example" },
          nowMs: world.time.nowMs(),
        }),
      lines: ["second_factor_forgotten"],
    },
    "other browsers are signed out": {
      before: () => enter(world.browser(), email),
      async act(browser) {
        const page = await browser.get("/account");
        await browser.submit(page, "/account/sessions/sign-out-others");
        // There is none any more: no line.
        await browser.submit(page, "/account/sessions/sign-out-others");
      },
      lines: ["sessions_ended"],
    },
    "the password is changed": {
      act: async (browser) =>
        await browser.submit(await browser.get("/account"), "/account/password", {
          currentPassword: testPassword,
          newPassword: "four unrelated words here",
        }),
      lines: ["password_changed", "signed_in"],
    },
  };
}

Deno.test("what a person does to their access is in their log and in those of their organisations", async () => {
  await using world = await openDashboardWorld();
  const company = await openCompany(world);
  const { account: acme, members: { admin } } = company;
  const stranger = await openCompany(world, "Other");
  for (const [name, { before, act, lines }] of Object.entries(stepsOf(world, company))) {
    await before?.();
    const logs = await added(
      world,
      [admin.person, acme, stranger.account],
      () => act(admin.browser),
    );
    assertEquals(logs, [[...lines], [...lines], []], name);
  }
});

Deno.test("a sign-in is in the log of the organisation that it acts for, once per session", async () => {
  await using world = await openDashboardWorld();
  const { account: acme, members: { viewer } } = await openCompany(world);
  const { person } = viewer;
  const browser = world.browser();
  const logs = [person, acme];
  assertEquals(await added(world, logs, () => enter(browser, person.email ?? "")), [
    ["signed_in"],
    ["new_browser"],
  ]);
  const [line] = await findActivity(world.kv, person.id, { count: 1 }).then(({ lines }) => lines);
  assertEquals(line?.after, { method: "password", newBrowser: "true" });
  assertEquals(await added(world, logs, () => actFor(browser, acme)), [[], ["signed_in"]]);
  assertEquals(
    await added(world, logs, async () => {
      await actFor(browser, person);
      await actFor(browser, acme);
    }),
    [[], []],
  );
  const leaving = async () => await browser.submit(await browser.get("/account"), "/sign-out");
  assertEquals(await added(world, logs, leaving), [["signed_out"], ["signed_out"]]);
});

Deno.test("an organisation that was handed over does not see its founder's sign-ins", async () => {
  await using world = await openDashboardWorld();
  const { kv } = world;
  const { account: ann, browser } = await world.signIn("ann@example.com");
  const { account: bob } = await world.signIn("bob@example.com");
  const nowMs = world.time.nowMs();
  await joinAs(kv, ann.id, bob, { role: "admin", nowMs });
  await handOver(kv, ann.id, { from: ann, to: bob.id, nowMs });
  await createOrganisation(kv, ann.id, { name: "Ann alone", nowMs });
  await removeMember(kv, ann.id, ann.id, { nowMs });
  const now = await browser.get("/organisations");
  assert(now.text.includes("Ann alone"));
  const lines = await added(world, [ann], async () => {
    await browser.submit(await browser.get("/account"), "/account/mails", {});
    await enter(world.browser(), "ann@example.com", "not the password");
    await enter(world.browser(), "ann@example.com");
    await browser.submit(await browser.get("/account"), "/sign-out");
  });
  assertEquals(lines, [[]]);
});

Deno.test("ownership that comes back lists the organisation once", async () => {
  await using world = await openDashboardWorld();
  const { kv } = world;
  const { account: ann } = await world.signIn("ann@example.com");
  const { account: bob } = await world.signIn("bob@example.com");
  const nowMs = world.time.nowMs();
  await joinAs(kv, ann.id, bob, { role: "admin", nowMs });
  assertEquals(await handOver(kv, ann.id, { from: ann, to: bob.id, nowMs }), "done");
  assertEquals(await handOver(kv, ann.id, { from: bob, to: ann.id, nowMs }), "done");
  const { value } = await kv.get<Account>(["account", ann.id]);
  assert(value !== null);
  assertEquals((await listMemberships(kv, value)).map(({ role }) => role), ["owner"]);
});

Deno.test("rules of an organisation and a secret that is shown have lines, without the secret", async () => {
  await using world = await openDashboardWorld();
  const { account, browser } = await world.signIn("ann@example.com");
  await makeKey(browser);
  const [key] = await listApiKeys(world.kv, account.id);
  assert(key !== undefined);
  const page = `/keys/${key.id}`;
  const requirement = "/account/second-factor";
  // The requirement leads every other page to the second factor, so it is the last.
  const acts: readonly (readonly [ActivityAct, object | undefined, () => Promise<unknown>])[] = [
    [
      "api_key_shown",
      undefined,
      async () =>
        await browser.submit(await browser.get(page), `${page}/show`, { password: testPassword }),
    ],
    [
      "required_tags_changed",
      { tags: "team" },
      async () =>
        await browser.submit(await browser.get("/budgets"), "/budgets/tags", { tags: "team" }),
    ],
    [
      "second_factor_requirement_changed",
      { secondFactorRequired: "true" },
      async () =>
        await browser.submit(await browser.get("/account"), requirement, { required: "yes" }),
    ],
  ];
  for (const [act, after, run] of acts) {
    await run();
    const [line] = (await findActivity(world.kv, account.id, { count: 1 })).lines;
    assertEquals([line?.act, line?.after], [act, after]);
    assert(!secretForm.test(JSON.stringify(line)), act);
  }
});
