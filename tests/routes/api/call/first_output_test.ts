import { assert, assertEquals } from "../../../support/assert.ts";
import { readChatRequest } from "../../../../core/calls/request/chat_request.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { applyPrice, rangeOf } from "../../../../core/billing/price.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { reserveWithin, startCall, type Terms } from "../../../../routes/api/call/admission.ts";
import { CallSettlement } from "../../../../routes/api/call/call_settlement.ts";
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
  const start = startCall(gateway);
  const { startedAtMs, startedMonotonicMs } = start;
  const requestId = newId("request", startedAtMs);
  const price = applyPrice(model.price);
  const terms: Terms = {
    requestId,
    principal,
    start,
    catalog: gateway.catalog.current,
    model,
    mappedFrom: undefined,
    style: "chat",
    stream: true,
    price,
    tags: undefined,
  };
  const money = await reserveWithin(gateway, terms, {
    range: rangeOf(0n),
    localError: () => Promise.resolve(undefined),
  });
  const funds = {
    money,
    rated: undefined,
    keyedCall: undefined,
    running: gateway.calls.begin(principal),
  };
  const settlement = new ChatSettlement(gateway, new CallSettlement(gateway, terms, funds), {
    rounds: undefined,
    draft: undefined,
    request: readChatRequest("chat", {
      model: model.id,
      stream: true,
      messages: [{ role: "user", content: "hello" }],
    }),
    bounds: {
      mayMove: false,
      estimatedInputTokens: 2,
      outputTokens: 10,
      wantedOutputTokens: 10,
      input: { tokens: 2, believableTokens: 8, isText: true, namesUnseen: false },
      hostedTools: [],
      tools: [],
      toolFeesMicroVnd: 0n,
      tier: "default",
      reservedPrice: price,
      costMicroVnd: 0n,
    },
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
