/**
 * Receivers that hang, however many and however much waits for them, delay nobody else's events. Two instances on one
 * store, with a time that the test advances.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { type Transport, UpstreamFailure } from "../../../core/net/transport/transport.ts";
import { slowTryMs } from "../../../core/people/webhooks/retries.ts";
import { runDue, type Sleep, startOutboxWorker } from "../../../kv/engine/outbox/outbox_worker.ts";
import { claimDue } from "../../../kv/engine/outbox/outbox_claims.ts";
import { exampleEvent } from "../../../core/people/webhooks/events.ts";
import { addToOutbox } from "../../../kv/engine/outbox/outbox.ts";
import { webhookStateKey } from "../../../kv/engine/schema/keys.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { readConditions } from "../../../kv/people/webhooks/deliveries.ts";
import {
  commitDeliveries,
  type EndpointName,
  maxWaitingDeliveries,
  moveWork,
  passTurnOn,
  readEndpointStates,
  webhookDeliveries,
  type WebhookDelivery,
  type WebhookState,
  webhookTurns,
} from "../../../kv/people/webhooks/endpoint_queues.ts";
import {
  addServiceEvent,
  addWebhookEvent,
  passOnWork,
} from "../../../kv/people/webhooks/events.ts";
import { deliveryWorks, webhookTryTotalMs } from "../../../routes/hooks/webhook_delivery.ts";
import { casesOf } from "../../support/property.ts";
import { countedKv, settledDown } from "../../support/stores/counted_kv.ts";
import { openReceiver, openWebhookWorld } from "../../support/worlds/webhook_world.ts";

type World = Awaited<ReturnType<typeof openWebhookWorld>>;

const hangingUrl = "https://hanging.example/hook";
const quickUrl = "https://quick.example/hook";

const hangingAccounts = 100;
const honestAccounts = 10;
/** Waiting events of all that hang: a tenth in the fast tier, and never a third, since nothing about them is random. */
const queuedEvents = casesOf(100_000) === 10_000 ? 10_000 : 100_000;
const ticks = 600;
const tickMs = 100;
/** An honest event each half second. */
const ticksPerEvent = 5;
/** Endpoints of one commit, which has a check for each. */
const endpointsPerCommit = 50;

/** Counts what the store and the library of cryptography have not answered, so that no time passes meanwhile. */
function countedWork(kv: World["kv"]) {
  const store = countedKv(kv);
  let signing = 0;
  const { subtle } = crypto;
  const counted = new Proxy(subtle, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        signing++;
        const answer: unknown = Reflect.apply(member, target, args);
        return Promise.resolve(answer).finally(() => signing--);
      };
    },
  });
  Object.defineProperty(crypto, "subtle", { value: counted, configurable: true });
  return {
    get underWay() {
      return store.underWay + signing;
    },
    [Symbol.dispose]: () => void Reflect.deleteProperty(crypto, "subtle"),
  };
}

/** Receivers that answer at once or never, as the transport of a gateway sees them. */
function receivers(nowMs: () => number) {
  const arrivedAtMs = new Map<string, number[]>();
  const open = { now: 0, max: 0 };
  const transport: Transport = {
    open({ url, body, headers }) {
      const isQuick = url === quickUrl;
      const answer = Promise.withResolvers<Awaited<ReturnType<Transport["open"]>["response"]>>();
      let isOpen = true;
      open.max = Math.max(open.max, ++open.now);
      const close = () => {
        if (isOpen) open.now--;
        isOpen = false;
      };
      if (isQuick) {
        const text = new TextDecoder().decode(body instanceof Uint8Array ? body : undefined);
        const name = JSON.parse(text).data.amount_vnd;
        arrivedAtMs.set(name, [...(arrivedAtMs.get(name) ?? []), nowMs()]);
        const reader = { read: () => Promise.resolve(null) };
        answer.resolve({ status: 204, header: () => undefined, body: reader });
      }
      assert(headers.length > 0);
      return {
        response: answer.promise,
        cancel() {
          close();
          answer.reject(new UpstreamFailure("cancelled", "the test"));
          answer.promise.catch(() => {});
        },
      };
    },
  };
  return { transport, arrivedAtMs, open };
}

function deliveryTo(name: EndpointName, nowMs: number): WebhookDelivery {
  const eventId = newId("webhookEvent", nowMs);
  return { ...name, eventId, type: "topup.credited", cause: "event", body: "{}", tries: 0 };
}

/** Makes accounts with an endpoint each; `tries` of the past were quick. */
async function makeAccounts(
  { kv, newAccount, endpoint }: World,
  { count, url, tries }: { readonly count: number; readonly url: string; readonly tries: number },
): Promise<EndpointName[]> {
  const names: EndpointName[] = [];
  for (let i = 0; i < count; i++) {
    const owner = await newAccount(`${tries}-${i}@${new URL(url).hostname}`);
    const made = await endpoint(url, { owner });
    const name = { accountId: owner.id, endpointId: made.endpoint.id };
    const state: WebhookState = { tries };
    if (tries > 0) await kv.set(webhookStateKey(name.accountId, name.endpointId), state);
    names.push(name);
  }
  return names;
}

/** Starts the workers of one instance on the time of the test. */
function startInstance({ outbox, world, time }: World, transport: Transport) {
  const sleep: Sleep = (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const cancel = time.start(wake, ms);
      function wake() {
        cancel();
        signal.removeEventListener("abort", wake);
        resolve();
      }
      signal.addEventListener("abort", wake, { once: true });
    });
  const stopping = new AbortController();
  const nudge = () => {
    for (const worker of workers) worker.nudge();
  };
  const here = { ...world, transport, signal: stopping.signal, hintTurns: nudge };
  const works = deliveryWorks(here);
  const events = startOutboxWorker(outbox, passOnWork(outbox, nudge), sleep);
  const workers = [
    startOutboxWorker(outbox, moveWork(outbox, nudge), sleep),
    startOutboxWorker(here, works.quick, sleep),
    startOutboxWorker(here, works.slow, sleep),
  ];
  return {
    hintEvent: () => events.nudge(),
    async stop() {
      stopping.abort();
      await Promise.all([events, ...workers].map((worker) => worker.stop()));
    },
  };
}

async function report({ kv, time }: World, accountId: AccountId, name: string): Promise<void> {
  const operation = kv.atomic();
  const data = { amount_vnd: name };
  addWebhookEvent(operation, accountId, { type: "topup.credited", data }, time.nowMs());
  await operation.commit();
}

Deno.test(`an honest account waits two seconds at most beside ${hangingAccounts} that hang with ${queuedEvents} events`, async () => {
  using world = await openWebhookWorld();
  const { kv, time } = world;
  const half = { count: hangingAccounts / 2, url: hangingUrl };
  // Half of them have shown that they are quick, and hang from now on.
  const hanging = [
    ...await makeAccounts(world, { ...half, tries: 0 }),
    ...await makeAccounts(world, { ...half, tries: 5 }),
  ];
  const honest = await makeAccounts(world, { count: honestAccounts, url: quickUrl, tries: 0 });
  for (let queued = 0; queued < queuedEvents; queued += endpointsPerCommit) {
    const at = queued % hanging.length;
    const some = hanging.slice(at, at + endpointsPerCommit);
    const waiting = some.map((name) => deliveryTo(name, time.nowMs()));
    assertEquals(await commitDeliveries(kv, waiting, { nowMs: time.nowMs() }), "committed");
  }
  using store = countedWork(kv);
  const { transport, arrivedAtMs, open } = receivers(() => time.nowMs());
  const instances = [startInstance(world, transport), startInstance(world, transport)];
  const sentAtMs = new Map<string, number>();
  for (let tick = 0; tick < ticks; tick++) {
    if (tick % ticksPerEvent === 0) {
      const name = String(tick + 1);
      sentAtMs.set(name, time.nowMs());
      const { accountId } = honest[tick / ticksPerEvent % honest.length]!;
      await report(world, accountId, name);
      // The other instance finds what this one does not take.
      instances[tick % 2]!.hintEvent();
    }
    await settledDown(store);
    time.advance(tickMs);
  }
  await settledDown(store);
  const stopped = Promise.all(instances.map((instance) => instance.stop()));
  await settledDown(store);
  time.advance(webhookTryTotalMs);
  await stopped;
  const lateMs = [...sentAtMs].map(([name, atMs]) => {
    const [first, ...again] = arrivedAtMs.get(name) ?? [];
    assertEquals(again, [], `${name} arrives once`);
    return (first ?? Infinity) - atMs;
  }).sort((one, other) => one - other);
  const p99Ms = lateMs[Math.ceil(lateMs.length * 0.99) - 1]!;
  assert(p99Ms <= 2_000, `p99 ${p99Ms} ms, median ${lateMs[lateMs.length >> 1]} ms`);
  assert(open.max >= hangingAccounts, `${open.max} deliveries at once`);
  // Each that hangs was served again and again, none was lost, and none took the turns of another.
  let waiting = 0;
  for (const { accountId, endpointId } of hanging) {
    const [state] = await readEndpointStates(kv, accountId, [{ id: endpointId }]);
    waiting += state?.queue?.waiting ?? 0;
    const tries = state?.tries ?? 0;
    assert(tries >= 3 && tries <= 15, `${tries} tries`);
    assert(state?.slowAtMs !== undefined);
  }
  assertEquals(waiting, queuedEvents);
  assertEquals(world.failures.filter((error) => !String(error).includes("Stopped")), []);
});

Deno.test("at most one delivery at a time goes to an endpoint that was slow, of all instances", async () => {
  using world = await openWebhookWorld();
  const { kv, time } = world;
  const [name] = await makeAccounts(world, { count: 1, url: hangingUrl, tries: 5 });
  for (let i = 0; i < 20; i++) {
    await commitDeliveries(kv, [deliveryTo(name!, time.nowMs())], { nowMs: time.nowMs() });
  }
  using store = countedWork(kv);
  const { transport, open } = receivers(() => time.nowMs());
  const instances = [startInstance(world, transport), startInstance(world, transport)];
  const openOverTime: number[] = [];
  for (let tick = 0; tick < 3 * webhookTryTotalMs / tickMs; tick++) {
    await settledDown(store);
    openOverTime.push(open.now);
    time.advance(tickMs);
  }
  const stopped = Promise.all(instances.map((instance) => instance.stop()));
  await settledDown(store);
  time.advance(webhookTryTotalMs);
  await stopped;
  assertEquals(openOverTime[0], 4, "it was quick, and gets four");
  const later = openOverTime.slice(webhookTryTotalMs / tickMs + slowTryMs / tickMs);
  assertEquals(new Set(later.filter((count) => count > 0)), new Set([1]));
});

Deno.test("beyond the bound new events are dropped, counted, and in the activity once", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { kv, time, account } = world;
  const { endpoint } = await world.endpoint(receiver.url);
  const other = await world.endpoint(receiver.url);
  const name = { accountId: account.id, endpointId: endpoint.id };
  await commitDeliveries(kv, [deliveryTo(name, time.nowMs())], { nowMs: time.nowMs() });
  const key = webhookStateKey(account.id, endpoint.id);
  const { value } = await kv.get<WebhookState>(key);
  assert(value?.queue !== undefined);
  const waiting = maxWaitingDeliveries - 1;
  await kv.set(key, { ...value, queue: { ...value.queue, waiting } });
  for (let i = 0; i < 4; i++) {
    await report(world, account.id, String(i));
    await runDue(world.outbox, world.events);
    time.advance(1_000);
  }
  const [full, free] = await readConditions(kv, account.id, [endpoint, other.endpoint]);
  assertEquals([full?.waiting, full?.dropped?.count], [maxWaitingDeliveries, 3]);
  assertEquals(full?.dropped?.lastAtMs, full!.dropped!.sinceMs + 2_000);
  assertEquals([free?.waiting, free?.dropped], [4, undefined]);
  const { lines } = await findActivity(kv, account.id, { count: 9 });
  const told = lines.filter(({ after }) => after?.why?.includes("dropped"));
  assertEquals(told.map(({ subject }) => subject), [endpoint.id]);
  await world.run();
  assertEquals(receiver.received.length, 2 + 4, "what was kept arrives");
  const [after] = await readConditions(kv, account.id, [endpoint]);
  assertEquals([after?.waiting, after?.dropped?.count], [0, 3]);
});

Deno.test("a store of an earlier version is opened: what waited and what was given up is delivered", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { kv, time, account } = world;
  const { endpoint } = await world.endpoint(receiver.url);
  const name = { accountId: account.id, endpointId: endpoint.id };
  const nowMs = time.nowMs();
  // The state and the rows as that version wrote them: one due, one that waits for its third try.
  await kv.set(webhookStateKey(account.id, endpoint.id), { tries: 7 });
  const operation = kv.atomic();
  const [due, later] = [deliveryTo(name, nowMs), { ...deliveryTo(name, nowMs), tries: 2 }];
  addToOutbox(operation, webhookDeliveries, { id: "due", payload: due, nowMs });
  const dueAtMs = nowMs + 60_000;
  addToOutbox(operation, webhookDeliveries, { id: "later", payload: later, nowMs, dueAtMs });
  await operation.commit();
  await world.run();
  const sent = () => receiver.received.map(({ headers }) => headers["webhook-id"]);
  assertEquals(sent(), [due.eventId]);
  time.advance(60_000);
  await world.run();
  assertEquals(sent(), [due.eventId, later.eventId]);
  const tries = await world.tries(endpoint.id);
  assertEquals(tries.map(({ number, attempt }) => [number, attempt]), [[9, 3], [8, 1]]);
});

Deno.test("a new event is not held up by one that waits for its next try", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver(() => new Response(null, { status: 500 }));
  const { account } = world;
  await world.endpoint(receiver.url);
  await report(world, account.id, "1");
  await world.run();
  assert(await world.nextTurnAtMs() !== world.time.nowMs());
  await report(world, account.id, "2");
  assertEquals(await world.run(), 1);
  assertEquals(receiver.received.length, 2);
});

Deno.test("an event for all reaches accounts with ten endpoints each, whose turns are all later", async () => {
  using world = await openWebhookWorld();
  const { kv, time } = world;
  const accounts = 9;
  const names: EndpointName[] = [];
  for (let account = 0; account < accounts; account++) {
    const owner = await world.newAccount(`full${account}@example.com`);
    for (let i = 0; i < 10; i++) {
      const { endpoint } = await world.endpoint(quickUrl, { owner });
      names.push({ accountId: owner.id, endpointId: endpoint.id });
    }
  }
  const laterMs = time.nowMs() + 60_000;
  for (const name of names) {
    await commitDeliveries(kv, [deliveryTo(name, laterMs)], { nowMs: laterMs });
  }
  const operation = kv.atomic();
  const incident = exampleEvent("incident.opened");
  assert(incident.type === "incident.opened");
  addServiceEvent(operation, incident, time.nowMs());
  await operation.commit();
  await runDue(world.outbox, world.events);
  assertEquals(world.failures, []);
  assertEquals(await world.nextTurnAtMs(), time.nowMs());
  for (const { accountId, endpointId } of names) {
    const [state] = await readEndpointStates(kv, accountId, [{ id: endpointId }]);
    assertEquals([state?.queue?.waiting, state?.queue?.turn.dueAtMs], [2, time.nowMs()]);
  }
});

Deno.test("an endpoint with much that is long due passes its turn on to one whose event is new", async () => {
  using world = await openWebhookWorld();
  const { kv, time } = world;
  const [much, little] = await makeAccounts(world, { count: 2, url: quickUrl, tries: 5 });
  for (let i = 0; i < 9; i++) {
    await commitDeliveries(kv, [deliveryTo(much!, time.nowMs())], { nowMs: time.nowMs() });
  }
  time.advance(1_000);
  await commitDeliveries(kv, [deliveryTo(little!, time.nowMs())], { nowMs: time.nowMs() });
  time.advance(1_000);
  const served: string[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const nowMs = time.nowMs();
    const [claim] = await claimDue(kv, webhookTurns.quick, { nowMs, count: 1 });
    served.push(claim!.payload.endpointId);
    await passTurnOn(kv, { pace: "quick", claim: claim!, nowMs });
    time.advance(1);
  }
  assertEquals(served, [much!.endpointId, little!.endpointId, much!.endpointId]);
});
