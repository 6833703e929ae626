/** Messages to chats, received by real servers that answer as the services do. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import {
  type ChatAddress,
  type ChatKind,
  destinationKinds,
} from "../../../core/people/webhooks/destinations.ts";
import { exampleEvent, webhookKinds } from "../../../core/people/webhooks/events.ts";
import { accountKey, everyRow } from "../../../kv/engine/schema/keys.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { sendTest } from "../../../kv/people/webhooks/deliveries.ts";
import { getEndpoint } from "../../../kv/people/webhooks/endpoints.ts";
import { addWebhookEvent } from "../../../kv/people/webhooks/events.ts";
import { resealSecrets } from "../../../kv/services/vault/reseal_secrets.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import {
  openReceiver,
  openWebhookWorld,
  type Receiver,
} from "../../support/worlds/webhook_world.ts";

const chatKinds = destinationKinds.filter((kind) => kind !== "webhook");
const secret = "AAbbCCddEEffGGhhIIjj";
const bot = { token: `123456:${secret}`, chatId: "-100123" };

/** The address of a chat whose service is the receiver. */
function addressOf(kind: ChatKind, { url }: Receiver): ChatAddress {
  const { origin } = new URL(url);
  return kind === "slack" ? { url: `${origin}/services/${secret}` } : { url: origin, bot };
}

const paths: Readonly<Record<ChatKind, string>> = {
  slack: `/services/${secret}`,
  telegram: `/bot${bot.token}/sendMessage`,
  zalo: `/bot${bot.token}/sendMessage`,
};

const took: Readonly<Record<ChatKind, string>> = {
  slack: "ok",
  telegram: JSON.stringify({ ok: true, result: { message_id: 7, text: "…" } }),
  zalo: JSON.stringify({ ok: true, result: { message_id: "7", date: 1 } }),
};

for (const kind of chatKinds) {
  Deno.test(`${kind} gets a message for each event, once, and its secret is nowhere in the store`, async () => {
    using world = await openWebhookWorld();
    await using receiver = openReceiver(() => new Response(took[kind]));
    const endpoint = await world.chat({ kind, address: addressOf(kind, receiver) });
    for (const type of webhookKinds) {
      const operation = world.kv.atomic();
      addWebhookEvent(operation, world.account.id, exampleEvent(type), world.time.nowMs());
      await operation.commit();
    }
    await world.run();
    assertEquals(receiver.received.length, webhookKinds.length);
    for (const { path, headers, body } of receiver.received) {
      assertEquals([path, headers["content-type"]], [paths[kind], "application/json"]);
      assertEquals(headers["webhook-signature"], undefined);
      assert(!body.includes(secret));
    }
    const tries = await world.tries(endpoint.id);
    assertEquals(tries.length, webhookKinds.length);
    for (const { outcome } of tries) {
      assertEquals(outcome, { kind: "delivered", status: 200, answer: "ok" });
    }
    assertEquals(world.failures, []);
    for await (const { key, value } of world.kv.list(everyRow())) {
      const text = Deno.inspect([key, value], { depth: 20, strAbbreviateSize: Infinity });
      assert(!text.includes(secret), String(key));
    }
  });

  Deno.test(`what ${kind} answers other than ok is a failure, kept without the secret, and tried again`, async () => {
    using world = await openWebhookWorld();
    await using receiver = openReceiver();
    const address = addressOf(kind, receiver);
    const status = fc.constantFrom(200, 201, 400, 403, 404, 429, 500);
    const body = fc.oneof(
      fc.constantFrom("", "invalid_payload", `no bot${bot.token} at ${address.url}`, "<html>"),
      fc.record({ ok: fc.constant(false), description: fc.string() }).map((one) =>
        JSON.stringify(one)
      ),
      fc.json(),
    );
    await fc.assert(
      fc.asyncProperty(status, body, async (status, body) => {
        const endpoint = await world.chat({ kind, address });
        receiver.answer = () => new Response(body, { status });
        await sendTest(world.kv, world.account.id, endpoint.id, "key.created", world.time.nowMs());
        await world.run();
        const [one] = await world.tries(endpoint.id);
        assert(one?.outcome.kind === "failed");
        assertEquals(one.outcome.reason, status < 300 ? "refused" : "status");
        assertEquals(one.outcome.status, status);
        assert(!JSON.stringify(one).includes(secret));
        await world.kv.delete(["webhook_endpoints", world.account.id]);
      }),
      { numRuns: 25 },
    );
  });
}

Deno.test("a message is in the language of the organisation, and names it", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(() => new Response("ok"));
  const { kv, account, time } = world;
  const organisation = { name: "Công ty Ánh Dương", ownerId: account.id, memberCount: 2 };
  await kv.set(
    accountKey(account.id),
    { ...account, locale: "vi", organisation } satisfies Account,
  );
  const { id } = await world.chat({ kind: "slack", address: addressOf("slack", receiver) });
  await sendTest(kv, account.id, id, "balance.low", time.nowMs());
  await world.run();
  const { text } = JSON.parse(receiver.received[0]!.body);
  assertEquals(text, "Gửi thử: Công ty Ánh Dương: Ví sắp hết tiền");
  assert(
    receiver.received[0]!.body.includes(
      `https://gateway.example/wallet?organisation=${account.id}`,
    ),
  );
});

Deno.test("a service that asks for a pause in its answer gets it", async () => {
  using world = await openWebhookWorld();
  const answer = {
    ok: false,
    error_code: 429,
    description: "Too Many",
    parameters: { retry_after: 3_600 },
  };
  await using receiver = openReceiver(() => new Response(JSON.stringify(answer), { status: 429 }));
  const { id } = await world.chat({ kind: "telegram", address: addressOf("telegram", receiver) });
  const operation = world.kv.atomic();
  addWebhookEvent(operation, world.account.id, exampleEvent("balance.low"), world.time.nowMs());
  await operation.commit();
  await world.run();
  const [one] = await world.tries(id);
  assertEquals(one?.nextAtMs, world.time.nowMs() + hourMs);
});

Deno.test("a chat that is gone is switched off, and the other endpoints hear of it without its address", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(({ path }) =>
    path === "/hook"
      ? new Response(null, { status: 204 })
      : new Response("channel_is_archived", { status: 410 })
  );
  const chat = await world.chat({ kind: "slack", address: addressOf("slack", receiver) });
  const { endpoint } = await world.endpoint(receiver.url, { kinds: ["webhook.switched_off"] });
  const operation = world.kv.atomic();
  addWebhookEvent(operation, world.account.id, exampleEvent("balance.low"), world.time.nowMs());
  await operation.commit();
  await world.run();
  assertEquals((await getEndpoint(world.kv, world.account.id, chat.id))?.isOn, false);
  await world.run();
  const heard = receiver.received.filter(({ path }) => path === "/hook");
  assertEquals(heard.map(({ body }) => JSON.parse(body).data), [{
    webhook_id: chat.id,
    name: "",
    host: new URL(receiver.url).host,
    reason: "gone",
  }]);
  assertEquals((await world.tries(endpoint.id)).length, 1);
  const { lines } = await findActivity(world.kv, world.account.id, { count: 20 });
  assert(!JSON.stringify(lines).includes(secret));
});

Deno.test("the address of a chat opens with a newer master key once it was sealed anew", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(() => new Response(took.zalo));
  const { id } = await world.chat({ kind: "zalo", address: addressOf("zalo", receiver) });
  const newest = newMasterKey();
  const former = world.masterKeys;
  const only = await readMasterKeys(newest);
  const both = { ...only, byId: new Map([...former.byId, ...only.byId]) };
  let after: string | undefined;
  do after = (await resealSecrets(world.kv, both, after)).next; while (after !== undefined);
  await sendTest(world.kv, world.account.id, id, "key.created", world.time.nowMs());
  await world.deliver({ ...world.world, masterKeys: only });
  assertEquals((await world.tries(id))[0]?.outcome.kind, "delivered");
});
