import * as fc from "../../support/property.ts";
import { assertEquals } from "../../support/assert.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { createCallLog } from "../../../routes/telemetry/call_log.ts";
import { anyReceipt } from "../../support/receipt_arbitrary.ts";

function lineOf(receipt: Receipt): string {
  const lines: string[] = [];
  createCallLog((line) => lines.push(line), () => 0, () => {}).call(receipt);
  assertEquals(lines.length, 1);
  return lines[0] ?? "";
}

Deno.test("the line of a call is JSON with every field in its place, whatever names contain", () => {
  fc.assert(fc.property(
    anyReceipt,
    (receipt) => {
      const { usage } = receipt;
      assertEquals(
        lineOf(receipt),
        JSON.stringify({
          time: new Date(receipt.startedAtMs).toISOString(),
          level: receipt.outcome === "failed" ? "warn" : "info",
          message: "call",
          request_id: receipt.requestId,
          account_id: receipt.accountId,
          key_id: receipt.keyId,
          model: receipt.model,
          style: receipt.style,
          route: receipt.route,
          region: receipt.region,
          status: receipt.status,
          outcome: receipt.outcome,
          stream: receipt.stream,
          ended_by: receipt.endCode,
          latency_ms: receipt.latencyMs,
          first_output_ms: receipt.firstOutputMs,
          input_tokens: usage?.input,
          cache_read_tokens: usage?.cacheRead,
          cache_write_tokens: usage?.cacheWrite,
          output_tokens: usage?.output,
          estimated: receipt.estimated || undefined,
          cost_vnd: formatVnd(receipt.costMicroVnd),
          attempts: receipt.attempts.map(({ route, outcome, ms, region }) => ({
            route,
            outcome,
            ms,
            region,
          })),
        }),
      );
    },
  ));
});

Deno.test("a message that callers provoke does not fill the log, and omitted lines are counted", () => {
  const lines: string[] = [];
  let nowMs = 0;
  const log = createCallLog((line) => lines.push(line), () => nowMs, () => {});
  for (let count = 0; count < 1_000; count++) log.event("warn", "openid failed", { count });
  assertEquals(lines.length, 60);
  assertEquals(JSON.parse(lines.at(-1)!).more_this_minute, "left out");
  log.event("error", "another message");
  assertEquals(lines.length, 61, "each message has its own budget");
  nowMs = 60_000;
  log.event("warn", "openid failed");
  assertEquals(JSON.parse(lines.at(-1)!).left_out, 940);
});
