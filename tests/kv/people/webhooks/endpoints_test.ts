import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { faultyKv, StoreFault } from "../../../support/stores/faulty_kv.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { findActivity } from "../../../../kv/people/audit/account_activity.ts";
import { exportRecords } from "../../../../kv/services/verify/export.ts";
import { closeAccount } from "../../../../kv/services/operations/account_closing.ts";
import { sendTest } from "../../../../kv/people/webhooks/deliveries.ts";
import {
  addEndpoint,
  deleteEndpoint,
  editEndpoint,
  getEndpoint,
  listEndpoints,
  maxWebhookEndpoints,
  rotateEndpointSecret,
  type WebhookEndpoint,
} from "../../../../kv/people/webhooks/endpoints.ts";
import {
  newFormId,
  openReceiver,
  openWebhookWorld,
} from "../../../support/worlds/webhook_world.ts";

const options = { url: "https://example.com/hook", name: "Books", kinds: ["key.created"] } as const;

Deno.test("ten endpoints fit, whoever adds them at the same moment", async () => {
  using world = await openWebhookWorld();
  const { kv, masterKeys, account, time } = world;
  const nowMs = time.nowMs();
  const added = await Promise.all(
    Array.from(
      { length: maxWebhookEndpoints + 2 },
      () => addEndpoint(kv, masterKeys, account.id, { ...options, formId: newFormId(), nowMs }),
    ),
  );
  const count = added.filter(({ ok }) => ok).length;
  const endpoints = await listEndpoints(kv, account.id);
  assertEquals(endpoints.length, count);
  assert(count <= maxWebhookEndpoints);
  while ((await listEndpoints(kv, account.id)).length < maxWebhookEndpoints) {
    await world.endpoint(options.url);
  }
  const formId = newFormId();
  assertEquals(await addEndpoint(kv, masterKeys, account.id, { ...options, formId, nowMs }), {
    ok: false,
    reason: "full",
  });
});

Deno.test("a form that is sent twice adds one endpoint, and rotates once", async () => {
  using world = await openWebhookWorld();
  const { kv, masterKeys, account, time } = world;
  const form = { formId: newFormId(), nowMs: time.nowMs() };
  const add = () => addEndpoint(kv, masterKeys, account.id, { ...options, ...form });
  const first = await add();
  assert(first.ok);
  assertEquals(await add(), { ok: false, reason: "sent" });
  const { id } = first.done.endpoint;
  const again = { formId: newFormId(), nowMs: time.nowMs() };
  const rotate = () => rotateEndpointSecret(kv, masterKeys, account.id, id, again);
  const rotated = await rotate();
  assert(rotated.ok && rotated.done.secret !== first.done.secret);
  assertEquals(await rotate(), { ok: false, reason: "sent" });
  assertEquals((await listEndpoints(kv, account.id)).length, 1);
});

Deno.test("endpoints of others do not exist for an account", async () => {
  using world = await openWebhookWorld();
  const { kv, masterKeys, time } = world;
  const { endpoint } = await world.endpoint(options.url);
  const other = await world.newAccount("bob@example.com");
  const nowMs = time.nowMs();
  const missing = { ok: false, reason: "missing" } as const;
  assertEquals(await getEndpoint(kv, other.id, endpoint.id), undefined);
  assertEquals(await editEndpoint(kv, other.id, endpoint.id, { isOn: false, nowMs }), missing);
  const form = { formId: newFormId(), nowMs };
  assertEquals(
    await rotateEndpointSecret(kv, masterKeys, other.id, endpoint.id, form),
    missing,
  );
  assertEquals(await deleteEndpoint(kv, other.id, endpoint.id), missing);
  assertEquals(await getEndpoint(kv, world.account.id, endpoint.id), endpoint);
});

async function rowsAbout(kv: Deno.Kv): Promise<string[]> {
  const kinds: string[] = [];
  for await (const { key } of kv.list({ prefix: [] })) {
    if (String(key[0]).startsWith("webhook_")) kinds.push(String(key[0]));
  }
  return kinds;
}

Deno.test("an endpoint that is deleted takes its log with it, and what waited is dropped", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { kv, account, time } = world;
  const { endpoint } = await world.endpoint(receiver.url);
  await sendTest(kv, account.id, endpoint.id, "key.created", time.nowMs());
  await world.run();
  await sendTest(kv, account.id, endpoint.id, "key.created", time.nowMs());
  assert((await deleteEndpoint(kv, account.id, endpoint.id)).ok);
  await world.run();
  assertEquals(receiver.received.length, 1);
  assertEquals(await rowsAbout(kv), ["webhook_endpoints"]);
});

Deno.test("a person who is forgotten leaves no endpoint and no log", async () => {
  using world = await openWebhookWorld();
  await using receiver = openReceiver();
  const { kv, account, time } = world;
  const { endpoint } = await world.endpoint(receiver.url);
  await sendTest(kv, account.id, endpoint.id, "member.joined", time.nowMs());
  await world.run();
  await closeAccount(kv, account.id, { nowMs: time.nowMs(), givenUpMicroVnd: 0n });
  assertEquals(await rowsAbout(kv), []);
});

Deno.test("neither the row nor the export has a secret that can be read", async () => {
  using world = await openWebhookWorld();
  const { kv, masterKeys, account, time } = world;
  const { secret, endpoint } = await world.endpoint(options.url);
  const form = { formId: newFormId(), nowMs: time.nowMs() };
  const rotated = await rotateEndpointSecret(kv, masterKeys, account.id, endpoint.id, form);
  assert(rotated.ok);
  const rows = await Array.fromAsync(kv.list({ prefix: [] }), ({ value }) => value);
  const stored = JSON.stringify(rows, (_, value) => typeof value === "bigint" ? `${value}` : value);
  const lines = (await Array.fromAsync(exportRecords(kv))).join("");
  for (const one of [secret, rotated.done.secret]) {
    assert(!stored.includes(one) && !lines.includes(one));
    assert(!stored.includes(one.slice("whsec_".length)));
  }
  assert(lines.includes(options.url), "the endpoint itself is exported");
  assert(!lines.includes("sealed"));
});

Deno.test("the line of a change is in the log exactly when the change took effect", async () => {
  using world = await openWebhookWorld();
  const { kv, masterKeys, account, time } = world;
  const nowMs = time.nowMs();
  const by = { kind: "stranger", address: "203.0.113.9", browser: "" } as const;
  const lines = async () => (await findActivity(kv, account.id, { count: 100 })).lines;
  const acts = {
    add: (store) =>
      addEndpoint(store, masterKeys, account.id, { ...options, formId: newFormId(), nowMs, by }),
    edit: (store, { id }) => editEndpoint(store, account.id, id, { isOn: false, nowMs, by }),
    rotate: (store, { id }) =>
      rotateEndpointSecret(store, masterKeys, account.id, id, { formId: newFormId(), nowMs, by }),
    remove: (store, { id }) => deleteEndpoint(store, account.id, id, { nowMs, by }),
  } satisfies Record<string, (store: KeyValueStore, endpoint: WebhookEndpoint) => Promise<unknown>>;
  for (const [name, act] of Object.entries(acts)) {
    const { endpoint } = await world.endpoint(options.url);
    for (const [fault, count] of [["before", 0], ["after", 1]] as const) {
      const known = (await lines()).length;
      const store = faultyKv(kv, (call) => call === "commit" ? fault : "none");
      await assertRejects(async () => await act(store, endpoint), StoreFault);
      const fresh = (await lines()).slice(0, (await lines()).length - known);
      assertEquals(fresh.map(({ act }) => act), Array(count).fill("webhooks_changed"), name);
    }
  }
  const found = await lines();
  const [removed, rotated, edited, added] = found;
  assertEquals([added?.before, added?.after?.["url"]], [undefined, options.url]);
  assertEquals([edited?.before, edited?.after], [{ isOn: "true" }, { isOn: "false" }]);
  assert(rotated?.after?.["formerSecretUntilAt"] !== undefined);
  assertEquals([removed?.before?.["url"], removed?.after], [options.url, undefined]);
});
