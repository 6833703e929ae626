/** A store on PostgreSQL goes back to a moment before a mistake, as docs/operations/backup.md says. */
import { assert, assertEquals } from "../support/assert.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { openWalletEngine } from "../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../kv/services/verify/verify_books.ts";
import { runCommand } from "../support/gateways/admin_command.ts";
import { testConfig } from "../support/gateways/gateway_in_process.ts";
import {
  postgresPrograms,
  type PostgresServer,
  startPostgres,
} from "../support/servers/postgres_server.ts";
import { openedStore } from "../support/stores/backup_stores.ts";
import { until } from "../support/until.ts";
import { draftOf, mustReserve, topUp } from "../support/worlds/money_world.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";

const programs = await postgresPrograms();
const masterKeys = newMasterKey();

/** The last file of the log that is whole in the archive. */
async function archived(server: PostgresServer): Promise<string> {
  return (await server.query("select last_archived_wal from pg_stat_archiver")).trim();
}

/** Calls before the moment, and after it. */
const calls = 40;

Deno.test({
  name: "a store on PostgreSQL is restored to a moment: all money until then, and nothing after it",
  ignore: programs === undefined,
  // The driver's timers outlive a connection by some milliseconds.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const archive = await Deno.makeTempDir();
    await Deno.chmod(archive, 0o777);
    await using primary = await startPostgres(programs ?? "", {
      archive_mode: "on",
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
    });
    const configOf = (url: string) =>
      testConfig({ env: { GATEWAY_KV: url, GATEWAY_MASTER_KEYS: masterKeys } });
    const config = configOf(primary.url);
    const made = await runCommand(config, ["account", "create", "--email", "ann@example.com"]);
    const { id } = JSON.parse(made.written) as { readonly id: AccountId };
    const base = await primary.copyBase();

    const settleCalls = async () => {
      using store = await openedStore(config);
      await topUp(store.kv, id, 1_000_000n);
      const engine = await openWalletEngine(store.kv, { clock: systemClock });
      for (let call = 0; call < calls; call++) {
        await engine.settle(await mustReserve(engine, id, 1_000n), draftOf(700n));
      }
      await engine.close();
    };
    await settleCalls();
    const moment = (await primary.query("select clock_timestamp()")).trim();
    await settleCalls();
    await primary.query("delete from gateway_kv where true");
    const lastFile = (await primary.query("select pg_walfile_name(pg_switch_wal())")).trim();
    await until(
      async () => await archived(primary) >= lastFile,
      "the log with the mistake is archived",
    );
    await primary.kill();

    await using recovered = await base.recover(archive, moment);
    await until(
      async () => (await recovered.query("select pg_is_in_recovery()")).trim() === "f",
      "the recovered server takes writes",
    );
    const after = configOf(recovered.url);
    const ran = await runCommand(after, ["verify", "--full"]);
    assertEquals([ran.code, ran.errors], [0, ""], ran.written);
    {
      using store = await openedStore(after);
      const report = await verifyStore(store.kv);
      assertEquals(
        [report.ok, report.receipts, report.chargedMicroVnd, report.ledgerMicroVnd],
        [true, calls, 700n * BigInt(calls), 1_000_000n],
      );
    }
    // It takes calls as before.
    const shown = await runCommand(after, ["credit", id, "5", "--reason", "after the restore"]);
    assert(shown.code === 0, shown.errors);
    await Deno.remove(archive, { recursive: true });
  },
});
