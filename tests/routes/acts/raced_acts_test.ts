/** Acts at the same time undo nothing of each other, and say what came of them: others are faster by one commit. */
import { assert, assertEquals } from "../../support/assert.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Role } from "../../../core/people/organisations/acts.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { addBudget, editBudget, listBudgets } from "../../../kv/people/accounts/budgets.ts";
import { budgetChange } from "../../../routes/acts/budgets.ts";
import type { Acting } from "../../../routes/acts/operation.ts";
import { racedKv } from "../../support/stores/raced_kv.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

type World = Awaited<ReturnType<typeof openManagementWorld>>;

const depsOf = ({ masterKeys }: World, kv: KeyValueStore) => ({
  kv,
  masterKeys,
  control: { refresh: () => Promise.resolve() },
  catalog: { find: () => undefined },
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
