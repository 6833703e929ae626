/**
 * `kill -9` while people join, leave, hand over and delete organisations. Afterwards each act is whole or not there, what
 * was answered is done, and every event has arrived at least once with one id.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { type MasterKeys, newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { webhookKinds } from "../../core/people/webhooks/events.ts";
import { accountKey, invitationKey, memberKey, teamsPrefix } from "../../kv/engine/schema/keys.ts";
import { openControl } from "../../kv/engine/control/control.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { type Account, createAccount, getAccount } from "../../kv/people/accounts/accounts.ts";
import { openSession } from "../../kv/people/accounts/sessions.ts";
import { createApiKey } from "../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import { openKeyDirectory } from "../../kv/people/api_keys/key_directory.ts";
import { allActivity } from "../../kv/people/audit/account_activity.ts";
import { acceptInvitation, invite } from "../../kv/people/organisations/invitations.ts";
import {
  createOrganisation,
  listMemberships,
} from "../../kv/people/organisations/organisations.ts";
import { createTeam } from "../../kv/people/organisations/teams.ts";
import { addEndpoint } from "../../kv/people/webhooks/endpoints.ts";
import { TestBrowser } from "../support/browser/test_browser.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import {
  assertSoundBooks,
  killAmid,
  onStore,
  passClaims,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import { newFormId, openReceiver, type Receiver } from "../support/worlds/webhook_world.ts";
import { seededRandom } from "../support/random.ts";
import { until } from "../support/until.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

const acts = ["join", "remove", "hand_over", "delete"] as const;
type Act = typeof acts[number];

/** An organisation of which one act is made. */
interface Company {
  readonly act: Act;
  readonly id: AccountId;
  readonly name: string;
  readonly owner: Account;
  /** Who joins, leaves or becomes the owner. */
  readonly other: Account;
  readonly secrets: readonly string[];
  readonly session: string;
}

const companiesOfEachAct = 10;
const keysOfEach = 3;
/** Milliseconds over which the acts of a life begin. */
const spreadMs = 40;

async function seedCompany(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  { i, url }: { readonly i: number; readonly url: string },
): Promise<Company> {
  const act = acts[i % acts.length] ?? "join";
  const nowMs = Date.now();
  const person = (email: string) => createAccount(kv, { nowMs, email, locale: "en" });
  const [owner, other] = [await person(`o${i}@example.com`), await person(`m${i}@example.com`)];
  const name = `Company ${i}`;
  const made = await createOrganisation(kv, owner.id, { name, nowMs });
  assert(made !== "too_many");
  const { id } = made;
  await createTeam(kv, id, { name: "Team", nowMs });
  if (act !== "delete") {
    const email = other.email ?? "";
    await invite(kv, id, {
      email,
      role: "developer",
      inviter: "o",
      restsOn: { personId: owner.id },
      locale: "en",
      nowMs,
    });
  }
  if (act === "remove" || act === "hand_over") await acceptInvitation(kv, id, other, { nowMs });
  const memberId = act === "remove" ? other.id : owner.id;
  const secrets: string[] = [];
  for (let key = 0; key < keysOfEach; key++) {
    const created = await createApiKey(kv, masterKeys, id, { name: `key ${key}`, nowMs, memberId });
    assert(created.ok);
    secrets.push(created.secret);
  }
  await addEndpoint(kv, masterKeys, id, {
    ...{ url, name: "", kinds: webhookKinds, formId: newFormId(), nowMs: Date.now() },
  });
  const accountId = act === "join" ? other.id : owner.id;
  const { token: session } = await openSession(kv, {
    ...{ accountId, nowMs, method: "password", device: "test", address: "127.0.0.1" },
    ...(act !== "join" && { organisationId: id }),
  });
  return { act, id, name, owner, other, secrets, session };
}

/** Loads the page of an act, and returns the act. */
async function prepared(gateway: StartedGateway, company: Company): Promise<() => Promise<void>> {
  const fetchPage = (request: Request) => fetch(request, { redirect: "manual" });
  const browser = new TestBrowser(fetchPage, gateway.address);
  browser.cookies.set("session", company.session);
  const { act, id, name, other } = company;
  const page = await browser.get(act === "join" ? "/organisations" : "/organisation");
  const forms: Readonly<Record<Act, readonly [string, Readonly<Record<string, string>>]>> = {
    join: ["/organisations/accept", { organisation: id }],
    remove: ["/organisation/members/remove", { person: other.id }],
    hand_over: ["/organisation/hand-over", { confirmation: name, newOwner: other.id }],
    delete: ["/organisation/delete", { deletion: name }],
  };
  const [action, fields] = forms[act];
  return async () => {
    const { status, text } = await browser.submit(page, action, fields);
    assertEquals(status, 303, text);
  };
}

/** Whether the act of a company was done; what is half done fails the test. */
async function isDone(
  kv: KeyValueStore,
  { act, id, owner, other, secrets }: Company,
  lookup: (secret: string) => Promise<boolean>,
): Promise<boolean> {
  const [account, member, invitation] = [
    await getAccount(kv, id),
    (await kv.get(memberKey(id, other.id))).value !== null,
    (await kv.get(invitationKey(id, other.email ?? ""))).value !== null,
  ];
  const usable = (await Promise.all(secrets.map(lookup))).filter(Boolean).length;
  const known = await Array.fromAsync(allActivity(kv, id), (line) => line.act);
  const done: Readonly<Record<Act, boolean>> = {
    join: member,
    remove: !member,
    hand_over: account?.organisation?.ownerId === other.id,
    delete: account?.deletedAtMs !== undefined,
  };
  const endsKeys = act === "remove" || act === "delete";
  assertEquals(usable, endsKeys && done[act] ? 0 : keysOfEach, `keys after ${act}: ${done[act]}`);
  if (act === "join") {
    assertEquals(invitation, !done.join, "the invitation is there, or the member");
    assertEquals(known.filter((one) => one === "member_joined").length, done.join ? 1 : 0);
  }
  if (act === "remove") {
    assertEquals(known.filter((one) => one === "member_removed").length, done.remove ? 1 : 0);
    assert((await listMemberships(kv, other)).length > 0, "who is removed has an organisation");
  }
  if (act === "hand_over") {
    const lines = known.filter((one) => one === "ownership_handed_over").length;
    assertEquals([lines, owner.id !== other.id], [done.hand_over ? 1 : 0, true]);
  }
  return done[act];
}

/** What is left of an organisation once all has been done that follows its act. */
async function assertNothingLeft(kv: KeyValueStore, { act, id, owner }: Company): Promise<void> {
  const keys = await listApiKeys(kv, id);
  if (act === "remove" || act === "delete") {
    assertEquals(keys.filter(({ revokedAtMs }) => revokedAtMs === undefined), []);
  }
  if (act !== "delete") return;
  assertEquals(keys.map(({ name }) => name).join(""), "");
  assertEquals(await Array.fromAsync(kv.list({ prefix: teamsPrefix(id) })), []);
  assertEquals(await Array.fromAsync(allActivity(kv, id)), []);
  const { value } = await kv.get<Account>(accountKey(owner.id));
  assert(
    value !== null && (await listMemberships(kv, value)).every((one) => one.account.id !== id),
  );
}

/** The events that an act causes, as a part of their bodies. */
function eventsOf({ act, owner, other }: Company, keyIds: readonly string[]): string[] {
  switch (act) {
    case "join":
      return [`"member.joined","${other.id}"`];
    case "remove":
      return [`"member.removed","${other.id}"`, ...keyIds.map((id) => `"key.revoked","${id}"`)];
    case "hand_over":
      return [owner, other].map(({ id }) => `"member.role_changed","${id}"`);
    case "delete":
      return [];
  }
}

/** The ids with which each event arrived. */
function idsByEvent({ received }: Receiver): Map<string, Set<string>> {
  const ids = new Map<string, Set<string>>();
  for (const { headers, body } of received) {
    const { type, data } = JSON.parse(body);
    const event = `"${type}","${data.member_id ?? data.key_id}"`;
    ids.set(event, (ids.get(event) ?? new Set()).add(headers["webhook-id"] ?? ""));
  }
  return ids;
}

async function checkCompanies(
  folder: string,
  companies: readonly Company[],
): Promise<ReadonlySet<Company>> {
  return await onStore(folder, async (kv) => {
    await assertSoundBooks(kv);
    const control = await openControl(kv, systemClock);
    const directory = openKeyDirectory(kv, control, systemClock);
    const lookup = async (secret: string) => await directory.lookup(secret) !== undefined;
    const done = new Set<Company>();
    for (const company of companies) if (await isDone(kv, company, lookup)) done.add(company);
    control.close();
    await passClaims(kv);
    return done;
  });
}

Deno.test(
  "kill -9 while organisations change: each act is whole or not there, and its events arrive with one id",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      await using receiver = openReceiver();
      const random = seededRandom(37);
      const keyText = newMasterKey();
      const env = { GATEWAY_MASTER_KEYS: keyText };
      const masterKeys = await readMasterKeys(keyText);
      const { companies, keyIds } = await onStore(folder, async (kv) => {
        const companies: Company[] = [];
        for (let i = 0; i < companiesOfEachAct * acts.length; i++) {
          companies.push(await seedCompany(kv, masterKeys, { i, url: receiver.url }));
        }
        const keyIds = new Map<Company, string[]>();
        for (const company of companies) {
          keyIds.set(company, (await listApiKeys(kv, company.id)).map(({ id }) => id));
        }
        return { companies, keyIds };
      });
      let done: ReadonlySet<Company> = new Set();
      let lives = 0;
      while (done.size < companies.length) {
        const waiting = companies.filter((company) => !done.has(company));
        const gateway = await startMoneyGateway(folder, env);
        const made = await Promise.all(waiting.map((company) => prepared(gateway, company)));
        const spread = made.map((act) => async () => {
          await sleep(random() * spreadMs);
          await act();
        });
        const isLast = waiting.length <= 6;
        const answers = isLast ? Infinity : 1 + Math.floor(random() * 5);
        const answered = await killAmid(gateway, spread, answers);
        lives++;
        done = await checkCompanies(folder, companies);
        const lost = waiting.filter((company, at) => answered[at] && !done.has(company));
        assertEquals(lost, [], "what was answered is done");
      }
      assert(lives > 4, `${lives} lives`);
      const expected = companies.flatMap((one) => eventsOf(one, keyIds.get(one) ?? []));
      const gateway = await startMoneyGateway(folder, env);
      await until(() => {
        const arrived = idsByEvent(receiver);
        return expected.every((event) => arrived.has(event));
      }, "every event has arrived");
      assertEquals(await gateway.end("SIGTERM"), 0);
      const arrived = idsByEvent(receiver);
      for (const event of expected) assertEquals(arrived.get(event)?.size, 1, event);
      await onStore(folder, async (kv) => {
        await assertSoundBooks(kv);
        for (const company of companies) await assertNothingLeft(kv, company);
      });
    }),
);
