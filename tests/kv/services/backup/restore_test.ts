/** A restore waits while its store is away, and goes on where it stopped. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { newAccount, topUp } from "../../../support/worlds/money_world.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { everyRow, restoreMarkKey } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { StoreUnavailableError } from "../../../../kv/engine/store/store_unavailable.ts";
import { storeLookMs } from "../../../../kv/engine/store/store_wait.ts";
import { stillSnapshot } from "../../../../kv/engine/parts/snapshot.ts";
import { backupBytes, Restore } from "../../../../kv/services/backup/backup.ts";

/** Rows of several commits. */
const accounts = 300;

async function backedUp() {
  using kv = await Deno.openKv(":memory:");
  for (let at = 0; at < accounts; at++) await topUp(kv, newAccount(), 1_000n + BigInt(at));
  const snapshot = () => stillSnapshot(kv);
  const last = await Array.fromAsync(backupBytes({ kv, snapshot, nowMs: 0 }));
  return { last, rows: await rowsOf(kv) };
}

/** All rows but the schema version, which the restore writes itself. */
async function rowsOf(kv: KeyValueStore) {
  const rows = await Array.fromAsync(kv.list(everyRow()));
  return rows.map(({ key, value }) => ({ key, value })).filter(({ key }) => key[0] !== "store");
}

const { last, rows } = await backedUp();
const bytes = () => ({ days: [], last: ReadableStream.from(last) });

const optionsOf = (backup: string, looks: number) => ({
  nowMs: 0,
  backup,
  wait: {
    clock: systemClock,
    waitMs: looks * storeLookMs,
    nextLook: () => Promise.resolve(),
  },
});

const isAway = (what: string) => new StoreUnavailableError("unreachable", { cause: what });

async function restoreInto(kv: KeyValueStore, backup = "this one", looks = 0): Promise<number> {
  const restore = await Restore.begin(kv, optionsOf(backup, looks));
  await restore.write(bytes());
  return restore.resumedAfter;
}

Deno.test("a store that comes and goes gets every row once, also where answers are lost", async () => {
  const fault = fc.constantFrom<Fault>("none", "none", "before", "after");
  await fc.assert(
    fc.asyncProperty(fc.array(fault, { maxLength: 40 }), async (faults) => {
      using kv = await Deno.openKv(":memory:");
      const left = [...faults];
      const away = faultyKv(kv, () => left.shift() ?? "none", isAway);
      await restoreInto(away, "this one", faults.length + 1);
      assertEquals(await rowsOf(kv), rows);
      assertEquals((await kv.get(restoreMarkKey())).value, null);
    }),
    { numRuns: 8 },
  );
});

Deno.test("a restore that ended at any commit goes on, and no other backup is written over it", async () => {
  for (const commits of [0, 1, 2, 3]) {
    using kv = await Deno.openKv(":memory:");
    let made = 0;
    const dying = faultyKv(
      kv,
      (call) => call === "commit" && ++made > commits ? "before" : "none",
      isAway,
    );
    await assertRejects(() => restoreInto(dying), StoreUnavailableError);
    if (commits > 0) {
      await assertRejects(() => restoreInto(kv, "another"), Error, "part of another backup");
    }
    const resumedAfter = await restoreInto(kv);
    // The first commit is that of the mark.
    assertEquals(resumedAfter > 0, commits > 1, `${commits} commits, after ${resumedAfter}`);
    assertEquals(await rowsOf(kv), rows);
    await assertRejects(() => restoreInto(kv), Error, "not empty");
  }
});

Deno.test("of two restores into a store, the one that was taken over stops", async () => {
  using kv = await Deno.openKv(":memory:");
  const first = await Restore.begin(kv, optionsOf("this one", 0));
  const second = await Restore.begin(kv, optionsOf("this one", 0));
  await assertRejects(() => first.write(bytes()), Error, "another restore");
  await second.write(bytes());
  assertEquals(await rowsOf(kv), rows);
  assert(rows.length > 400, `${rows.length} rows are too few for several commits`);
});
