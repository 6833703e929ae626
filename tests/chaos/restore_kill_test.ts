/** A restore that is killed midway leaves a store that nothing serves, and goes on where it stopped. */
import { assert, assertEquals, assertRejects } from "../support/assert.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { openStore } from "../../kv/engine/opening/store.ts";
import { credit } from "../../kv/money/ledger/ledger.ts";
import { createAccount } from "../../kv/people/accounts/accounts.ts";
import { root } from "../repository/source_files.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import {
  postgresPrograms,
  type PostgresServer,
  startPostgres,
} from "../support/servers/postgres_server.ts";
import { until } from "../support/until.ts";

const programs = await postgresPrograms();
/** Enough rows that a restore takes some seconds. */
const accounts = 1_500;
/** Rows after which the restore is killed. */
const rowsAtKill = 400;

async function seed(path: string): Promise<void> {
  const opened = await openStore({ kind: "file", path }, systemClock);
  if (!opened.ok) throw new Error(opened.reason);
  using store = opened.store;
  for (let number = 0; number < accounts; number++) {
    const { id } = await createAccount(store.kv, { nowMs: Date.now() });
    await credit(store.kv, {
      accountId: id,
      amountMicroVnd: 1_000_000n,
      kind: "topup",
      operationId: `seed:${number}`,
      reason: "seed",
      atMs: Date.now(),
    });
  }
}

/** Starts the restore of a file and kills it when it has written some rows. */
async function killRestore(
  { url, query }: PostgresServer,
  file: string,
  env: Record<string, string>,
): Promise<void> {
  const restore = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "main.ts", "admin", "restore", file],
    cwd: root,
    env: { ...env, GATEWAY_KV: url },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const rows = () => query("select count(*) from gateway_kv").then(Number, () => 0);
  await until(async () => await rows() >= rowsAtKill, "the restore has begun");
  restore.kill("SIGKILL");
  assertEquals((await restore.status).signal, "SIGKILL");
}

Deno.test({
  name:
    "a restore killed midway: no gateway starts on it, another backup is not written over it, " +
    "and the same one goes on",
  ignore: programs === undefined,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "gateway-restore-" });
    await using server = await startPostgres(programs ?? "");
    const env = {
      GATEWAY_BACKUP_KEY: newMasterKey(),
      GATEWAY_MASTER_KEYS: newMasterKey(),
    };
    try {
      await seed(`${folder}/gateway.sqlite3`);
      await using gateway = await startGateway({ folder, env });
      const file = `${folder}/backup`;
      const made = await gateway.admin("backup", file);
      assertEquals(made.code, 0, made.output);
      await killRestore(server, file, env);

      const onServer = { env: { ...env, GATEWAY_KV: server.url } };
      await assertRejects(() => startGateway(onServer), Error, "ended before it listened");
      const verified = await gateway.adminOn(server.url, "verify");
      assert(verified.code !== 0 && verified.output.includes("a restore into it did not end"));
      const later = `${folder}/later`;
      assertEquals((await gateway.admin("backup", later)).code, 0);
      const other = await gateway.adminOn(server.url, "restore", later);
      assert(other.code !== 0 && other.output.includes("part of another backup"), other.output);

      const restored = await gateway.adminOn(server.url, "restore", file);
      assertEquals(restored.code, 0, restored.output);
      assert(JSON.parse(restored.output).resumedAfter > 0, restored.output);
      const books = await gateway.adminOn(server.url, "verify", "--full");
      assertEquals(books.code, 0, books.output);
      assert(JSON.parse(books.output).accounts >= accounts, books.output);
      await using _served = await startGateway(onServer);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
