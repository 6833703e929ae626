/** `admin tables`: sealed days as files, resumed where it ended. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../../core/lib/time/vietnam_time.ts";
import { dayTables } from "../../../../../kv/services/warehouse/day_tables.ts";
import { verifyBooks } from "../../../../../kv/services/verify/verify_books.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { openedStore } from "../../../../support/stores/backup_stores.ts";
import { BooksWorld } from "../../../../support/worlds/books_world.ts";

async function filesIn(folder: string): Promise<string[]> {
  const found = await Array.fromAsync(Deno.readDir(folder), async ({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? await filesIn(path) : [path];
  });
  return found.flat().sort();
}

Deno.test("sealed days become files that are written once; a day that is not over is refused", async () => {
  const root = await Deno.makeTempDir();
  const masterKeys = newMasterKey();
  const config = testConfig({
    env: { GATEWAY_KV: `${root}/store.sqlite3`, GATEWAY_MASTER_KEYS: masterKeys },
  });
  const days: string[] = [];
  const seal = async (world: BooksWorld) => {
    const report = await verifyBooks(world.kv, {
      masterKeys: await readMasterKeys(masterKeys),
      nowMs: world.nowMs,
    });
    assert(report.ok);
  };
  {
    using store = await openedStore(config);
    const world = await BooksWorld.open(store.kv);
    await world.topUp(world.ann, 10_000n);
    for (let day = 0; day < 3; day++) {
      days.push(vietnamDay(world.nowMs));
      await world.call(world.ann, 10n);
      world.nextDay();
    }
    await seal(world);
    days.push(vietnamDay(world.nowMs + dayMs));
    await world.wallet.close();
  }
  const folder = `${root}/warehouse`;
  const [first = "", second = "", third = "", unsealed = ""] = days;
  const run = (...words: string[]) => runCommand(config, ["tables", folder, ...words]);

  const refused = await run("--from", first, "--to", unsealed);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.written, `${unsealed} is not sealed`);

  const one = await run("--from", second, "--to", second);
  assertEquals([one.code, one.errors], [0, ""]);
  const expected = (some: readonly string[]) =>
    Object.keys(dayTables).flatMap((table) =>
      some.map((day) => `${folder}/${table}/day=${day}/${table}.parquet`)
    ).sort();
  assertEquals(await filesIn(folder), expected([second]));
  const all = JSON.parse((await run("--from", first)).written);
  assertEquals([all.written.length, all.present], [4, 2]);
  assertEquals(await filesIn(folder), expected([first, second, third]));
  const again = JSON.parse((await run("--from", first)).written);
  assertEquals(again, { written: [], present: 6 });
  for (const path of await filesIn(folder)) {
    const bytes = await Deno.readFile(path);
    assertEquals(new TextDecoder().decode(bytes.subarray(-4)), "PAR1", path);
  }

  // What cannot be written leaves no file, and the next run makes it.
  const [lost] = await filesIn(folder);
  await Deno.remove(lost!);
  await Deno.mkdir(`${lost}.part`);
  const failed = await run("--from", first);
  assertEquals(failed.code, 1);
  assertStringIncludes(failed.errors, "Not all tables were written");
  await Deno.remove(`${lost}.part`).catch(() => {});
  assertEquals(JSON.parse((await run("--from", first)).written).written, [lost]);
  await Deno.remove(root, { recursive: true });
});
