/** Verified domains are checked again: a record that stays away ends their effect, after a warning and a week. */
import { assertEquals } from "../../../support/assert.ts";
import {
  domainGraceMs,
  verificationRecordOf,
} from "../../../../core/people/organisations/domain.ts";
import { dayMs, hourMs } from "../../../../core/lib/time/durations.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { findActivity } from "../../../../kv/people/audit/account_activity.ts";
import {
  addCompanyDomain,
  findCompanySignIn,
  listCompanyDomains,
  removeCompanyDomain,
  setCompanyOpenId,
  stateOf,
  verifyDomain,
} from "../../../../kv/people/organisations/company_sign_in.ts";
import { recheckDomains } from "../../../../kv/people/organisations/domain_checks.ts";

const startMs = Date.UTC(2026, 10, 28);
const domain = "acme.example";

/** What the resolver says: the texts, or that it does not know. */
type Answer = "there" | "away" | "unknown";

async function openWorld() {
  const kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, {
    nowMs: startMs,
    email: "owner@acme.example",
    locale: "en",
  });
  await setCompanyOpenId(kv, id, {
    issuer: "https://login.acme.example",
    clientId: "gateway",
    sealedSecret: "sealed",
    role: "viewer",
  }, { nowMs: startMs });
  await addCompanyDomain(kv, id, domain, { nowMs: startMs });
  const [row] = await listCompanyDomains(kv, id);
  const { name, value } = verificationRecordOf(domain, row?.token ?? "");
  const asked: string[] = [];
  await verifyDomain(kv, id, domain, { isPublished: () => true, nowMs: startMs });
  return {
    kv,
    id,
    asked,
    check: (answer: Answer, nowMs: number) =>
      recheckDomains({
        kv,
        nowMs,
        resolveTxt: (one) => {
          asked.push(one);
          if (answer === "unknown") return Promise.reject(new Error("SERVFAIL"));
          return Promise.resolve(answer === "there" && one === name ? ["v=spf1", value] : []);
        },
      }),
    async state() {
      const [row] = await listCompanyDomains(kv, id);
      return [stateOf(row), await findCompanySignIn(kv, domain) !== undefined];
    },
    async mails() {
      const rows = await Array.fromAsync(kv.list<{ payload?: { kind?: string } }>({ prefix: [] }));
      return rows.filter(({ key }) => key[0] === "outbox" && key[1] === mailQueue.name).length;
    },
    async lines() {
      return (await findActivity(kv, id, { count: 50 })).lines
        .filter(({ act, by }) => act === "company_domain_changed" && by.kind === "gateway")
        .map(({ before, after }) => `${before?.["state"]} → ${after?.["state"]}`).reverse();
    },
    [Symbol.dispose]: () => kv.close(),
  };
}

const steps: Readonly<
  Record<
    string,
    readonly (readonly [
      atMs: number,
      Answer,
      state: ReturnType<typeof stateOf>,
      hasEffect: boolean,
    ])[]
  >
> = {
  "a record that is there changes nothing": [
    [dayMs, "there", "verified", true],
    [30 * dayMs, "there", "verified", true],
  ],
  "a record that stays away ends the effect after a week": [
    [dayMs, "away", "record missing", true],
    [dayMs + domainGraceMs - 1, "away", "record missing", true],
    [dayMs + domainGraceMs + 6 * hourMs, "away", "not verified", false],
    [40 * dayMs, "there", "not verified", false],
  ],
  "a record that comes back ends the grace, and the next one is whole": [
    [dayMs, "away", "record missing", true],
    [7 * dayMs, "there", "verified", true],
    [9 * dayMs, "away", "record missing", true],
    [15 * dayMs, "away", "record missing", true],
    [16 * dayMs + hourMs, "away", "not verified", false],
  ],
  "a resolver that fails says nothing": [
    [dayMs, "unknown", "verified", true],
    [2 * dayMs, "away", "record missing", true],
    [20 * dayMs, "unknown", "record missing", true],
    [20 * dayMs + 6 * hourMs, "away", "not verified", false],
  ],
};

for (const [name, looks] of Object.entries(steps)) {
  Deno.test(name, async () => {
    using world = await openWorld();
    for (const [atMs, answer, state, hasEffect] of looks) {
      await world.check(answer, startMs + atMs);
      assertEquals(await world.state(), [state, hasEffect], `${answer} at ${atMs / dayMs} days`);
    }
  });
}

Deno.test("the owner gets a mail and a line when the grace begins, and when it ends, once each", async () => {
  using world = await openWorld();
  const mails = await world.mails();
  for (let days = 1; days <= 12; days++) await world.check("away", startMs + days * dayMs);
  assertEquals(await world.mails() - mails, 2);
  assertEquals(await world.lines(), ["verified → record missing", "record missing → not verified"]);
});

Deno.test("several instances ask once, and warn once", async () => {
  using world = await openWorld();
  const atMs = startMs + dayMs;
  const queued = await Promise.all([1, 2, 3].map(() => world.check("away", atMs)));
  assertEquals(queued.reduce((sum, one) => sum + one), 1);
  await world.check("away", atMs + hourMs);
  assertEquals(world.asked.length, 3, "an hour later nobody asks again");
});

Deno.test("domains that are removed or not verified are not asked about", async () => {
  using world = await openWorld();
  const { kv, id } = world;
  await addCompanyDomain(kv, id, "open.example", { nowMs: startMs });
  await removeCompanyDomain(kv, id, domain, { nowMs: startMs });
  await world.check("away", startMs + dayMs);
  assertEquals(world.asked, []);
});
