import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import {
  archivedSumsSchemaVersion,
  type Migration,
  prepareStore,
  programSchemaVersion,
  readSchemaVersion,
  writeSchemaVersion,
} from "../../../../kv/engine/opening/schema_version.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { nextTurn, passTurns } from "../../../support/turns.ts";

const world = { clock: new ManualTime(), sleep: nextTurn };

Deno.test("the first start writes the version of the program, later ones find it", async () => {
  using kv = await Deno.openKv(":memory:");
  for (let start = 0; start < 2; start++) {
    assertEquals(await prepareStore(kv, world), { ok: true, version: programSchemaVersion });
    assertEquals(await readSchemaVersion(kv), programSchemaVersion);
  }
});

Deno.test("a new store starts at the version of the program, without migrations", async () => {
  using kv = await Deno.openKv(":memory:");
  const migrations: Migration[] = [() => Promise.reject(new Error("it ran"))];
  assertEquals(await prepareStore(kv, { ...world, migrations }), { ok: true, version: 2 });
});

Deno.test("a store that a newer program wrote is refused, and both versions are named", async () => {
  using kv = await Deno.openKv(":memory:");
  await writeSchemaVersion(kv, programSchemaVersion + 6, 0);
  const prepared = await prepareStore(kv, world);
  assert(!prepared.ok);
  assertStringIncludes(prepared.problem, `schema version ${programSchemaVersion + 6}`);
  assertStringIncludes(prepared.problem, `version ${archivedSumsSchemaVersion}.`);
  assert(!prepared.problem.includes("\n"));
  assertEquals(await readSchemaVersion(kv), programSchemaVersion + 6);
});

Deno.test("instances that start together run each migration of an older store once, in order", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(["wallet", "of an older store"], 1);
  const ran: number[] = [];
  const migration = (version: number): Migration => async (store) => {
    await passTurns(20);
    ran.push(version);
    await store.set(["control", `migrated ${version}`], true);
  };
  const migrations = [migration(2), migration(3)];
  const starts = Array.from({ length: 8 }, () => prepareStore(kv, { ...world, migrations }));
  for (const prepared of await Promise.all(starts)) {
    assertEquals(prepared, { ok: true, version: 3 });
  }
  assertEquals(ran, [2, 3]);
  const locks = await Array.fromAsync(kv.list({ prefix: ["store"] }), ({ key }) => key[1]);
  assertEquals(locks, ["schema_version"]);
});

Deno.test("a migration that failed runs again at the next start", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(["wallet", "of an older store"], 1);
  let tries = 0;
  const migrations: Migration[] = [() => {
    if (++tries === 1) return Promise.reject(new Error("the store is away"));
    return Promise.resolve();
  }];
  await assertRejects(() => prepareStore(kv, { ...world, migrations }), Error, "away");
  assertEquals(await readSchemaVersion(kv), 1);
  assertEquals(await prepareStore(kv, { ...world, migrations }), { ok: true, version: 2 });
  assertEquals(tries, 2);
});

Deno.test("the lock of an instance that died ends, one of a running instance is waited for", async () => {
  const time = new ManualTime();
  using kv = await Deno.openKv(":memory:");
  await kv.set(["wallet", "of an older store"], 1);
  await kv.set(["store", "migration_lock"], { holder: "dead", expiresAtMs: time.nowMs() + 50 });
  let waits = 0;
  const sleep = async () => {
    waits++;
    time.advance(10);
    await nextTurn();
  };
  const options = { clock: time, sleep };
  const migrations: Migration[] = [() => Promise.resolve()];
  assertEquals(await prepareStore(kv, { ...options, migrations }), { ok: true, version: 2 });
  assertEquals(waits, 5);
});
