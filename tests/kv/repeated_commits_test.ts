/**
 * Every commit is sent twice since its first answer was lost, and refused because it has taken effect, as happens over
 * KV Connect. What was done counts as done, and once.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { newId } from "../../core/lib/ids/ids.ts";
import { createAccount, tryCreateAccount } from "../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../kv/people/api_keys/api_key_changes.ts";
import { findApiKeyByHash } from "../../kv/people/api_keys/api_keys.ts";
import { hashApiKey } from "../../core/people/api_keys/api_key.ts";
import { credit } from "../../kv/money/ledger/ledger.ts";
import {
  decideApproval,
  listApprovals,
  requestApproval,
} from "../../kv/services/operations/approvals.ts";
import { listTopupOrders } from "../../kv/money/payments/topups.ts";
import { readWallet } from "../../kv/money/balances/wallets.ts";
import { faultyKv } from "../support/stores/faulty_kv.ts";
import { askForInvoice, paidOrder } from "../support/worlds/invoice_requests.ts";
import { operator, topupWorld } from "../support/worlds/topup_world.ts";

const nowMs = Date.UTC(2026, 10, 20);

async function openRepeating() {
  const store = await Deno.openKv(":memory:");
  const kv = faultyKv(store, (call) => call === "commit" ? "repeated" : "none");
  return { kv, [Symbol.dispose]: () => store.close() };
}

Deno.test("a new account is returned, and its address is taken from then on", async () => {
  using store = await openRepeating();
  const input = { nowMs, email: "ann@example.com" };
  assertEquals((await tryCreateAccount(store.kv, input))?.email, "ann@example.com");
  assertEquals(await tryCreateAccount(store.kv, input), undefined);
});

for (const form of [{}, { formId: "a-form" }]) {
  Deno.test(`a new key works ${JSON.stringify(form)}`, async () => {
    using store = await openRepeating();
    const { kv } = store;
    const masterKeys = await readMasterKeys(newMasterKey());
    const { id } = await createAccount(kv, { nowMs });
    const made = await createApiKey(kv, masterKeys, id, { name: "test", nowMs, ...form });
    assert(made.ok, JSON.stringify(made));
    assertEquals((await findApiKeyByHash(kv, await hashApiKey(made.secret)))?.id, made.record.id);
  });
}

Deno.test("a credit moves money once", async () => {
  using store = await openRepeating();
  const { id: accountId } = await createAccount(store.kv, { nowMs });
  const moved = await credit(store.kv, {
    accountId,
    amountMicroVnd: 5n,
    kind: "admin",
    operationId: newId("request", nowMs),
    reason: "test",
    atMs: nowMs,
  });
  assertEquals(moved.status, "applied");
  assertEquals((await readWallet(store.kv, accountId)).availableMicroVnd, 5n);
});

Deno.test("a paid order is credited once and gets its invoice", async () => {
  using store = await openRepeating();
  const world = topupWorld(store.kv);
  const ann = await world.customer("ann");
  const order = await paidOrder(world, ann);
  assertEquals((await listTopupOrders(store.kv, ann.id, { count: 10 })).length, 1);
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  const asked = await askForInvoice(world, ann.id, [order.code]);
  assert(asked.ok, `${asked.ok || asked.why}`);
  assertEquals(await world.findings(), []);
});

Deno.test("a movement that a second operator approves is requested once and moves money once", async () => {
  using store = await openRepeating();
  const { kv } = store;
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const [first, second] = [await operator(world, "first"), await operator(world, "second")];
  const balanceOf = async () => (await readWallet(kv, ann.id)).availableMicroVnd;
  const amountMicroVnd = fromVnd(9_000_000);
  const act = { kind: "adjust", accountId: ann.id, amountMicroVnd, reason: "r" } as const;
  const asked = await requestApproval(kv, act, { operator: first, nowMs, balanceOf });
  assert(asked.ok, `${asked.ok || asked.why}`);
  assertEquals((await listApprovals(kv, 10)).length, 1);
  const context = { operator: second, nowMs, balanceOf };
  assertEquals(await decideApproval(kv, asked.approval.id, "approve", context), { ok: true });
  assertEquals(await balanceOf(), amountMicroVnd);
});
