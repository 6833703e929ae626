/** Each fact that has a webhook writes it in its own commit: with the fact, and never without it. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";
import type { WebhookEvent, WebhookKind } from "../../../../core/people/webhooks/events.ts";
import { runDue } from "../../../../kv/engine/outbox/outbox_worker.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { claimDue } from "../../../../kv/engine/outbox/outbox_claims.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { createAccount, updateAccount } from "../../../../kv/people/accounts/accounts.ts";
import { createApiKey, revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { acceptInvitation, invite } from "../../../../kv/people/organisations/invitations.ts";
import { changeRole, removeMember } from "../../../../kv/people/organisations/members.ts";
import { handOver } from "../../../../kv/people/organisations/organisations.ts";
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
import { joinAs } from "../../../support/worlds/company_world.ts";
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

/** Takes all mails that wait, as kind, receiver and member. */
async function mailed(kv: KeyValueStore): Promise<readonly string[]> {
  const claims = await claimDue(kv, mailQueue, { nowMs: lateMs, count: 32 });
  return claims.map(({ payload }) =>
    `${payload.kind} ${payload.to} ${"member" in payload ? payload.member : ""}`.trim()
  ).sort();
}

Deno.test("mails about roles that change in a loop are bounded, by organisation and in all; events are not", async () => {
  using kv = await Deno.openKv(":memory:");
  const nowMs = 2;
  const isBounded = async (email: string, count: number) => {
    const owner = await createAccount(kv, { nowMs, email, locale: "en" });
    const bob = await createAccount(kv, { nowMs, email: `bob-${email}`, locale: "en" });
    await joinAs(kv, owner.id, bob, { role: "viewer", nowMs });
    await taken(kv);
    await mailed(kv);
    let mails = 0;
    for (let i = 0; i < 40; i++) {
      const role = i % 2 === 0 ? "admin" : "viewer";
      assert(await changeRole(kv, owner.id, bob.id, role, { nowMs }));
      assertEquals((await taken(kv)).length, 1, "the event stays");
      mails += (await mailed(kv)).length;
    }
    assertEquals(mails, count, email);
    assert(await removeMember(kv, owner.id, bob.id, { nowMs }));
    assertEquals([(await taken(kv)).length, await mailed(kv)], [1, []]);
  };
  await isBounded("ann@example.com", 30);
  // Others have mails of their own, until those of all are used up.
  await isBounded("dan@example.com", 30);
  for (let i = 60; i < 1_995; i++) {
    await countTry(kv, { name: "member_mails_all", count: 2_000, windowMs: hourMs }, "all", nowMs);
  }
  await isBounded("fay@example.com", 5);
});

Deno.test("another role and a removal are events and mails of the organisation, once each, in their commit", async () => {
  for (
    const [fault, isThere] of [["before", false], ["after", true], ["repeated", true]] as const
  ) {
    using store = await Deno.openKv(":memory:");
    const make = (email: string) => createAccount(store, { nowMs: 0, email, locale: "en" });
    const [owner, bob, eve] = [
      await make("owner@example.com"),
      await make("bob@example.com"),
      await make("eve@example.com"),
    ];
    for (const { email = "" } of [bob, eve]) {
      await invite(store, owner.id, {
        email,
        role: "viewer",
        inviter: "owner@example.com",
        restsOn: { personId: owner.id },
        locale: "en",
        nowMs: 1,
      });
    }
    for (const one of [bob, eve]) await acceptInvitation(store, owner.id, one, { nowMs: 2 });
    await taken(store);
    await mailed(store);
    let hasFailed = false;
    const kv = faultyKv(store, (call) => {
      if (call !== "commit" || hasFailed) return "none";
      hasFailed = true;
      return fault;
    });
    const told = async (act: () => Promise<unknown>) => {
      hasFailed = false;
      await act().catch(() => {});
      return [await taken(store), await mailed(store)];
    };
    const role = { former_role: "viewer", role: "admin" } as const;
    const changed = { member_id: bob.id, email: "bob@example.com", ...role };
    assertEquals(
      await told(() => changeRole(kv, owner.id, bob.id, "admin", { nowMs: 3 })),
      isThere
        ? [
          [[owner.id, { type: "member.role_changed", data: changed }]],
          ["member_role_changed owner@example.com bob@example.com"],
        ]
        : [[], []],
      fault,
    );
    const now = isThere ? "admin" : "viewer";
    await told(() => changeRole(kv, owner.id, bob.id, now, { nowMs: 4 })).then((again) =>
      assertEquals(again, [[], []], "the same role is no news")
    );
    for (const [who, role, has_left] of [[bob, now, false], [eve, "viewer", true]] as const) {
      const by = {
        kind: "person",
        accountId: eve.id,
        address: "203.0.113.5",
        browser: "",
      } as const;
      const gone = { member_id: who.id, email: who.email ?? "", role, has_left };
      const done = has_left ? { nowMs: 5, by } : { nowMs: 5 };
      assertEquals(
        await told(() => removeMember(kv, owner.id, who.id, done)),
        isThere
          ? [
            [[owner.id, { type: "member.removed", data: gone }]],
            [`member_removed owner@example.com ${who.email}`],
          ]
          : [[], []],
        fault,
      );
    }
  }
});

Deno.test("a hand-over changes two roles, and the new owner has the mail", async () => {
  using kv = await Deno.openKv(":memory:");
  const owner = await createAccount(kv, { nowMs: 0, email: "owner@example.com", locale: "en" });
  const bob = await createAccount(kv, { nowMs: 0, email: "bob@example.com", locale: "en" });
  const { email = "" } = bob;
  const restsOn = { personId: owner.id };
  const asked = { email, role: "billing", inviter: "owner@example.com", restsOn } as const;
  await invite(kv, owner.id, { ...asked, locale: "en", nowMs: 1 });
  await acceptInvitation(kv, owner.id, bob, { nowMs: 2 });
  await taken(kv);
  await mailed(kv);
  assertEquals(await handOver(kv, owner.id, { from: owner, to: bob.id, nowMs: 3 }), "done");
  const changes = (await taken(kv)).map(([account, { type, data }]) => [account, type, data]);
  const change = (member_id: string, email: string, former_role: string, role: string) => [
    owner.id,
    "member.role_changed",
    { member_id, email, former_role, role },
  ];
  assertEquals(
    new Set(changes),
    new Set([
      change(bob.id, email, "billing", "owner"),
      change(owner.id, "owner@example.com", "owner", "admin"),
    ]),
  );
  assertEquals(await mailed(kv), ["ownership_received bob@example.com"]);
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
