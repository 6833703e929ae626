/** Acts at the same time undo nothing of each other, and say what came of them: others are faster by one commit. */
import { assert, assertEquals } from "../../support/assert.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Role } from "../../../core/people/organisations/acts.ts";
import type { AtomicWrite, KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { addBudget, editBudget, listBudgets } from "../../../kv/people/accounts/budgets.ts";
import { createApiKey, updateApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { getApiKey } from "../../../kv/people/api_keys/api_keys.ts";
import {
  addCompanyDomain,
  listCompanyDomains,
  verifyDomain,
} from "../../../kv/people/organisations/company_sign_in.ts";
import { createTeam } from "../../../kv/people/organisations/teams.ts";
import { budgetChange } from "../../../routes/acts/budgets.ts";
import { keyChange } from "../../../routes/acts/keys.ts";
import type { Acting } from "../../../routes/acts/operation.ts";
import { domainRemoval } from "../../../routes/acts/sign_in.ts";
import { joinAs } from "../../support/worlds/company_world.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

/**
 * A store in which others are faster: they act between what a caller has read and its commit. The wrapped one stays the caller's to close.
 *
 * @param others is awaited before each commit
 */
function racedKv(kv: KeyValueStore, others: () => Promise<unknown>): KeyValueStore {
  return new Proxy(kv, {
    get(target, property) {
      if (property === "atomic") return () => raced(target.atomic(), others);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function raced(operation: AtomicWrite, others: () => Promise<unknown>): AtomicWrite {
  const wrapped: AtomicWrite = new Proxy(operation, {
    get(target, property) {
      if (property === "commit") {
        return async () => {
          await others();
          return await target.commit();
        };
      }
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        Reflect.apply(value, target, args);
        return wrapped;
      };
    },
  });
  return wrapped;
}

type World = Awaited<ReturnType<typeof openManagementWorld>>;

const depsOf = ({ masterKeys }: World, kv: KeyValueStore) => ({
  kv,
  masterKeys,
  control: { refresh: () => Promise.resolve() },
  catalog: { find: () => undefined, providers: {} },
  hintMail: () => {},
});

function actingOf({ owner: account, time }: World, person: Account, role: Role): Acting {
  const address = "203.0.113.9";
  return {
    account,
    personId: person.id,
    roles: [role],
    by: { kind: "person", accountId: person.id, address, browser: "" },
    actorName: "x",
    address,
    locale: "en",
    nowMs: time.nowMs(),
  };
}

/** A store in which somebody else does an act before the first commit of the caller. */
function onceBefore(kv: KeyValueStore, act: () => Promise<unknown>): KeyValueStore {
  let isDone = false;
  return racedKv(kv, async () => {
    if (isDone) return;
    isDone = true;
    await act();
  });
}

Deno.test("changes of a budget at the same time undo nothing of each other", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, time } = world;
  const done = { nowMs: time.nowMs() };
  const budget = await addBudget(kv, owner.id, {
    name: "b",
    subject: { kind: "account" },
    window: "month",
    amountVnd: 5_000,
    atLimit: "refuse",
  }, done);
  assert(budget !== undefined);
  const { id } = budget;
  const lower = () => editBudget(kv, owner.id, id, { amountVnd: 1_000 }, done);
  const deps = depsOf(world, onceBefore(kv, lower));
  const acting = actingOf(world, owner, "owner");
  assert((await budgetChange.run(deps, acting, { id, name: "other" })).ok);
  const [stored] = await listBudgets(kv, owner.id);
  assertEquals([stored?.name, stored?.amountMicroVnd], ["other", fromVnd(1_000)]);
});

Deno.test("whoever may not move a key does not undo a move by others", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, masterKeys, time } = world;
  const nowMs = time.nowMs();
  const developer = await createAccount(kv, { nowMs, email: "dev@example.com" });
  await joinAs(kv, owner.id, developer, { role: "developer", nowMs });
  const [from, to] = [
    await createTeam(kv, owner.id, { name: "from", nowMs }),
    await createTeam(kv, owner.id, { name: "to", nowMs }),
  ];
  assert(typeof from === "object" && typeof to === "object");
  const options = { name: "k", teamId: from.id, memberId: developer.id, nowMs };
  const made = await createApiKey(kv, masterKeys, owner.id, options);
  assert(made.ok);
  const { id } = made.record;
  const key = () => getApiKey(kv, owner.id, id);
  const move = () => updateApiKey(kv, owner.id, id, (record) => ({ ...record, teamId: to.id }));
  const raced = onceBefore(kv, move);
  const acting = actingOf(world, developer, "developer");
  const sent = { id, name: "other", teamId: from.id };
  const outcome = await keyChange.run(depsOf(world, raced), acting, sent);
  assertEquals(outcome, { ok: false, why: "move" });
  assertEquals([(await key())?.teamId, (await key())?.name], [to.id, "k"]);
  // Without the team it goes on, and the key stays where it is now.
  await updateApiKey(kv, owner.id, id, (record) => ({ ...record, teamId: from.id }));
  const again = onceBefore(kv, move);
  assert((await keyChange.run(depsOf(world, again), acting, { id, name: "other" })).ok);
  assertEquals([(await key())?.teamId, (await key())?.name], [to.id, "other"]);
});

Deno.test("a domain that others keep changing is not said to be removed", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, time } = world;
  const done = { nowMs: time.nowMs() };
  const id = "acme.example";
  await addCompanyDomain(kv, owner.id, id, done);
  const verify = () => verifyDomain(kv, owner.id, id, { isPublished: () => true, ...done });
  const acting = actingOf(world, owner, "owner");
  const busy = await domainRemoval.run({ kv: racedKv(kv, verify) }, acting, { id });
  assertEquals(busy, { ok: false, why: "busy" });
  assertEquals((await listCompanyDomains(kv, owner.id)).length, 1);
  const removed = await domainRemoval.run({ kv: onceBefore(kv, verify) }, acting, { id });
  assertEquals(removed, { ok: true, body: id });
  assertEquals(await domainRemoval.run({ kv }, acting, { id }), { ok: false, why: "gone" });
});
