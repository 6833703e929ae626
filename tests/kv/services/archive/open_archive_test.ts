import { listAllReceipts } from "../../../support/worlds/money_world.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { newMasterKey } from "../../../../core/people/api_keys/seal.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { openStore } from "../../../../kv/engine/opening/store.ts";
import { prepareStore } from "../../../../kv/engine/opening/schema_version.ts";
import { withArchive } from "../../../../kv/services/archive/open_archive.ts";
import { moveDays } from "../../../../kv/services/archive/move_days.ts";
import { receiptsPrefix } from "../../../../kv/engine/schema/keys.ts";
import { decodeKey } from "../../../../kv/engine/parts/tuple_key.ts";
import { daysWithFiles } from "../../../../kv/services/backup/sealed_day_rows.ts";
import {
  backupBytes,
  dayBytes,
  restBytes,
  Restore,
} from "../../../../kv/services/backup/backup.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { runCommand } from "../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../support/gateways/gateway_in_process.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";

async function openAt(path: string) {
  const location = { kind: "file", path } as const;
  const opened = await openStore(location, systemClock);
  assert(opened.ok, "the store opens");
  return await withArchive(opened.store, location, systemClock);
}

/** A store with an archive, in which days were moved. */
async function movedStore(folder: string) {
  const opened = await openAt(`${folder}/gateway.kv`);
  assert(opened.ok, opened.ok ? "" : opened.problem);
  const { store } = opened;
  const world = await BooksWorld.used(store.kv);
  await world.verify();
  const { checkpoints } = await readChain(store.kv, world.masterKeys);
  assert(store.parts !== undefined, "a file has an archive");
  const { moved } = await moveDays(store.parts, { checkpoints, nowMs: world.nowMs });
  assertEquals(moved.length, 3);
  return { store, world };
}

Deno.test("a backup has the receipts of the archive, and is restored without one", async () => {
  for (const inDays of [false, true]) {
    const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
    const { store, world } = await movedStore(folder);
    const { kv, snapshot } = store;
    const { masterKeys, nowMs } = world;
    const receipts = await Array.fromAsync(listAllReceipts(kv));
    const source = { kv, snapshot, nowMs, masterKeys };
    const days = inDays ? (await daysWithFiles(source)).days.map(({ day }) => day) : [];
    assertEquals(days.length, inDays ? 2 : 0);
    const last = inDays ? restBytes(source, days.at(-1) ?? "") : backupBytes(source);
    using restored = await Deno.openKv(":memory:");
    const dayFiles = await Promise.all(days.map((day) => dayBytes(source, day)));
    const wait = { clock: systemClock, waitMs: 0, nextLook: () => Promise.resolve() };
    const restore = await Restore.begin(restored, { nowMs, backup: "this one", wait });
    await restore.write({ days: dayFiles, last });
    assertEquals(await Array.fromAsync(listAllReceipts(restored)), receipts);
    const prepared = await prepareStore(restored, { clock: systemClock, sleep: async () => {} });
    assertEquals(prepared, { ok: true, version: 1 });
    assertEquals(problemLines(await world.verify({ kv: restored, isFull: true })), []);
    await world.wallet.close();
    store[Symbol.dispose]();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("of the archive, a part of a backup has the rows of its ranges only", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const { store, world } = await movedStore(folder);
  const { kv, snapshot } = store;
  const all = await Array.fromAsync(kv.list({ prefix: receiptsPrefix() }));
  const [, second, third] = all.map(({ key }) => key);
  assert(second !== undefined && third !== undefined, "three pages");
  const receiptsIn = async (selectors: Deno.KvListSelector[]) => {
    const rows = await Array.fromAsync(snapshot({ selectors }));
    return rows.map(({ key }) => decodeKey(key)).filter(([kind]) => kind === "receipt").length;
  };
  const cases: [selector: Deno.KvListSelector, pages: number][] = [
    [{ prefix: [] }, all.length],
    [{ prefix: receiptsPrefix() }, all.length],
    [{ prefix: ["wallet"] }, 0],
    [{ prefix: [], end: second }, 1],
    [{ prefix: [], start: third }, all.length - 2],
    [{ start: ["ledger"], end: third }, 2],
    [{ start: second, end: third }, 1],
    [{ start: ["receipts_of"], end: ["wallet"] }, 0],
    [{ start: ["account"], end: ["ledger"] }, 0],
  ];
  for (const [selector, pages] of cases) {
    assertEquals(await receiptsIn([selector]), pages, JSON.stringify(selector));
  }
  await world.wallet.close();
  store[Symbol.dispose]();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a store whose archive is missing does not serve, and does once it is back", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const { store, world } = await movedStore(folder);
  await world.wallet.close();
  store[Symbol.dispose]();
  const archive = `${folder}/gateway.kv.archive`;
  await Deno.rename(archive, `${folder}/away`);
  const refused = await openAt(`${folder}/gateway.kv`);
  assert(!refused.ok && refused.problem.includes(`${archive} is missing`), "it is refused");
  await Deno.rename(`${folder}/away`, archive);
  const opened = await openAt(`${folder}/gateway.kv`);
  assert(opened.ok, "it is used");
  assertEquals((await Array.fromAsync(listAllReceipts(opened.store.kv))).length, 16);
  opened.store[Symbol.dispose]();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a restore is refused while the archive of an earlier store is there", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const { store, world } = await movedStore(folder);
  await world.wallet.close();
  store[Symbol.dispose]();
  const path = `${folder}/gateway.kv`;
  const config = testConfig({
    env: {
      GATEWAY_KV: path,
      GATEWAY_MASTER_KEYS: newMasterKey(),
      GATEWAY_BACKUP_KEY: newMasterKey(),
    },
  });
  assertEquals((await runCommand(config, ["backup", `${folder}/backup`])).errors, "");
  for (const suffix of ["", "-wal", "-shm"]) {
    await Deno.remove(`${path}${suffix}`).catch(() => {});
  }
  const refused = await runCommand(config, ["restore", `${folder}/backup`]);
  assert(refused.code === 1 && refused.errors.includes("archive"), refused.errors);
  await Deno.rename(`${path}.archive`, `${folder}/away`);
  assertEquals((await runCommand(config, ["restore", `${folder}/backup`])).errors, "");
  const opened = await openAt(path);
  assert(opened.ok, "it is used");
  assertEquals((await Array.fromAsync(listAllReceipts(opened.store.kv))).length, 16);
  opened.store[Symbol.dispose]();
  await Deno.remove(folder, { recursive: true });
});
