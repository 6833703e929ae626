/** An act that takes several commits is whole: its first commit decides, and a worker does what a killed process left. */
import { joinAs } from "../../../support/worlds/company_world.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { minuteMs } from "../../../../core/lib/time/durations.ts";
import { openControl } from "../../../../kv/engine/control/control.ts";
import { runDue } from "../../../../kv/engine/outbox/outbox_worker.ts";
import { outboxQueuePrefix, teamsPrefix } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { createAccount, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { pendingCleanupQueue } from "../../../../kv/people/deletion/pending_cleanup.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { openKeyDirectory } from "../../../../kv/people/api_keys/key_directory.ts";
import { allActivity } from "../../../../kv/people/audit/account_activity.ts";
import { removeMember } from "../../../../kv/people/organisations/members.ts";
import {
  createOrganisation,
  listMemberships,
  readMembership,
} from "../../../../kv/people/organisations/organisations.ts";
import { createTeam } from "../../../../kv/people/organisations/teams.ts";
import {
  closeOrganisation,
  pendingCleanupWork,
} from "../../../../kv/services/operations/account_closing.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { Breaking } from "../archive/moving.ts";

const keysOfEach = 3;
/** Far more than it takes: an act that never ends fails. */
const maxKills = 30;

/** An organisation of an owner and a member, each with keys. */
async function openWorld() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const masterKeys = await readMasterKeys(newMasterKey());
  const nowMs = time.nowMs();
  const person = (email: string) => createAccount(kv, { nowMs, email, locale: "en" });
  const [owner, member] = [await person("o@example.com"), await person("m@example.com")];
  const made = await createOrganisation(kv, owner.id, { name: "Acme", nowMs });
  assert(made !== "too_many");
  const { id } = made;
  const join = () => joinAs(kv, id, member, { role: "developer", nowMs: time.nowMs() });
  const keyOf = async (memberId: typeof id) => {
    const options = { name: "key", nowMs: time.nowMs(), memberId };
    const created = await createApiKey(kv, masterKeys, id, options);
    assert(created.ok);
    return created.secret;
  };
  await join();
  await createTeam(kv, id, { name: "Team", nowMs });
  const keysOf = (memberId: typeof id) =>
    Promise.all(Array.from({ length: keysOfEach }, () => keyOf(memberId)));
  const secrets = { owner: await keysOf(owner.id), member: await keysOf(member.id) };
  return {
    kv,
    time,
    ...{ id, owner, member, secrets, join, keyOf },
    /** How many of some secrets may call, as a process finds that starts now. */
    async usable(some: readonly string[]): Promise<number> {
      const control = await openControl(kv, time);
      const directory = openKeyDirectory(kv, control, time);
      const found = await Promise.all(some.map(async (one) => await directory.lookup(one)));
      control.close();
      return found.filter((one) => one !== undefined).length;
    },
    async active(): Promise<number> {
      return (await listApiKeys(kv, id)).filter((key) => key.revokedAtMs === undefined).length;
    },
    /** What a worker does after a minute, also twice. */
    async runWorker(): Promise<number> {
      time.advance(minuteMs);
      const world = { kv, clock: time, random: () => 0 };
      return await runDue(world, pendingCleanupWork(kv));
    },
    async queued(): Promise<number> {
      const rows = kv.list({ prefix: outboxQueuePrefix(pendingCleanupQueue.name) });
      return (await Array.fromAsync(rows)).length;
    },
    [Symbol.dispose]: () => kv.close(),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** Acts on a store that breaks at each act in turn, and checks each outcome. */
async function killedAtEachAct(
  act: (world: World, kv: KeyValueStore) => Promise<unknown>,
  check: (world: World, isEnded: boolean) => Promise<void>,
): Promise<void> {
  for (const isAfter of [false, true]) {
    let isEnded = false;
    let kills = 0;
    for (; !isEnded && kills < maxKills; kills++) {
      using world = await openWorld();
      const breaking = new Breaking(kills, isAfter);
      isEnded = await act(world, breaking.store(world.kv)).then(() => true, () => false);
      await check(world, isEnded);
    }
    assert(kills > 3 && isEnded, `${kills} kills`);
  }
}

Deno.test("a member who is removed calls no more, and the keys are revoked whenever the process dies", async () => {
  await killedAtEachAct(
    ({ id, member, time }, kv) => removeMember(kv, id, member.id, { nowMs: time.nowMs() }),
    async (world, isEnded) => {
      const { id, owner, member, secrets } = world;
      const isMember = await readMembership(world.kv, id, member.id) !== undefined;
      assertEquals(await world.usable(secrets.member), isMember ? keysOfEach : 0);
      assertEquals(await world.usable(secrets.owner), keysOfEach);
      if (isEnded) assertEquals([isMember, await world.queued()], [false, 0]);
      await world.runWorker();
      assertEquals(await world.active(), isMember ? 2 * keysOfEach : keysOfEach);
      assertEquals([await world.queued(), owner.id !== member.id], [0, true]);
    },
  );
});

Deno.test("an organisation that is deleted leaves nothing, whenever the process dies", async () => {
  await killedAtEachAct(
    async ({ id, member, time }, kv) => {
      const nowMs = time.nowMs();
      await removeMember(kv, id, member.id, { nowMs });
      await closeOrganisation(kv, id, { nowMs, givenUpMicroVnd: 0n });
    },
    async (world, isEnded) => {
      const { kv, id, owner, secrets } = world;
      const isDeleted = (await getAccount(kv, id))?.deletedAtMs !== undefined;
      assertEquals(await world.usable(secrets.owner), isDeleted ? 0 : keysOfEach);
      if (isEnded) assertEquals([isDeleted, await world.queued()], [true, 0]);
      await world.runWorker();
      assertEquals(await world.queued(), 0);
      if (!isDeleted) return;
      assertEquals(await world.active(), 0);
      assertEquals((await listApiKeys(kv, id)).map(({ name }) => name).join(""), "");
      assertEquals(await Array.fromAsync(kv.list({ prefix: teamsPrefix(id) })), []);
      assertEquals(await Array.fromAsync(allActivity(kv, id)), []);
      const memberships = await listMemberships(kv, owner);
      assertEquals(memberships.filter(({ account }) => account.id === id), []);
    },
  );
});

Deno.test("who joins again keeps the keys that are made then, though the worker comes later", async () => {
  using world = await openWorld();
  const { kv, id, member, time, secrets } = world;
  // The removal takes effect, and the process dies.
  const breaking = new Breaking(0, true);
  const removing = removeMember(breaking.store(kv), id, member.id, {
    nowMs: time.nowMs(),
  });
  assertEquals(await removing.then(() => "ended", () => "killed"), "killed");
  time.advance(1);
  await world.join();
  const later = await world.keyOf(member.id);
  assertEquals(await world.runWorker(), 1);
  assertEquals(await world.usable([later]), 1);
  assertEquals(await world.usable(secrets.member), 0);
});
