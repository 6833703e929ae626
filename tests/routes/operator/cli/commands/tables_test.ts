/** `admin tables`: sealed days as files, resumed where it ended. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import type { Config } from "../../../../../core/config/config.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../../core/lib/time/vietnam_time.ts";
import { dayTables } from "../../../../../kv/services/warehouse/day_tables.ts";
import { verifyBooks } from "../../../../../kv/services/verify/verify_books.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { openedStore } from "../../../../support/stores/backup_stores.ts";
import { BooksWorld } from "../../../../support/worlds/books_world.ts";
import { bucketKeys, failOnce, startBucketServer } from "../bucket/bucket_server.ts";

async function filesIn(folder: string): Promise<string[]> {
  const found = await Array.fromAsync(Deno.readDir(folder), async ({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? await filesIn(path) : [path];
  });
  return found.flat().sort();
}

/** Makes a store in a folder, and returns three sealed days and one that is not over. */
async function seed(
  root: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<{ readonly config: Config; readonly days: readonly string[] }> {
  const masterKeys = newMasterKey();
  const config = testConfig({
    env: { GATEWAY_KV: `${root}/store.sqlite3`, GATEWAY_MASTER_KEYS: masterKeys, ...variables },
  });
  const days: string[] = [];
  using store = await openedStore(config);
  const world = await BooksWorld.open(store.kv);
  await world.topUp(world.ann, 10_000n);
  for (let day = 0; day < 3; day++) {
    days.push(vietnamDay(world.nowMs));
    await world.call(world.ann, 10n);
    world.nextDay();
  }
  const report = await verifyBooks(world.kv, {
    masterKeys: await readMasterKeys(masterKeys),
    nowMs: world.nowMs,
  });
  assert(report.ok);
  days.push(vietnamDay(world.nowMs + dayMs));
  await world.wallet.close();
  return { config, days };
}

Deno.test("sealed days become files that are written once; a day that is not over is refused", async () => {
  const root = await Deno.makeTempDir();
  const { config, days } = await seed(root);
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

Deno.test("in a bucket a day is whole once its mark is there, and what failed is written by the next run", async () => {
  const root = await Deno.makeTempDir();
  await using server = startBucketServer();
  const { config, days } = await seed(root, { ...bucketKeys, AWS_ENDPOINT_URL_S3: server.url });
  const [first = "", second = "", third = ""] = days;
  const run = async () => {
    const ran = await runCommand(config, ["tables", "s3://tables/gateway", "--from", first]);
    return { ...ran, ...JSON.parse(ran.written) as { written: string[]; present: number } };
  };
  const namesOf = (day: string) =>
    Object.keys(dayTables).map((table) => `gateway/${table}/day=${day}/${table}.parquet`);
  const markOf = (day: string) => `gateway/days/day=${day}/_SUCCESS.json`;

  // The second day fails with its second table, for good; a server that is busy once does not count.
  const [, lost = ""] = namesOf(second);
  const busy = failOnce(`PUT ${namesOf(first)[0]}`, { status: 503, code: "SlowDown" });
  server.fail = (asked) =>
    asked === `PUT ${lost}` ? { status: 403, code: "AccessDenied" } : busy(asked);
  const failed = await run();
  assertEquals(failed.code, 1);
  assertStringIncludes(failed.errors, `403 AccessDenied`);
  assertEquals(failed.written, [...namesOf(first), ...namesOf(second).slice(0, 1)]);
  const marks = () => [...server.objects.keys()].filter((name) => name.endsWith(".json")).sort();
  assertEquals(marks(), [markOf(first)]);

  server.fail = () => undefined;
  const resumed = await run();
  assertEquals([resumed.code, resumed.errors, resumed.present], [0, "", 2]);
  assertEquals(resumed.written, [...namesOf(second), ...namesOf(third)]);
  assertEquals(marks(), [first, second, third].map(markOf));
  const { written, present } = await run();
  assertEquals([written, present], [[], 6]);

  // The mark is the last of its day, and says what the day has.
  const puts = server.asked.filter((line) => line.startsWith("PUT") && line.includes(third));
  assertEquals(puts, [...namesOf(third), markOf(third)].map((name) => `PUT ${name}`));
  const mark = JSON.parse(new TextDecoder().decode(server.objects.get(markOf(third))));
  const files = namesOf(third).map((name) => ({ name, bytes: server.objects.get(name)?.length }));
  assertEquals(mark, { day: third, files });
  for (const name of namesOf(third)) {
    assertEquals(new TextDecoder().decode(server.objects.get(name)?.subarray(-4)), "PAR1", name);
  }
  await Deno.remove(root, { recursive: true });
});

Deno.test("a bucket without keys is refused before anything is asked of a server", async () => {
  const root = await Deno.makeTempDir();
  const { config, days } = await seed(root);
  const ran = await runCommand(config, ["tables", "s3://tables", "--from", days[0] ?? ""]);
  assertEquals(ran.code, 1);
  assertStringIncludes(ran.errors, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set");
  await Deno.remove(root, { recursive: true });
});
