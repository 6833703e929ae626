import {
  readEndpointStates,
  webhookDeliveries,
} from "../../../kv/people/webhooks/endpoint_queues.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import { dayMs, minuteMs } from "../../../core/lib/time/durations.ts";
import {
  exampleEvent,
  maxWebhookBodyBytes,
  webhookKinds,
} from "../../../core/people/webhooks/events.ts";
import {
  maxFailingMs,
  maxWebhookTries,
  webhookPausesMs,
} from "../../../core/people/webhooks/retries.ts";
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import { claimDue } from "../../../kv/engine/outbox/outbox_claims.ts";
import { runDue } from "../../../kv/engine/outbox/outbox_worker.ts";
import {
  getTry,
  maxWebhookTryRows,
  sendAgain,
  sendTest,
} from "../../../kv/people/webhooks/deliveries.ts";
import {
  editEndpoint,
  getEndpoint,
  rotateEndpointSecret,
  secretGraceMs,
} from "../../../kv/people/webhooks/endpoints.ts";
import { addWebhookEvent, webhookEvents } from "../../../kv/people/webhooks/events.ts";
import { webhookTryTotalMs } from "../../../routes/hooks/webhook_delivery.ts";
import { guardedConnect } from "../../../routes/process/deno_connect.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import {
  claimDeliveries,
  newFormId,
  openReceiver,
  openWebhookWorld,
  verified,
} from "../../support/worlds/webhook_world.ts";
import { faultyKv } from "../../support/stores/faulty_kv.ts";
import { until } from "../../support/until.ts";

type World = Awaited<ReturnType<typeof openWebhookWorld>>;

const topUp = { type: "topup.credited", data: { amount_vnd: "500000" } } as const;

/** How late a deadline may be, at most twice. */
const deadlineTickMs = 100;

/** Commits an event of the account. */
async function report(
  { kv, time, account }: World,
  event: Parameters<typeof addWebhookEvent>[2] = topUp,
  owner = account,
): Promise<void> {
  const operation = kv.atomic();
  addWebhookEvent(operation, owner.id, event, time.nowMs());
  await operation.commit();
}

for (const kind of webhookKinds) {
  Deno.test(`the reference library verifies a webhook of ${kind}`, async () => {
    using world = await openWebhookWorld();
    await using receiver = openReceiver();
    const { secret, endpoint } = await world.endpoint(receiver.url);
    const event = exampleEvent(kind);
    await report(world, event);
    assertEquals(await world.run(), 1);
    const [got] = receiver.received;
    const timestamp = new Date(world.time.nowMs()).toISOString();
    assertEquals(verified(secret, got!, world.time.nowMs()), { ...event, timestamp });
    assertEquals(got!.headers["content-type"], "application/json");
    assert(/^evt_[a-z0-9]+$/.test(got!.headers["webhook-id"]!), "an id without points");
    assert(got!.body.length < maxWebhookBodyBytes);
    const [one, ...others] = await world.tries(endpoint.id);
    assertEquals(others, []);
    assertEquals(one!.outcome, { kind: "delivered", status: 204 });
    assertEquals(one!.body, got!.body);
    assertEquals(await world.run(), 0, "delivered once");
  });
}

Deno.test("a changed body, another secret or an old time is found by the receiver", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { secret } = await world.endpoint(receiver.url);
  const other = await world.endpoint(receiver.url, { kinds: [] });
  await report(world);
  await world.run();
  const [got] = receiver.received;
  const nowMs = world.time.nowMs();
  verified(secret, got!, nowMs);
  assertThrows(() => verified(secret, { ...got!, body: got!.body.replace("5", "6") }, nowMs));
  assertThrows(() => verified(other.secret, got!, nowMs));
  assertThrows(() => verified(secret, got!, nowMs + 10 * minuteMs));
});

Deno.test("after a rotation both secrets verify for a day, then the new one alone", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { secret: former, endpoint } = await world.endpoint(receiver.url);
  const rotated = await rotateEndpointSecret(
    world.kv,
    world.masterKeys,
    world.account.id,
    endpoint.id,
    { formId: newFormId(), nowMs: world.time.nowMs() },
  );
  assert(rotated.ok);
  const { secret } = rotated.done;
  world.time.advance(secretGraceMs - 1);
  await report(world);
  await world.run();
  const during = receiver.received.at(-1)!;
  assertEquals(during.headers["webhook-signature"]!.split(" ").length, 2);
  for (const one of [former, secret]) verified(one, during, world.time.nowMs());
  world.time.advance(1);
  await report(world);
  await world.run();
  const after = receiver.received.at(-1)!;
  verified(secret, after, world.time.nowMs());
  assertThrows(() => verified(former, after, world.time.nowMs()));
});

Deno.test("a receiver that fails is tried again by the schedule, with the same id and body", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(() => new Response("no", { status: 500 }));
  const { secret, endpoint } = await world.endpoint(receiver.url);
  await report(world);
  const beganMs = world.time.nowMs();
  const pauses: number[] = [];
  await world.run();
  for (;;) {
    const nextMs = await world.nextTurnAtMs();
    if (nextMs === undefined) break;
    pauses.push(nextMs - world.time.nowMs());
    world.time.advance(nextMs - world.time.nowMs() - 1);
    assertEquals(await world.run(), 0, "not a millisecond early");
    world.time.advance(1);
    assertEquals(await world.run(), 1);
    verified(secret, receiver.received.at(-1)!, world.time.nowMs());
  }
  assertEquals(pauses, [...webhookPausesMs]);
  assertEquals(receiver.received.length, maxWebhookTries);
  const [first] = receiver.received;
  for (const { headers, body } of receiver.received) {
    assertEquals([headers["webhook-id"], body], [first!.headers["webhook-id"], first!.body]);
  }
  const tries = await world.tries(endpoint.id);
  assertEquals(tries.map(({ attempt }) => attempt), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
  assertEquals(tries.map(({ nextAtMs }) => nextAtMs === undefined).indexOf(true), 0);
  assertEquals(tries.at(-1)!.nextAtMs, beganMs + webhookPausesMs[0]);
  assert((await getEndpoint(world.kv, world.account.id, endpoint.id))!.isOn, "a day is no end");
});

Deno.test("wrong answers are failures with their names, and none is followed", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { endpoint } = await world.endpoint(receiver.url);
  const answers = [
    () => new Response(null, { status: 302, headers: { location: `${receiver.url}/elsewhere` } }),
    () => new Response("not found", { status: 404 }),
    () => new Response(null, { status: 429, headers: { "retry-after": "3600" } }),
  ];
  for (const answer of answers) {
    receiver.answer = answer;
    await report(world);
    await world.run();
  }
  assertEquals(receiver.received.length, 3, "no redirect was followed");
  const tries = (await world.tries(endpoint.id)).toReversed();
  assertEquals(tries.map(({ outcome }) => outcome), [
    { kind: "failed", reason: "status", status: 302, retryAfterSeconds: undefined },
    { kind: "failed", reason: "status", status: 404, retryAfterSeconds: undefined },
    { kind: "failed", reason: "status", status: 429, retryAfterSeconds: 3_600 },
  ]);
  assertEquals(tries[2]!.nextAtMs, world.time.nowMs() + 3_600_000);
});

Deno.test("an answer that is no HTTP, and a port where nobody listens, are failures", async () => {
  using world = await openWebhookWorld();
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  const served = (async () => {
    const connection = await listener.accept();
    await connection.read(new Uint8Array(4_096));
    await connection.write(new TextEncoder().encode("hello\r\n\r\n"));
    connection.close();
  })();
  const { endpoint } = await world.endpoint(`http://127.0.0.1:${port}/`);
  await report(world);
  await world.run();
  await served;
  listener.close();
  world.time.advance(webhookPausesMs[0]);
  await world.run();
  assertEquals(
    (await world.tries(endpoint.id)).map(({ outcome }) => outcome),
    [
      { kind: "failed", reason: "unreachable" },
      { kind: "failed", reason: "broken_answer" },
    ],
  );
});

Deno.test("of an endless answer only the beginning is read", async () => {
  using world = await openWebhookWorld();
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
    cancel: () => void (cancelled = true),
  });
  await using receiver = openReceiver(() => new Response(endless));
  const { endpoint } = await world.endpoint(receiver.url);
  await report(world);
  await world.run();
  await until(() => cancelled, "the answer to be cancelled");
  const [one] = await world.tries(endpoint.id);
  assertEquals(one!.outcome, { kind: "delivered", status: 200 });
});

Deno.test("a silent receiver costs its time-out and holds up no other account", async () => {
  using world = await openWebhookWorld();
  const silent = Promise.withResolvers<Response>();
  await using slow = openReceiver(() => silent.promise);
  await using quick = openReceiver();
  const { endpoint } = await world.endpoint(slow.url);
  slow.answer = () => new Response();
  await report(world);
  await world.run();
  slow.answer = () => silent.promise;
  for (let i = 0; i < 6; i++) await report(world);
  const other = await world.newAccount("bob@example.com");
  await world.endpoint(quick.url, { owner: other });
  await report(world, topUp, other);
  const running = world.run();
  await until(
    () => slow.received.length === 5 && quick.received.length === 1,
    "four requests of one account and one of the other",
  );
  world.time.advance(webhookTryTotalMs - 1);
  assertEquals((await world.tries(endpoint.id)).length, 1);
  world.time.advance(1 + 2 * deadlineTickMs);
  await until(async () => (await world.tries(endpoint.id)).length >= 5, "four time-outs");
  silent.resolve(new Response());
  await running;
  const tries = await world.tries(endpoint.id);
  assertEquals(
    tries.filter(({ outcome }) => outcome.kind === "failed" && outcome.reason === "timeout").length,
    4,
  );
  assert(
    tries.slice(-5, -1).every(({ durationMs }) =>
      durationMs === webhookTryTotalMs + 2 * deadlineTickMs
    ),
  );
});

Deno.test("no address inside the network is dialled, whatever its name says", async () => {
  const dialled: string[] = [];
  const names: Readonly<Record<string, readonly string[]>> = {
    "inside.example": ["10.0.0.5"],
    "mixed.example": ["93.184.215.14", "127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
    "mapped.example": ["::ffff:192.168.1.1"],
    "nowhere.example": [],
  };
  const connect = guardedConnect({
    resolve: (name) => Promise.resolve(names[name] ?? []),
    dial({ address }) {
      dialled.push(address);
      return Promise.reject(new Error("dialled"));
    },
  });
  using world = await openWebhookWorld({ connect });
  for (const name of Object.keys(names)) {
    const owner = await world.newAccount(`ann@${name}`);
    const { endpoint } = await world.endpoint(`https://${name}/hook`, { owner });
    await report(world, topUp, owner);
    await world.run();
    const tries = await world.tries(endpoint.id, owner);
    assertEquals(tries[0]!.outcome, { kind: "failed", reason: "unreachable" }, name);
  }
  assertEquals(dialled, []);
});

Deno.test("a name that turns inside after it was added, and after it was checked, is not followed", async () => {
  const answers = [["93.184.215.14"], ["127.0.0.1"]];
  const dialled: string[] = [];
  let lookUps = 0;
  const connect = guardedConnect({
    resolve: () => Promise.resolve(answers[lookUps++] ?? ["10.0.0.1"]),
    dial({ address }) {
      dialled.push(address);
      return Promise.reject(new Error("dialled"));
    },
  });
  using world = await openWebhookWorld({ connect });
  await world.endpoint("https://rebinding.example/hook");
  await report(world);
  await world.run();
  world.time.advance(webhookPausesMs[0]);
  await world.run();
  assertEquals([lookUps, dialled], [2, ["93.184.215.14"]]);
});

Deno.test("an address of this machine is refused where no sandbox allows it", async () => {
  using world = await openWebhookWorld({
    connect: guardedConnect({ resolve: () => Promise.resolve(["127.0.0.1"]) }),
  });
  await using receiver = openReceiver();
  const { endpoint } = await world.endpoint(receiver.url);
  await report(world);
  await runDue(world.outbox, world.events);
  const { localTransport: _, ...production } = world.world;
  await world.deliver(production);
  assertEquals(receiver.received, []);
  const [one] = await world.tries(endpoint.id);
  assertEquals(one!.outcome, { kind: "failed", reason: "unreachable" });
});

Deno.test("a process that dies after the commit, before or after the request, loses nothing", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { endpoint, secret } = await world.endpoint(receiver.url);
  await report(world);
  // One dies with the event claimed, the next with the delivery claimed, each before it did anything.
  assertEquals(
    (await claimDue(world.kv, webhookEvents, { nowMs: world.time.nowMs(), count: 1 })).length,
    1,
  );
  assertEquals(await world.run(), 0);
  world.time.advance(webhookEvents.claimMs);
  await runDue(world.outbox, world.events);
  const claimed = await claimDeliveries(world.kv, {
    nowMs: world.time.nowMs(),
    count: 1,
  });
  assertEquals(claimed.length, 1);
  await world.run();
  assertEquals(receiver.received.length, 0);
  // The third sends the request, and dies before it writes down how that ended.
  world.time.advance(webhookDeliveries.claimMs);
  let isDead = false;
  // Of a delivery, only the commit that ends a try reads several rows.
  const kv = faultyKv(world.kv, (call) => {
    isDead ||= call === "getMany";
    return isDead ? "before" : "none";
  });
  await world.deliver({ ...world.world, kv }).catch(() => {});
  assertEquals(receiver.received.length, 1);
  assertEquals(await world.tries(endpoint.id), []);
  world.time.advance(webhookDeliveries.claimMs);
  assertEquals(await world.run(), 1);
  const [first, second] = receiver.received;
  assertEquals(first!.headers["webhook-id"], second!.headers["webhook-id"]);
  assertEquals(first!.body, second!.body);
  verified(secret, second!, world.time.nowMs());
  assertEquals((await world.tries(endpoint.id)).map(({ attempt }) => attempt), [1]);
});

/** Of a delivery: its turn is claimed, it is claimed, its try ends, its turn is passed on. */
const commitsOfDelivery = 4;
const endOfTry = 3;

Deno.test("whatever the store does to a commit of a delivery, the log has one row for it", async () => {
  for (const fault of ["before", "after", "repeated"] as const) {
    for (let at = 1; at <= commitsOfDelivery; at++) {
      using world = await openWebhookWorld();
      await using receiver = openReceiver();
      const { endpoint } = await world.endpoint(receiver.url);
      await report(world);
      await runDue(world.outbox, world.events);
      let commits = 0;
      const kv = faultyKv(
        world.kv,
        (call) => call === "commit" && ++commits === at ? fault : "none",
      );
      await world.deliver({ ...world.world, kv }).catch(() => {});
      assert(commits >= at, `${commits} commits`);
      for (let lost = 0; lost < 2; lost++) {
        world.time.advance(webhookDeliveries.claimMs);
        await world.run();
      }
      const name = `${fault} ${at}`;
      const sent = receiver.received.map(({ headers }) => headers["webhook-id"]);
      assertEquals(sent.length, fault === "before" && at === endOfTry ? 2 : 1, name);
      assertEquals(new Set(sent).size, 1, name);
      assertEquals((await world.tries(endpoint.id)).map(({ attempt }) => attempt), [1], name);
      assertEquals(await world.nextTurnAtMs(), undefined, name);
      const [state] = await readEndpointStates(world.kv, world.account.id, [endpoint]);
      assertEquals(state?.queue, undefined, name);
    }
  }
});

Deno.test("a process that stops ends its tries at once, and they are made again", async () => {
  using world = await openWebhookWorld();
  const silent = Promise.withResolvers<Response>();
  await using receiver = openReceiver(() => silent.promise);
  const { endpoint } = await world.endpoint(receiver.url);
  await report(world);
  await runDue(world.outbox, world.events);
  const stopping = new AbortController();
  const running = world.deliver({ ...world.world, signal: stopping.signal });
  await until(() => receiver.received.length === 1, "the request");
  stopping.abort();
  await running;
  silent.resolve(new Response());
  assertEquals(await world.tries(endpoint.id), []);
  receiver.answer = () => new Response();
  world.time.advance(webhookDeliveries.backoffMs[0]!);
  await world.run();
  assertEquals((await world.tries(endpoint.id)).map(({ attempt }) => attempt), [1]);
});

async function mailsOf({ kv, time }: World) {
  const mails = await claimDue(kv, mailQueue, { nowMs: time.nowMs(), count: 8 });
  return mails.map(({ payload }) => payload);
}

Deno.test("after five days of failures only, an endpoint is switched off with one mail", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(() => new Response(null, { status: 500 }));
  const { endpoint } = await world.endpoint(receiver.url);
  const beganMs = world.time.nowMs();
  const now = () => getEndpoint(world.kv, world.account.id, endpoint.id);
  await report(world);
  await world.run();
  while (world.time.nowMs() < beganMs + maxFailingMs) {
    assert((await now())!.isOn);
    world.time.advance(dayMs / 4);
    await report(world);
    await world.run();
  }
  assertEquals((await now())!.isOn, false);
  assertEquals((await now())!.switchedOff, { why: "failing", atMs: world.time.nowMs() });
  assertEquals(await mailsOf(world), [{
    kind: "webhook_switched_off",
    to: "ann@example.com",
    locale: "en",
    url: receiver.url,
    why: "failing",
    about: { accountId: world.account.id },
  }]);
  // What waited is dropped, and nothing new comes.
  const before = receiver.received.length;
  await report(world);
  await world.run();
  for (;;) {
    const nextMs = await world.nextTurnAtMs();
    if (nextMs === undefined) break;
    world.time.advance(nextMs - world.time.nowMs());
    await world.run();
  }
  assertEquals(receiver.received.length, before);
  // Switched on again, it has its five days anew.
  const nowMs = world.time.nowMs();
  await editEndpoint(world.kv, world.account.id, endpoint.id, { isOn: true, nowMs });
  await report(world);
  await world.run();
  assertEquals((await now())!.isOn, true);
  assertEquals((await now())!.switchedOff, undefined);
});

Deno.test("status 410 ends an endpoint at once", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(() => new Response(null, { status: 410 }));
  const { endpoint } = await world.endpoint(receiver.url);
  await report(world);
  await world.run();
  const { isOn, switchedOff } = (await getEndpoint(world.kv, world.account.id, endpoint.id))!;
  assertEquals([isOn, switchedOff?.why], [false, "gone"]);
  assertEquals((await mailsOf(world)).length, 1);
  const { lines: [line] } = await findActivity(world.kv, world.account.id, { count: 1 });
  assertEquals([line?.act, line?.by.kind, line?.subject], [
    "webhooks_changed",
    "gateway",
    endpoint.id,
  ]);
  assertEquals(line?.after, { isOn: "false", why: "gone" });
  assertEquals(await world.nextTurnAtMs(), undefined);
});

Deno.test("a test is marked, tried once, also while the endpoint is off, and ends nothing", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(() => new Response(null, { status: 410 }));
  const { endpoint, secret } = await world.endpoint(receiver.url);
  const nowMs = world.time.nowMs();
  const { id } = world.account;
  await editEndpoint(world.kv, id, endpoint.id, { isOn: false, nowMs });
  await sendTest(world.kv, id, endpoint.id, "invoice.issued", nowMs);
  await world.run();
  const { data } = exampleEvent("invoice.issued");
  assertEquals(verified(secret, receiver.received[0]!, nowMs), {
    type: "invoice.issued",
    timestamp: new Date(nowMs).toISOString(),
    test: true,
    data,
  });
  assertEquals(await world.nextTurnAtMs(), undefined);
  assertEquals((await getEndpoint(world.kv, id, endpoint.id))!.switchedOff, undefined);
  assertEquals((await world.tries(endpoint.id)).map(({ cause }) => cause), ["test"]);
});

Deno.test("a delivery that is sent again has the same id and body", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { endpoint } = await world.endpoint(receiver.url);
  await report(world);
  await world.run();
  const { id } = world.account;
  const one = await getTry(world.kv, id, endpoint.id, 1);
  await sendAgain(world.kv, id, endpoint.id, one!, world.time.nowMs());
  await sendAgain(world.kv, id, endpoint.id, one!, world.time.nowMs());
  await world.run();
  const ids = receiver.received.map(({ headers, body }) => `${headers["webhook-id"]} ${body}`);
  assertEquals([ids.length, new Set(ids).size], [3, 1]);
  assertEquals((await world.tries(endpoint.id)).map(({ cause }) => cause), [
    "again",
    "again",
    "event",
  ]);
});

Deno.test("the log of an endpoint has a row for each try, and never more than its bound", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { endpoint } = await world.endpoint(receiver.url);
  const rounds = 3;
  const perRound = 40;
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < perRound; i++) await report(world);
    while (receiver.received.length < (round + 1) * perRound) {
      await world.run();
      world.time.advance(minuteMs);
    }
  }
  const tries = await world.tries(endpoint.id);
  const all = rounds * perRound;
  assertEquals(receiver.received.length, all);
  assertEquals(
    tries.map(({ number }) => number),
    Array.from({ length: maxWebhookTryRows }, (_, i) => all - i),
  );
  assertEquals(await getTry(world.kv, world.account.id, endpoint.id, 1), undefined);
});

Deno.test("only endpoints that are on and want the kind get an event, each once", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const wants = await world.endpoint(receiver.url, { kinds: ["topup.credited"] });
  const wantsOther = await world.endpoint(receiver.url, { kinds: ["key.created"] });
  const isOff = await world.endpoint(receiver.url);
  const nowMs = world.time.nowMs();
  const { id } = world.account;
  await editEndpoint(world.kv, id, isOff.endpoint.id, { isOn: false, nowMs });
  const other = await world.newAccount("bob@example.com");
  await world.endpoint(receiver.url, { owner: other });
  await report(world);
  world.time.advance(1);
  await world.endpoint(receiver.url);
  await world.run();
  assertEquals(receiver.received.length, 1, "what was before an endpoint is no news for it");
  verified(wants.secret, receiver.received[0]!, nowMs);
  assertEquals(await world.tries(wantsOther.endpoint.id), []);
});

Deno.test("a secret that no master key opens is a failure that the log names", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { endpoint } = await world.endpoint(receiver.url);
  await report(world);
  await runDue(world.outbox, world.events);
  const masterKeys = await readMasterKeys(newMasterKey());
  await world.deliver({ ...world.world, masterKeys });
  assertEquals(receiver.received, []);
  const [one] = await world.tries(endpoint.id);
  assertEquals(one!.outcome, { kind: "failed", reason: "no_secret" });
});
