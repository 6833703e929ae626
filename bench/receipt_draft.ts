/** The receipt of a usual call. */
import { type ApiKeyId, newId } from "../core/lib/ids/ids.ts";
import type { ReceiptDraft } from "../kv/money/wallet/mod.ts";

export function receiptDraft(keyId: ApiKeyId): ReceiptDraft {
  const nowMs = Date.now();
  const ratePerToken = 8_300n;
  const rate = ratePerToken * 1_000_000n;
  return {
    requestId: newId("request", nowMs),
    keyId,
    kind: "chat",
    model: "premium-1",
    style: "messages",
    route: "provider/premium-1/messages",
    startedAtMs: nowMs,
    latencyMs: 1_234,
    firstOutputMs: 321,
    status: 200,
    stream: true,
    outcome: "completed",
    usage: { input: 1_200, cacheRead: 0, cacheWrite: 0, output: 340, reasoning: 0 },
    estimated: false,
    units: 1,
    price: {
      unit: "token",
      inputPerMtokMicroVnd: rate,
      outputPerMtokMicroVnd: rate,
      cacheReadPerMtokMicroVnd: rate,
      cacheWritePerMtokMicroVnd: rate,
    },
    priceMicroVnd: 1_540n * ratePerToken,
    attempts: [{ route: "provider/premium-1/messages", outcome: "ok", ms: 1_230 }],
  };
}
