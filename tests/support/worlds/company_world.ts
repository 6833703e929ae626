/** An organisation with a member of each role, each signed in and acting for it. */
import { assert, assertEquals } from "../assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import type { GivenRole, Role } from "../../../core/people/organisations/acts.ts";
import { type Account, getAccount } from "../../../kv/people/accounts/accounts.ts";
import { acceptInvitation, invite } from "../../../kv/people/organisations/invitations.ts";
import {
  createOrganisation,
  organisationFacts,
} from "../../../kv/people/organisations/organisations.ts";
import type { TestBrowser } from "../browser/test_browser.ts";
import type { DashboardWorld } from "./dashboard_world.ts";

export interface CompanyMember {
  readonly person: Account;
  readonly browser: TestBrowser;
}

export interface Company {
  readonly account: Account;
  readonly members: Readonly<Record<Role, CompanyMember>>;
}

/** Lets a signed-in person act for an organisation, by the form of `/organisations`. */
export async function actFor(browser: TestBrowser, organisation: Account): Promise<void> {
  const page = await browser.get("/organisations");
  const done = await browser.submit(page, "/organisations/switch", {
    organisation: organisation.id,
  });
  assert(done.headers.get("location") === "/", "not a member");
}

/** Lets a person join an organisation through an invitation, without pages. */
export async function joinAs(
  kv: KeyValueStore,
  organisationId: AccountId,
  person: Account,
  { role, nowMs }: { readonly role: GivenRole; readonly nowMs: number },
): Promise<void> {
  const { email = "" } = person;
  const organisation = await getAccount(kv, organisationId);
  assert(organisation !== undefined, "there is no such organisation");
  const restsOn = { personId: organisationFacts(organisation).ownerId };
  const invitation = { email, role, inviter: "owner", restsOn, locale: "en", nowMs } as const;
  await invite(kv, organisationId, invitation);
  assertEquals(await acceptInvitation(kv, organisationId, person, { nowMs }), "joined");
}

/** Makes an organisation with five members, without pages, and signs them in. */
export async function openCompany(
  world: Pick<DashboardWorld, "kv" | "time" | "signIn">,
  name = "Acme",
): Promise<Company> {
  const { kv, time } = world;
  const slug = name.toLowerCase();
  const { account: owner, browser } = await world.signIn(`owner@${slug}.example`);
  const made = await createOrganisation(kv, owner.id, { name, nowMs: time.nowMs() });
  assert(made !== "too_many");
  const join = async (role: GivenRole): Promise<CompanyMember> => {
    const { account: person, browser } = await world.signIn(`${role}@${slug}.example`);
    await joinAs(kv, made.id, person, { role, nowMs: time.nowMs() });
    await actFor(browser, made);
    return { person, browser };
  };
  await actFor(browser, made);
  const members: Record<Role, CompanyMember> = {
    owner: { person: owner, browser },
    admin: await join("admin"),
    developer: await join("developer"),
    billing: await join("billing"),
    viewer: await join("viewer"),
  };
  const account = await getAccount(kv, made.id);
  assert(account !== undefined);
  return { account, members };
}
