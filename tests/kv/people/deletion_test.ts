/**
 * A store with a row of every kind that an account can have, and what a deletion leaves of them, row by row: as
 * `kv/engine/schema/row_owners.ts` declares it of each kind, for each way in which an account ends.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { type RowKind, type RowOwner, rowOwners } from "../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { type Account, createAccount, getAccount } from "../../../kv/people/accounts/accounts.ts";
import { openSession } from "../../../kv/people/accounts/sessions.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { createManagementKey } from "../../../kv/people/management_keys/management_keys.ts";
import { subscribe } from "../../../kv/people/operators/status_subscribers.ts";
import {
  addCompanyDomain,
  verifyDomain,
} from "../../../kv/people/organisations/company_sign_in.ts";
import { invite } from "../../../kv/people/organisations/invitations.ts";
import { removeMember } from "../../../kv/people/organisations/members.ts";
import {
  createOrganisation,
  handOver,
  renameOrganisation,
} from "../../../kv/people/organisations/organisations.ts";
import {
  closeAccount,
  closeOrganisation,
} from "../../../kv/services/operations/account_closing.ts";
import { joinAs } from "../../support/worlds/company_world.ts";

const nowMs = Date.parse("2026-11-20T14:03:30+07:00");
const domain = "zirkonia.example";
const guest = "guest@zirkonia.example";
const owners: Readonly<Record<RowKind, RowOwner>> = rowOwners;

/** The kinds that somebody has, with what the table says of each. */
const owned = Object.entries(owners).flatMap(([kind, owner]) =>
  owner.of === "installation" ? [] : [{ kind, ...owner }]
);

/** Kinds whose rows the code of a deletion reads: they are made by the code that makes them. */
const made: ReadonlySet<string> = new Set<RowKind>([
  "account",
  "account_by_email",
  "account_by_identity",
  "account_session",
  "active_api_keys",
  "activity",
  "api_key",
  "api_key_by_hash",
  "company_domain",
  "former_member",
  "invitation",
  "invitation_for",
  "management_key",
  "management_key_by_hash",
  "member",
  "membership",
  "removed_member",
  "session",
  "status_subscriber",
  "verified_domain",
]);

/** Makes what a person has. */
async function fillPerson(kv: KeyValueStore, { id, email = "" }: Account, by: Account) {
  const session = { accountId: id, nowMs, method: "password", device: "x", address: "x" } as const;
  await openSession(kv, session);
  await subscribe(kv, { email, locale: "en", confirmedAtMs: nowMs });
  const restsOn = { personId: by.id };
  await invite(kv, by.id, { email, role: "viewer", inviter: "x", restsOn, locale: "en", nowMs });
}

/** Makes what an organisation has. */
async function fillOrganisation(kv: KeyValueStore, id: AccountId, owner: Account) {
  const masterKeys = await readMasterKeys(newMasterKey());
  const made = await createApiKey(kv, masterKeys, id, { name: "phone of Zirkonia", nowMs });
  assert(made.ok);
  await createManagementKey(kv, id, { name: "Zirkonia", role: "admin", memberId: owner.id, nowMs });
  const restsOn = { personId: owner.id };
  const invited = { email: guest, role: "viewer", inviter: "x" } as const;
  await invite(kv, id, { ...invited, restsOn, locale: "en", nowMs });
  await addCompanyDomain(kv, id, domain, { nowMs });
  await verifyDomain(kv, id, domain, { isPublished: () => true, nowMs });
  const former = await createAccount(kv, { nowMs, email: "former@elsewhere.example" });
  await joinAs(kv, id, former, { role: "viewer", nowMs });
  await removeMember(kv, id, former.id, { nowMs });
}

/** Makes rows of each other kind under an id, in both forms of keys. */
async function fillOthers(kv: KeyValueStore, id: AccountId) {
  for (const { kind } of owned) {
    if (made.has(kind)) continue;
    await kv.set([kind, id, "x"], { id: "x" });
    await kv.set([kind, id], { id: "x" });
  }
}

interface Row {
  readonly key: Deno.KvKey;
  /** Key and value. */
  readonly text: string;
}

/** The rows of the store by their keys. */
async function rowsOf(kv: KeyValueStore): Promise<Map<string, Row>> {
  const rows = await Array.fromAsync(kv.list({ prefix: [] }));
  const textOf = (row: unknown) => Deno.inspect(row, { depth: 9, strAbbreviateSize: 1e6 });
  return new Map(
    rows.map(({ key, value }) => [textOf(key), { key, text: textOf([key, value]) }]),
  );
}

interface Ending {
  /** What ends of the account. */
  readonly ends: readonly ("person" | "organisation")[];
  /** The account that ends, or whose half does; its email, if its person does. */
  readonly account: Account;
  readonly end: () => Promise<void>;
}

/** Each way in which an account ends. */
const endings: Readonly<Record<string, (kv: KeyValueStore) => Promise<Ending>>> = {
  "a person with the organisation of the same id": async (kv) => {
    const account = await ann(kv);
    await fillOrganisation(kv, account.id, account);
    return {
      ends: ["person", "organisation"],
      account,
      end: () => closeAccount(kv, account.id, { nowMs, givenUpMicroVnd: 0n }),
    };
  },
  "an organisation with an id of its own": async (kv) => {
    const owner = await ann(kv);
    const account = await createOrganisation(kv, owner.id, { name: "Zirkonia", nowMs });
    assert(account !== "too_many");
    await fillOrganisation(kv, account.id, owner);
    return {
      // No person has the id, so that nothing of one stays.
      ends: ["person", "organisation"],
      account,
      end: () => closeOrganisation(kv, account.id, { nowMs, givenUpMicroVnd: 0n }),
    };
  },
  "an organisation that was handed over, without the person of its id": async (kv) => {
    const { account, bob } = await handedOver(kv);
    return {
      ends: ["organisation"],
      account,
      async end() {
        await removeMember(kv, account.id, account.id, { nowMs, by: byMember(bob) });
        await closeOrganisation(kv, account.id, { nowMs, givenUpMicroVnd: 0n });
      },
    };
  },
  "a person, without the organisation of its id that was handed over": async (kv) => {
    const { account } = await handedOver(kv);
    return {
      ends: ["person"],
      account,
      async end() {
        await removeMember(kv, account.id, account.id, { isDeleted: true, nowMs });
        await closeAccount(kv, account.id, { nowMs, givenUpMicroVnd: 0n });
      },
    };
  },
};

const byMember = ({ id }: Account) =>
  ({ kind: "person", accountId: id, address: "x", browser: "x" }) as const;

/** A person with everything that a person has. */
async function ann(kv: KeyValueStore): Promise<Account> {
  const identity = { issuer: "https://id.example", subject: "ann-at-id" };
  const email = "ann@elsewhere.example";
  const account = await createAccount(kv, { nowMs, email, identity, locale: "en" });
  await fillPerson(kv, account, await createAccount(kv, { nowMs, email: "x@other.example" }));
  return account;
}

async function handedOver(kv: KeyValueStore) {
  const account = await ann(kv);
  const bob = await createAccount(kv, { nowMs, email: "bob@other.example" });
  await joinAs(kv, account.id, bob, { role: "admin", nowMs });
  await fillOrganisation(kv, account.id, account);
  await renameOrganisation(kv, account.id, "Zirkonia", { nowMs });
  assertEquals(await handOver(kv, account.id, { from: account, to: bob.id, nowMs }), "done");
  return { account, bob };
}

for (const [name, prepare] of Object.entries(endings)) {
  Deno.test(`${name}: a deletion leaves what each kind of row declares`, async () => {
    using kv = await Deno.openKv(":memory:");
    const ending = await prepare(kv);
    const { id } = ending.account;
    await fillOthers(kv, id);
    const before = await rowsOf(kv);
    await ending.end();
    const after = await rowsOf(kv);
    assertEquals(wronglyTreated(before, after, ending), []);
    assertEquals(stillNamed(after, ending), []);
    assertEquals((await getAccount(kv, id))?.id, id);
  });
}

/** The kinds whose rows under the id are not treated as declared. */
function wronglyTreated(
  before: ReadonlyMap<string, Row>,
  after: ReadonlyMap<string, Row>,
  { account: { id }, ends }: Ending,
): string[] {
  return owned.flatMap(({ kind, of, deletion: { does } }) => {
    const isEnded = of === "account" ? ends.length === 2 : ends.includes(of);
    const rows = [...before].filter(([, { key }]) => key[0] === kind && key[1] === id);
    const left = rows.filter(([name]) => after.has(name));
    const isSame = rows.every(([name, { text }]) => after.get(name)?.text === text);
    if (isEnded && does === "deletes") return left.length > 0 ? [`${kind} is left`] : [];
    if (isEnded && does === "anonymises") return left.length > 0 ? [] : [`${kind} is gone`];
    // What code makes, code may also change.
    return isSame || made.has(kind) ? [] : [`${kind} is not kept`];
  });
}

/**
 * Kinds whose rows may name what has ended. Mails and events that wait end when they are sent, or dropped. Who was a
 * member of another organisation is known there for 90 days, since credits of operators are checked by it.
 */
const namesElsewhere: ReadonlySet<unknown> = new Set<RowKind>(["outbox", "former_member"]);

/** The rows, under whatever keys, that still name what has ended. */
function stillNamed(rows: ReadonlyMap<string, Row>, { account, ends }: Ending): string[] {
  const { id, email } = account;
  const byIndex = new Set<unknown>(
    owned.filter(({ of, deletion: { does } }) =>
      does === "deletes_by_index" && of !== "account" && ends.includes(of)
    ).map(({ kind }) => kind),
  );
  const names = [
    ...ends.includes("organisation") ? [domain, guest, "phone of Zirkonia"] : [],
    ...ends.includes("person") && email !== undefined ? [email, "ann-at-id"] : [],
  ];
  return [...rows.values()].filter(({ key: [kind, owner], text }) => {
    if (byIndex.has(kind) && kind !== "membership" && text.includes(id)) return true;
    // The log of another organisation, or of this one that goes on, says who acted there.
    const isOthersLog = kind === "activity" && !(owner === id && ends.includes("organisation"));
    return !namesElsewhere.has(kind) && !isOthersLog && names.some((name) => text.includes(name));
  }).map(({ text }) => text);
}

Deno.test("the account of these tests has a row of every kind that somebody has", async () => {
  using kv = await Deno.openKv(":memory:");
  const { account } = await handedOver(kv);
  await fillOthers(kv, account.id);
  const kinds = new Set<unknown>();
  for await (const { key } of kv.list({ prefix: [] })) kinds.add(key[0]);
  assertEquals(owned.map(({ kind }) => kind).filter((kind) => !kinds.has(kind)), []);
});
