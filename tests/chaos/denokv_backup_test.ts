/** A backup of a store on denokv while gateways serve: a copy of the server's file, as docs/operations/backup.md says. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { denokvProgram, startDenokv } from "../support/servers/denokv_server.ts";
import { until } from "../support/until.ts";
import { callers, payDemo, startCalls } from "../support/worlds/running_calls.ts";

const denokv = await denokvProgram();

Deno.test({
  name: "beside calls, a backup over KV Connect is refused, and a copy of denokv's file is exact" +
    (denokv === undefined ? " (needs: cargo install denokv)" : ""),
  ignore: denokv === undefined,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using server = await startDenokv(denokv ?? "");
    const folder = await Deno.makeTempDir({ prefix: "gateway-backup-" });
    const env = {
      GATEWAY_KV: server.url,
      DENO_KV_ACCESS_TOKEN: server.accessToken,
      GATEWAY_BACKUP_KEY: newMasterKey(),
      GATEWAY_MASTER_KEYS: newMasterKey(),
    };
    try {
      await using gateway = await startGateway({ folder, env });
      await payDemo(gateway);
      await using calls = startCalls(gateway);
      await until(() => calls.answered > 5 * callers, "calls are answered");
      // One that finds a moment between two writes of these few calls is right, and refused at the next try.
      const refused = await until(async () => {
        const made = await gateway.admin("backup", `${folder}/beside`);
        if (made.code !== 0) return made;
        await Deno.remove(`${folder}/beside`);
        return undefined;
      }, "a backup meets a write");
      assertStringIncludes(refused.output, "stop every gateway that uses it");
      assert(!await Deno.stat(`${folder}/beside`).then(() => true, () => false));

      const before = calls.answered;
      const copy = `${folder}/copy.sqlite3`;
      {
        // What `sqlite3 FILE "VACUUM INTO 'COPY'"` does, in another process than the server.
        using file = new DatabaseSync(server.path, { readOnly: true });
        file.exec(`VACUUM INTO '${copy}'`);
      }
      await until(() => calls.answered > before + callers, "calls go on");
      assertEquals(calls.failed, []);

      const verified = await gateway.adminOn(copy, "verify", "--full");
      assertEquals(verified.code, 0, verified.output);
      assert(JSON.parse(verified.output).receipts >= before, verified.output);
      const made = await gateway.adminOn(copy, "backup", `${folder}/backup`);
      assertEquals(made.code, 0, made.output);
      const restored = await gateway.adminOn(
        `${folder}/fresh.sqlite3`,
        "restore",
        `${folder}/backup`,
      );
      assertEquals(restored.code, 0, restored.output);
      const again = await gateway.adminOn(`${folder}/fresh.sqlite3`, "verify", "--full");
      assertEquals(again.code, 0, again.output);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
