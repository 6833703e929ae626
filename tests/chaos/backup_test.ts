/** A backup of a gateway that serves: the books of the restored store are exact. */
import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { verifyStore } from "../../kv/services/verify/verify_books.ts";
import { until } from "../support/until.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { bearerPost } from "../support/api_post.ts";

Deno.test({
  name: "a backup beside traffic restores to a store with exact books",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const folder = await Deno.makeTempDir();
    const env = { GATEWAY_BACKUP_KEY: newMasterKey() };
    try {
      await using gateway = await startGateway({ env });
      const { data: [account] } = JSON.parse((await gateway.admin("account", "list")).output);
      await gateway.admin("credit", account.id, "10000000", "--reason", "money to spend");
      let isOver = false;
      let calls = 0;
      const callers = Array.from({ length: 8 }, async () => {
        while (!isOver) {
          const response = await fetch(
            bearerPost(`${gateway.address}/v1/chat/completions`, gateway.key, {
              model: "low-cost-01",
              max_tokens: 1,
              messages: [{ role: "user", content: "Hello" }],
            }),
          );
          await response.text();
          assertEquals(response.status, 200);
          calls++;
        }
      });
      const files = [1, 2, 3].map((number) => `${folder}/backup-${number}`);
      for (const file of files) {
        const callsBefore = calls;
        await until(() => calls > callsBefore + callers.length, "calls are answered meanwhile");
        const { code, output } = await gateway.admin("backup", file);
        assertEquals(code, 0, output);
      }
      const refused = await gateway.admin("restore", files[0]!);
      assert(refused.code !== 0 && refused.output.includes("before the first start"));
      isOver = true;
      await Promise.all(callers);

      let receipts = 0;
      for (const file of files) {
        const restoredFolder = `${file}-restored`;
        await Deno.mkdir(restoredFolder);
        const path = `${restoredFolder}/gateway.sqlite3`;
        const { code, output } = await gateway.adminOn(path, "restore", file);
        assertEquals(code, 0, output);
        using kv = await Deno.openKv(path);
        const report = await verifyStore(kv);
        assert(report.ok, JSON.stringify(report.problems));
        assert(report.receipts > receipts, "each backup has more receipts than the one before");
        receipts = report.receipts;
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
