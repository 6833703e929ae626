/** Retention over KV Connect, whose commits have the tightest bounds and whose answers may be lost. */
import { assertEquals } from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { bury } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import { KvConnectStore } from "../../../../kv/engine/kv_connect/kv_connect_store.ts";
import { addAuditLine, commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { applyRetention } from "../../../../kv/services/retention/retention.ts";
import { listDropped } from "../../../../kv/services/verify/days/dropped_rows.ts";
import { testConfig } from "../../../support/gateways/gateway_in_process.ts";
import { startFaultyStore } from "../../../support/servers/kv_connect/server.ts";

const rows = 600;
const atMs = Date.UTC(2026, 0, 1);

Deno.test("over KV Connect a row whose commit got no answer is counted once", async () => {
  await using server = startFaultyStore();
  const { GATEWAY_KV: url, DENO_KV_ACCESS_TOKEN: accessToken = "" } = server.env;
  using kv = await KvConnectStore.open({ url, accessToken, clock: systemClock });
  for (let row = 0; row < rows; row++) {
    const op = kv.atomic();
    const letter = { payload: {}, createdAtMs: atMs, attempts: 8 };
    if (row < 30) bury(op, mailQueue, { id: String(row), row: letter, reason: "x", nowMs: atMs });
    addAuditLine(op, commandLine, { act: "route_changed", subject: "s", detail: "d", atMs });
    await op.commit();
  }
  const masterKeys = await readMasterKeys(newMasterKey());
  let writes = 0;
  server.fateOf = (call) => call === "atomic_write" && writes++ % 2 === 0 ? "lost" : "answered";
  const kinds = await applyRetention({
    kv,
    parts: undefined,
    masterKeys,
    settings: { ...testConfig().retention, audit_log: 12 },
    nowMs: atMs + 500 * dayMs,
  });
  const found = kinds.filter((kind) => kind.rows > 0).map((kind) => [kind.kind, kind.rows]);
  assertEquals(found, [["audit_log", rows], ["unsent_mails", 30]]);
  const { sums, problems } = await listDropped(kv, masterKeys);
  assertEquals(sums.map((sum) => [sum.kind, sum.rows]), found);
  assertEquals(problems, []);
});
