/** Each fact that has a webhook writes it in its own commit: with the fact, and never without it. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import type { WebhookEvent, WebhookKind } from "../../../../core/people/webhooks/events.ts";
import { runDue } from "../../../../kv/engine/outbox/outbox_worker.ts";
import { claimDue } from "../../../../kv/engine/outbox/outbox_claims.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { createAccount, updateAccount } from "../../../../kv/people/accounts/accounts.ts";
import { createApiKey, revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import {
  publishAnnouncement,
  updateAnnouncement,
} from "../../../../kv/people/operators/announcements.ts";
import { webhookEvents } from "../../../../kv/people/webhooks/events.ts";
import { followCredited } from "../../../../kv/money/credits/credited_transfers.ts";
import { moveInvoice } from "../../../../kv/money/invoices/invoices.ts";
import { reportInvoiceSent } from "../../../../kv/money/payments/topup_checks.ts";
import { warnOfLowBalances } from "../../../../kv/money/wallet/low_balance.ts";
import { pollDueTasks } from "../../../../kv/services/videos/mod.ts";
import {
  askForInvoice,
  issued,
  moved,
  paidOrder,
} from "../../../support/worlds/invoice_requests.ts";
import { notice, topupWorld } from "../../../support/worlds/topup_world.ts";
import { claimDeliveries, openWebhookWorld } from "../../../support/worlds/webhook_world.ts";
import { faultyKv } from "../../../support/stores/faulty_kv.ts";
import {
  chargedTask,
  fakeClock,
  fatefulProvider,
  fundedAccount,
  quietWalletEngine,
} from "../../services/videos/video_world.ts";

const masterKeys = await readMasterKeys(newMasterKey());
const lateMs = Date.UTC(2030, 0, 1);

/** Takes all events that wait, with their accounts. */
async function taken(kv: KeyValueStore): Promise<readonly [string | undefined, WebhookEvent][]> {
  const claims = await claimDue(kv, webhookEvents, { nowMs: lateMs, count: 32 });
  return claims.map(({ payload }) => [payload.accountId, payload.event]);
}

Deno.test("a key that is created or revoked is an event, once each, without its secret", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs: 0 });
  const made = await createApiKey(kv, masterKeys, id, { name: "prod", nowMs: 1_000 });
  assert(made.ok);
  await revokeApiKey(kv, id, made.record.id, 2_000);
  await revokeApiKey(kv, id, made.record.id, 3_000);
  const data = { key_id: made.record.id, name: "prod", masked: made.record.masked };
  const events = await taken(kv);
  assertEquals(events, [[id, { type: "key.created", data }], [id, { type: "key.revoked", data }]]);
  assert(!JSON.stringify(events).includes(made.secret));
});

Deno.test("a commit that fails leaves no event, and one that is sent twice leaves one", async () => {
  for (const [fault, count] of [["before", 0], ["after", 1], ["repeated", 1]] as const) {
    using store = await Deno.openKv(":memory:");
    const { id } = await createAccount(store, { nowMs: 0 });
    const kv = faultyKv(store, (call) => call === "commit" ? fault : "none");
    await createApiKey(kv, masterKeys, id, { name: "prod", nowMs: 1_000 }).catch(() => {});
    assertEquals((await taken(store)).length, count, fault);
  }
});

Deno.test("a low balance is an event once for each fall, also for those who want no mail", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs: 0, email: "ann@example.com", locale: "en" });
  await updateAccount(kv, id, { lowBalanceMicroVnd: 50_000_000n, mailsOff: ["low_balance"] });
  const check = (balance: bigint) =>
    warnOfLowBalances({ kv, nowMs: 5, balanceOf: () => Promise.resolve(balance) });
  await check(49_500_000n);
  await check(10n);
  await check(60_000_000n);
  await check(-1n);
  const low = (balance_vnd: string): WebhookEvent => ({
    type: "balance.low",
    data: { balance_vnd, threshold_vnd: "50" },
  });
  assertEquals((await taken(kv)).map(([, event]) => event), [low("49.5"), low("-0.000001")]);
});

Deno.test("a transfer that is credited is an event of its account, once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv, { onCredited: followCredited });
  const ann = await world.customer("ann");
  const order = await world.order(ann);
  const event = notice(order.code);
  await world.intake.take(event, "{}");
  await world.intake.take(event, "{}");
  assertEquals(await taken(kv), [
    [ann.id, {
      type: "topup.credited",
      data: { amount_vnd: "200000", order_code: order.code },
    }],
  ]);
});

Deno.test("an invoice that is sent is an event with its number and sum", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await paidOrder(world, ann);
  const asked = await askForInvoice(world, ann.id, [order.code]);
  assert(asked.ok);
  await moved(world, asked.invoice, { to: "issued", issued });
  await moveInvoice(kv, {
    id: asked.invoice.id,
    move: { to: "sent" },
    operator: commandLine,
    nowMs: world.nowMs,
    attach: (operation, invoice) => reportInvoiceSent(operation, invoice, world.nowMs),
  });
  const data = { invoice_id: asked.invoice.id, ...issued, total_vnd: "200000" };
  assertEquals(await taken(kv), [[ann.id, { type: "invoice.issued", data }]]);
});

Deno.test("a video is an event when it ends, whatever its end, and the worker is told", async () => {
  for (const [fate, status] of [["works", "completed"], ["fails", "failed"]] as const) {
    using kv = await Deno.openKv(":memory:");
    const clock = fakeClock();
    const wallet = await quietWalletEngine(kv, clock);
    const accountId = await fundedAccount(kv);
    const { task } = await chargedTask(wallet, clock, { accountId, fate });
    let told = 0;
    const world = {
      kv,
      clock,
      random: () => 0,
      ask: fatefulProvider(clock),
      onEnded: () => told++,
    };
    for (const ageMs of [1_000, 95_000, 200_000, 400_000]) {
      clock.now = task.createdAtMs + ageMs;
      await pollDueTasks(world);
    }
    const data = { video_id: task.id, request_id: task.requestId, model: "video-a", status };
    assertEquals(await taken(kv), [[accountId, { type: "video.ended", data }]]);
    assertEquals(told, 1);
    await wallet.close();
  }
});

const service: readonly WebhookKind[] = ["incident.opened", "incident.ended"];

Deno.test("begin and end of an incident reach every account that wants them, each once", async () => {
  using world = await openWebhookWorld();
  const { kv, time } = world;
  const act = () => ({ operator: commandLine, nowMs: time.nowMs() });
  const wanting: string[] = [];
  for (let i = 0; i < 20; i++) {
    const owner = await world.newAccount(`customer${i}@example.com`);
    const kinds = i % 3 === 2 ? ["topup.credited" as const] : service;
    const { endpoint } = await world.endpoint("https://example.com/hook", { owner, kinds });
    if (kinds === service) wanting.push(endpoint.id);
  }
  const about = { title: "Slow answers", text: "We look into it.", startsAtMs: time.nowMs() };
  const { id } = await publishAnnouncement(kv, { kind: "incident", ...about }, act());
  time.advance(60_000);
  await updateAnnouncement(kv, id, { text: "Nearly there.", ends: false }, act());
  await updateAnnouncement(kv, id, { text: "It is over.", ends: true }, act());
  await publishAnnouncement(kv, { kind: "maintenance", ...about }, act());
  await runDue(world.outbox, world.events);
  const sent: [string, string, string][] = [];
  for (;;) {
    const claims = await claimDeliveries(kv, { nowMs: time.nowMs(), count: 32 });
    if (claims.length === 0) break;
    for (const { payload: { endpointId, type, body } } of claims) {
      sent.push([endpointId, type, JSON.parse(body).data.text]);
    }
  }
  const expected = wanting.flatMap((endpoint) => [
    [endpoint, "incident.opened", "We look into it."],
    [endpoint, "incident.ended", "It is over."],
  ]);
  assertEquals(sent.map(String).sort(), expected.map(String).sort());
  assertEquals(world.failures, []);
});
