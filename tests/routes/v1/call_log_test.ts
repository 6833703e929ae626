import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { formatVnd } from "../../../core/money/micro_vnd.ts";
import type { Receipt } from "../../../core/receipt.ts";
import { createCallLog } from "../../../routes/v1/call_log.ts";
import { newAccount, receiptOf } from "../../support/money_world.ts";

function lineOf(receipt: Receipt): string {
  const lines: string[] = [];
  createCallLog((line) => lines.push(line), () => 0, () => {}).call(receipt);
  assertEquals(lines.length, 1);
  return lines[0] ?? "";
}

const accountId = newAccount();

Deno.test("the line of a call is JSON with every member in its place, whatever names hold", () => {
  const text = fc.string({ unit: "binary" });
  const count = fc.nat();
  fc.assert(fc.property(
    fc.record({
      model: text,
      style: text,
      route: text,
      startedAtMs: fc.nat({ max: 4_000_000_000_000 }),
      latencyMs: count,
      firstOutputMs: count,
      outcome: fc.constantFrom("completed", "empty", "failed", "broken", "client_gone"),
      usage: fc.record({
        input: count,
        cacheRead: count,
        cacheWrite: count,
        output: count,
        reasoning: count,
      }),
      estimated: fc.boolean(),
      stream: fc.boolean(),
      costMicroVnd: fc.bigInt({ min: 0n, max: 10n ** 15n }),
      attempts: fc.array(fc.record({ route: text, outcome: text, ms: count })),
    }, { requiredKeys: [] }),
    (some) => {
      const receipt = receiptOf(accountId, some);
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
          status: receipt.status,
          outcome: receipt.outcome,
          stream: receipt.stream,
          latency_ms: receipt.latencyMs,
          first_output_ms: receipt.firstOutputMs,
          input_tokens: usage?.input,
          cache_read_tokens: usage?.cacheRead,
          cache_write_tokens: usage?.cacheWrite,
          output_tokens: usage?.output,
          estimated: receipt.estimated || undefined,
          cost_vnd: formatVnd(receipt.costMicroVnd),
          attempts: receipt.attempts.map(({ route, outcome, ms }) => ({ route, outcome, ms })),
        }),
      );
    },
  ));
});
