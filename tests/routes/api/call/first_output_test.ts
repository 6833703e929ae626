import { assert, assertEquals } from "../../../support/assert.ts";
import { readChatRequest } from "../../../../core/calls/request/chat_request.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { rangeOf } from "../../../../core/billing/reservation_range.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { reserveWithin } from "../../../../routes/api/call/admission.ts";
import { ChatSettlement } from "../../../../routes/api/chat/chat_settlement.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";

Deno.test("the first output of a call is that of the attempt that was first, though a hedge answered too", async () => {
  await using world = await openTestGateway();
  const { gateway } = world.assembled;
  const { key } = await world.customer(1_000);
  const principal = await gateway.directory.lookup(key);
  const model = gateway.catalog.current.models.find(({ kind }) => kind === "chat");
  const route = model?.routes[0];
  assert(principal !== undefined && model !== undefined && route !== undefined);
  const startedAtMs = gateway.clock.nowMs();
  const startedMonotonicMs = gateway.clock.monotonicMs();
  const requestId = newId("request", startedAtMs);
  const { reservation } = await reserveWithin(gateway.wallet, principal, {
    range: rangeOf(0n),
    startedAtMs,
    localError: () => Promise.resolve(undefined),
  });
  const settlement = new ChatSettlement(gateway, {
    rounds: undefined,
    requestId,
    principal,
    catalog: gateway.catalog.current,
    model,
    mappedFrom: undefined,
    request: readChatRequest("chat", {
      model: model.id,
      stream: true,
      messages: [{ role: "user", content: "hello" }],
    }),
    price: applyPrice(model.price),
    bounds: {
      estimatedInputTokens: 2,
      outputTokens: 10,
      wantedOutputTokens: 10,
      input: { tokens: 2, believableTokens: 8, isText: true, namesUnseen: false },
      hostedTools: [],
      tools: [],
      toolFeesMicroVnd: 0n,
      tier: "default",
      reservedPrice: applyPrice(model.price),
      costMicroVnd: 0n,
    },
    reservation,
    start: { startedAtMs, startedMonotonicMs, origin: undefined },
    running: { end() {} },
  });
  settlement.tried(route, { kind: "beaten", ms: 50 }, startedMonotonicMs + 50);
  settlement.tried(route, { kind: "ok", ms: 120 }, startedMonotonicMs + 120);
  settlement.tried(route, { kind: "ok", ms: 121 }, startedMonotonicMs + 400);
  await settlement.settle({
    outcome: "failed",
    status: 502,
    reading: undefined,
    route,
    attempts: [],
  });
  assertEquals((await readReceipt(world.kv, requestId))?.firstOutputMs, 120);
});
