/** `admin backup --since`: sealed days in files that are written once, and restored together with the rest. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import type { Config } from "../../../../../core/config/config.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import {
  type AccountId,
  idTimeMs,
  newId,
  type RequestId,
} from "../../../../../core/lib/ids/ids.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { draftOf, mustReserve } from "../../../../support/worlds/money_world.ts";
import { vietnamDay } from "../../../../../core/lib/time/vietnam_time.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";
import { newestOnReceiptPage, receiptsPrefix } from "../../../../../kv/engine/schema/keys.ts";
import { verifyBooks } from "../../../../../kv/services/verify/verify_books.ts";
import { type RanCommand, runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { postgresPrograms, startPostgres } from "../../../../support/servers/postgres_server.ts";
import { openedStore, rowsOf } from "../../../../support/stores/backup_stores.ts";
import { BooksWorld } from "../../../../support/worlds/books_world.ts";

const masterKeys = newMasterKey();
const backupKey = newMasterKey();

/** Kinds of rows that differ: the version of the schema, and rows that expire by the machine's clock, on PostgreSQL. */
const unlike = ["store", "usage_hours"];

function configOf(kv: string): Config {
  return testConfig({
    env: { GATEWAY_KV: kv, GATEWAY_MASTER_KEYS: masterKeys, GATEWAY_BACKUP_KEY: backupKey },
  });
}

/** A store whose days a test fills and seals, and a folder for its backups. */
class SealedStore implements AsyncDisposable {
  readonly config: Config;
  readonly root: string;
  readonly backups: string;
  nowMs = 0;
  /** A call of the first day that has not been settled. */
  #late: { readonly accountId: AccountId; readonly requestId: RequestId } | undefined;

  private constructor(root: string, kv: string) {
    this.root = root;
    this.backups = `${root}/backups`;
    this.config = configOf(kv);
  }

  static async open(kv?: string): Promise<SealedStore> {
    const root = await Deno.makeTempDir();
    const store = new SealedStore(root, kv ?? `${root}/store.sqlite3`);
    await Deno.mkdir(store.backups);
    return store;
  }

  /** Has calls on some days, the first of which is a day after what was before, and seals them. */
  async liveDays(count: number): Promise<string[]> {
    using store = await openedStore(this.config);
    const world = await BooksWorld.open(store.kv);
    await world.topUp(world.ann, 10_000n);
    this.#late = { accountId: world.ann, requestId: newId("request", world.nowMs) };
    const days: string[] = [];
    for (let day = 0; day < count; day++) {
      days.push(vietnamDay(world.nowMs));
      for (let call = 0; call < 20; call++) await world.call(world.ann, 7n);
      await world.topUp(world.bob, 10n);
      world.nextDay();
    }
    await world.call(world.bob, 1n);
    await world.wallet.close();
    this.nowMs = world.nowMs + dayMs / 2;
    const options = { masterKeys: await readMasterKeys(masterKeys), nowMs: this.nowMs };
    const report = await verifyBooks(store.kv, options);
    assert(report.ok, JSON.stringify(report.problems));
    return days;
  }

  /** Settles a call of the first day, which has been sealed. */
  async settleLate(): Promise<void> {
    using store = await openedStore(this.config);
    assert(this.#late);
    const { accountId, requestId } = this.#late;
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    const wallet = await openWalletEngine(store.kv, { clock });
    const reservation = await mustReserve(wallet, accountId, 5n);
    const startedAtMs = idTimeMs("request", requestId);
    await wallet.settle(reservation, draftOf(5n, { requestId, startedAtMs }));
    await wallet.close();
  }

  run(...args: string[]): Promise<RanCommand> {
    return this.runOn(this.config, ...args);
  }

  runOn(config: Config, ...args: string[]): Promise<RanCommand> {
    return runCommand(config, args, { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs });
  }

  async backUp(): Promise<
    { file: string; records: number; days: Readonly<Record<string, unknown>> }
  > {
    this.nowMs += 1_000;
    const ran = await this.run("backup", this.backups, "--since");
    assertEquals([ran.code, ran.errors], [0, ""]);
    return JSON.parse(ran.written);
  }

  async dayFiles(): Promise<string[]> {
    const names = await Array.fromAsync(Deno.readDir(`${this.backups}/days`), ({ name }) => name);
    return names.sort();
  }

  /** Restores a file into an empty store, whose rows and books are those of this one. */
  async assertRestores(file: string, fresh: Config): Promise<void> {
    const restored = await this.runOn(fresh, "restore", file);
    assertEquals([restored.code, restored.errors], [0, ""]);
    assertEquals(await rowsOf(fresh, unlike), await rowsOf(this.config, unlike));
    const verified = await this.runOn(fresh, "verify", "--full");
    assertEquals([verified.code, verified.errors], [0, ""], verified.written);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

Deno.test("sealed days are written once, and are restored with the newest rest", async () => {
  await using store = await SealedStore.open();
  const days = await store.liveDays(3);
  const first = await store.backUp();
  // The last of them is over since a day and a half: it is in a file, too.
  assertEquals(first.days, { written: days, present: 0, through: days.at(-1) });
  const again = await store.backUp();
  assertEquals(again.days, { written: [], present: 3, through: days.at(-1) });
  assertEquals(again.records, first.records);
  const files = await store.dayFiles();
  assertEquals(files.map((name) => name.slice(0, 10)), days);
  await store.assertRestores(again.file, configOf(`${store.root}/fresh.sqlite3`));

  // 20 receipts and a line a day, none of which is in the rest.
  const whole = JSON.parse((await store.run("backup", `${store.root}/whole`)).written);
  assert(whole.records - again.records >= 3 * 21, `${whole.records} of all, ${again.records}`);
});

const programs = await postgresPrograms();

Deno.test({
  name: "on PostgreSQL the same files are written, and restored into PostgreSQL",
  ignore: programs === undefined,
  // The driver's timers outlive a connection by some milliseconds.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using server = await startPostgres(programs ?? "");
    await using store = await SealedStore.open(await server.makeDatabase());
    const days = await store.liveDays(2);
    assertEquals((await store.backUp()).days["written"], days);
    const { file } = await store.backUp();
    await store.assertRestores(file, configOf(await server.makeDatabase()));
    await store.assertRestores(file, configOf(`${store.root}/fresh.sqlite3`));
  },
});

Deno.test("a day that was sealed anew gets another file, and the older rest keeps its own", async () => {
  await using store = await SealedStore.open();
  const days = await store.liveDays(2);
  const before = await store.backUp();
  const rows = await rowsOf(store.config, unlike);
  await store.settleLate();
  const resealed = await store.run("reseal", days[0] ?? "");
  assertEquals([resealed.code, resealed.errors], [0, ""], resealed.written);
  const after = await store.backUp();
  assertEquals(after.days, { written: [days[0]], present: 1, through: days[1] });
  assertEquals((await store.dayFiles()).map((name) => name.slice(0, 10)), [days[0], ...days]);
  await store.assertRestores(after.file, configOf(`${store.root}/after.sqlite3`));
  const older = configOf(`${store.root}/before.sqlite3`);
  assertEquals((await store.runOn(older, "restore", before.file)).code, 0);
  assertEquals(await rowsOf(older, unlike), rows);
});

Deno.test("a day whose rows are not those that were sealed stays in the backup itself", async () => {
  await using store = await SealedStore.open();
  const [day = "", next = ""] = await store.liveDays(2);
  const pages = await pagesOf(store.config);
  {
    using opened = await openedStore(store.config);
    await opened.kv.delete(pages.findLast(({ key }) => vietnamDay(pageMs(key)) === next)!.key);
  }
  const rows = await rowsOf(store.config, unlike);
  store.nowMs += 1_000;
  const ran = await store.run("backup", store.backups, "--since");
  assertEquals(ran.code, 1);
  assertStringIncludes(ran.errors, "The backup is whole, but it has all later days itself");
  assertStringIncludes(ran.errors, `the receipts of ${next} are not those that were sealed`);
  const { file, days } = JSON.parse(ran.written);
  assertEquals(days, { written: [day], present: 0, through: day });
  const fresh = configOf(`${store.root}/fresh.sqlite3`);
  assertEquals((await store.runOn(fresh, "restore", file)).code, 0);
  assertEquals(await rowsOf(fresh, unlike), rows);
});

function pageMs(key: Deno.KvKey): number {
  return idTimeMs("request", newestOnReceiptPage(key));
}

async function pagesOf(config: Config) {
  using store = await openedStore(config);
  return await Array.fromAsync(store.kv.list({ prefix: receiptsPrefix() }));
}

Deno.test("files of days that are missing, cut, exchanged or alone are refused before a store is made", async () => {
  await using store = await SealedStore.open();
  await store.liveDays(2);
  const { file } = await store.backUp();
  const [first = "", second = ""] = (await store.dayFiles())
    .map((name) => `${store.backups}/days/${name}`);
  const bytes = await Deno.readFile(first);
  const fresh = `${store.root}/fresh.sqlite3`;
  const refused = async (restored: string, problem: string) => {
    const ran = await store.runOn(configOf(fresh), "restore", restored);
    assertEquals([ran.code, ran.written], [1, ""]);
    assertStringIncludes(ran.errors, problem);
    assert(!await Deno.stat(fresh).then(() => true, () => false), "no store is made");
  };
  await refused(first, "restore a file of the folder above it");
  await Deno.writeFile(first, bytes.subarray(0, -20));
  await refused(file, "damaged");
  await Deno.writeFile(first, await Deno.readFile(second));
  await refused(file, "is not what its name says");
  await Deno.remove(first);
  await refused(file, "No such file");
  // The next backup makes what is missing, and older ones are whole again.
  await store.backUp();
  await store.assertRestores(file, configOf(fresh));
  const noFolder = await store.run("backup", `${store.root}/file`, "--since");
  assertEquals(noFolder.code, 1);
  assertStringIncludes(noFolder.errors, "is no folder, as --since needs");
});
