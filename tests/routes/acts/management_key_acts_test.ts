/** Management keys are made and revoked with one outcome, on their page, by programs and as operations. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { listManagementKeys } from "../../../kv/people/management_keys/management_keys.ts";
import { managementKeyCreation, managementKeyRevocation } from "../../../routes/acts/keys.ts";
import { perform } from "../../../routes/acts/operation.ts";
import { rateRules } from "../../../routes/auth/sign_in_budgets.ts";
import { createManagementApi } from "../../../routes/management_api/management_api.ts";
import { type DashboardWorld, openDashboardWorld } from "../../support/worlds/dashboard_world.ts";
import { ownerOf } from "../../support/worlds/acting.ts";

type Step =
  | { readonly act: "make"; readonly name: string; readonly role: string }
  | { readonly act: "revoke"; readonly at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      act: fc.constant("make" as const),
      name: fc.constantFrom("ci", "Máy chủ", " a  b ", "", "x".repeat(61), "a\u202eb", "a\u0000b"),
      role: fc.constantFrom("admin", "billing", "viewer", "developer", "owner", ""),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.record({ act: fc.constant("revoke" as const), at: fc.nat({ max: 25 }) }),
    weight: 1,
  },
);

const path = "/organisation/management-keys";

async function stored({ kv }: DashboardWorld, { id }: Account) {
  const { lines } = await findActivity(kv, id, { count: 200 });
  return {
    keys: (await listManagementKeys(kv, id)).map(({ name, role, revokedAtMs }) => [
      name,
      role,
      revokedAtMs,
    ]),
    lines: lines.filter(({ act }) => act.startsWith("management_key"))
      .map(({ act, before, after }) => [act, before, after]),
  };
}

Deno.test("a management key is made and revoked on its page as by the operation", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      await using world = await openDashboardWorld();
      const { browser, account: ofPage } = await world.signIn("page@example.com");
      const { account: ofActs } = await world.signIn("acts@example.com");
      for (const { act, ...step } of steps) {
        const acting = ownerOf(ofActs, world.time.nowMs());
        let isDone: boolean;
        let status: number;
        const page = await browser.get(path);
        if ("name" in step) {
          const outcome = await perform(world.deps, acting, managementKeyCreation, step);
          isDone = outcome.ok;
          ({ status } = await browser.submit(page, path, step));
        } else {
          const idOf = async ({ id }: Account) => {
            const keys = await listManagementKeys(world.kv, id);
            return keys[step.at % (keys.length + 1)]?.id ?? "mkey_none";
          };
          const sent = { id: await idOf(ofActs) };
          isDone = (await perform(world.deps, acting, managementKeyRevocation, sent)).ok;
          const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
          ({ status } = await browser.post(`${path}/revoke`, { csrf, key: await idOf(ofPage) }));
        }
        assertEquals(status, isDone ? 200 : 422, JSON.stringify({ act, ...step }));
        assertEquals(await stored(world, ofPage), await stored(world, ofActs));
      }
    }),
    { numRuns: 20 },
  );
});

Deno.test("changes of a person count together, on pages and with each of their management keys", async () => {
  await using world = await openDashboardWorld();
  const { deps, time } = world;
  const { browser, account } = await world.signIn();
  const made = await perform(deps, ownerOf(account, world.time.nowMs()), managementKeyCreation, {
    name: "ci",
    role: "admin",
  });
  assert(made.ok);
  const app = createManagementApi({
    ...deps,
    deadlines: new Deadlines({ clock: time, timer: time }),
    keysPerMember: 10,
    spendGranted: "first",
    resolveTxt: () => Promise.resolve([]),
  });
  const byApi = async () => {
    const answer = await app.request("/v1/organisation/keys", {
      method: "POST",
      headers: { authorization: `Bearer ${made.body.secret}` },
      body: JSON.stringify({ name: "x" }),
    });
    await answer.body?.cancel();
    return answer;
  };
  const form = await browser.get("/keys/new");
  const byPage = () => browser.submit(form, "/keys", { name: "x" });
  // The management key was the first. A form that is sent again, and a key too many, count as well.
  const { count } = rateRules.changesByAccount;
  for (let changes = 1; changes < count; changes++) {
    if (changes % 2 === 0) assert((await byApi()).status !== 429, String(changes));
    else assert(!(await byPage()).text.includes("Too many actions"), String(changes));
  }
  const refused = await byApi();
  assertEquals(refused.status, 429);
  assert(Number(refused.headers.get("retry-after")) > 0);
  assert((await byPage()).text.includes("Too many actions"));
  time.advance(hourMs);
  assert(!(await byPage()).text.includes("Too many actions"));
});
