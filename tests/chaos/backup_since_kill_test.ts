/** Backups with files of sealed days that are killed beside calls: whatever is in the folder can be restored. */
import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { dayMs, hourMs } from "../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import { openStore } from "../../kv/engine/opening/store.ts";
import { verifyBooks } from "../../kv/services/verify/verify_books.ts";
import { root } from "../repository/source_files.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { callers, payDemo, startCalls } from "../support/worlds/running_calls.ts";
import { until } from "../support/until.ts";
import { BooksWorld } from "../support/worlds/books_world.ts";

/** Sealed days before the calls of the test. */
const days = 6;
const callsOfDay = 60;

/** Makes a store with sealed days, the last of which ended two days ago. */
async function seed(path: string, masterKeys: string): Promise<void> {
  const opened = await openStore({ kind: "file", path }, systemClock);
  assert(opened.ok);
  using store = opened.store;
  const today = vietnamDayStartMs(vietnamDay(systemClock.nowMs()));
  const firstNoonMs = today - (days + 1) * dayMs + 12 * hourMs;
  const world = await BooksWorld.open(store.kv, { noonMs: firstNoonMs });
  await world.topUp(world.ann, 1_000_000n);
  for (let day = 0; day < days; day++) {
    for (let call = 0; call < callsOfDay; call++) await world.call(world.ann, 11n);
    world.nextDay();
  }
  await world.wallet.close();
  const report = await verifyBooks(store.kv, {
    masterKeys: await readMasterKeys(masterKeys),
    nowMs: today,
  });
  assertEquals([report.ok, report.sealedNow.length], [true, days]);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder), ({ name }) => name)).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Where a backup is killed: as soon as this many files of days are whole, or the rest has begun. */
const kills: readonly (number | "the rest")[] = [1, 3, days - 1, "the rest"];

Deno.test({
  name: "a backup of days that is killed beside calls leaves a folder that is gone on with",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "gateway-backup-" });
    const backups = `${folder}/backups`;
    await Deno.mkdir(backups);
    const env = { GATEWAY_BACKUP_KEY: newMasterKey(), GATEWAY_MASTER_KEYS: newMasterKey() };
    const path = `${folder}/gateway.sqlite3`;
    try {
      await seed(path, env.GATEWAY_MASTER_KEYS);
      await using gateway = await startGateway({ folder, env });
      await payDemo(gateway);
      await using calls = startCalls(gateway);
      const isReached = async (kill: number | "the rest") =>
        kill === "the rest"
          ? (await namesIn(backups)).some((name) => name.endsWith(".part"))
          : (await namesIn(`${backups}/days`)).filter((name) => name.endsWith(".backup")).length >=
            kill;
      for (const kill of kills) {
        const backup = new Deno.Command(Deno.execPath(), {
          args: ["run", "--allow-all", "main.ts", "admin", "backup", backups, "--since"],
          cwd: root,
          env: { ...env, GATEWAY_KV: path },
          stdout: "null",
          stderr: "null",
        }).spawn();
        await until(() => isReached(kill), `the backup has ${kill}`);
        backup.kill("SIGKILL");
        await backup.status;
      }
      assert(calls.answered > 0, "calls were answered meanwhile");
      const made = await gateway.admin("backup", backups, "--since");
      assertEquals(made.code, 0, made.output);
      const first = JSON.parse(made.output);
      assertEquals(first.days.present + first.days.written.length, days);
      assert(first.days.present >= days - 1, "what was whole is not written again");
      const before = calls.answered;
      await until(() => calls.answered > before + callers, "calls are answered between backups");
      // Names have seconds: within the first one's, the name is taken.
      const second = await until(async () => {
        const { code, output } = await gateway.admin("backup", backups, "--since");
        return code === 0 ? JSON.parse(output) : undefined;
      }, "the next second");
      assertEquals(second.days, { written: [], present: days, through: first.days.through });
      assertEquals(calls.failed, []);

      let receipts = days * callsOfDay;
      for (const [at, { file }] of [first, second].entries()) {
        await Deno.mkdir(`${folder}/restored-${at}`);
        const fresh = `${folder}/restored-${at}/gateway.sqlite3`;
        const restored = await gateway.adminOn(fresh, "restore", file);
        assertEquals(restored.code, 0, restored.output);
        const verified = await gateway.adminOn(fresh, "verify", "--full");
        assertEquals(verified.code, 0, verified.output);
        const found = JSON.parse(verified.output).receipts;
        assert(found > receipts, `${found} receipts, more than ${receipts} before`);
        receipts = found;
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
