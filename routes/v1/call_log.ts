/** One structured line per call: metadata only, never a prompt, an answer, a key or a host. */
import { formatVnd } from "../../core/money/micro_vnd.ts";
import type { Receipt } from "../../core/receipt.ts";
import type { CallTiming } from "../telemetry/telemetry.ts";

export interface CallLog {
  /** One line for an ended call. `timing` is for those who trace. */
  call(receipt: Receipt, timing?: CallTiming): void;
  /** Something the operator should see. `fields` are metadata. */
  event(level: "info" | "warn" | "error", message: string, fields?: Record<string, unknown>): void;
}

/**
 * Writes JSON lines. `write` gets whole lines; `nowMs` stamps events; `onCall` hears of each call beside its line.
 */
export function createCallLog(
  write: (line: string) => void,
  nowMs: () => number,
  onCall: (receipt: Receipt, timing?: CallTiming) => void,
): CallLog {
  return {
    call(receipt, timing) {
      onCall(receipt, timing);
      const { usage } = receipt;
      write(JSON.stringify({
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
        attempts: receipt.attempts,
      }));
    },
    event(level, message, fields = {}) {
      write(JSON.stringify({ time: new Date(nowMs()).toISOString(), level, message, ...fields }));
    },
  };
}
