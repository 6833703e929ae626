import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import { credit, debit, type Movement } from "../../../../kv/money/ledger/ledger.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { findMovement, newAccount } from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

function movement(accountId: AccountId, some: Partial<Movement> = {}): Movement {
  return {
    accountId,
    amountMicroVnd: 100n,
    kind: "topup",
    operationId: "bank:1",
    reason: "Bank transfer",
    atMs: Date.UTC(2026, 10, 20),
    ...some,
  };
}

async function available(kv: KeyValueStore, accountId: AccountId): Promise<bigint> {
  return (await readWallet(kv, accountId)).availableMicroVnd;
}

Deno.test("credit() moves money once per operation id", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  const first = await credit(kv, movement(account));
  const again = await credit(kv, movement(account, { atMs: 5, reason: "told twice" }));
  assertEquals([first.status, again.status], ["applied", "duplicate"]);
  assert("entry" in first && "entry" in again);
  assertEquals(again.entry, first.entry);
  assertEquals(await available(kv, account), 100n);
  assertEquals(await findMovement(kv, "bank:1"), first.entry);
});

for (
  const [what, other] of [
    ["amount", { amountMicroVnd: 101n }],
    ["account", { accountId: newAccount() }],
    ["kind", { kind: "admin" }],
    ["request", { requestId: newId("request", 0) }],
  ] as const
) {
  Deno.test(`an operation id that comes back with another ${what} is a mismatch`, async () => {
    using kv = await Deno.openKv(":memory:");
    const account = newAccount();
    await credit(kv, movement(account));
    assertEquals((await credit(kv, movement(account, other))).status, "mismatch");
    assertEquals(await available(kv, account), 100n);
  });
}

Deno.test("a credit and a debit with one operation id do not cancel out", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  await credit(kv, movement(account));
  assertEquals((await debit(kv, movement(account))).status, "mismatch");
});

Deno.test("a debit that comes again is the one that took the last money, not one without money", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  await credit(kv, movement(account));
  const taken = movement(account, { operationId: "invoice:1", kind: "admin" });
  const statuses = [(await debit(kv, taken)).status, (await debit(kv, taken)).status];
  assertEquals(statuses, ["applied", "duplicate"]);
  assertEquals(await available(kv, account), 0n);
});

Deno.test("debit() never takes more than is available", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  await credit(kv, movement(account));
  const tooMuch = await debit(kv, movement(account, { operationId: "x", amountMicroVnd: 101n }));
  assertEquals(tooMuch, { status: "insufficient", availableMicroVnd: 100n });
  const all = await debit(kv, movement(account, { operationId: "x" }));
  assertEquals(all.status, "applied");
  assertEquals(await available(kv, account), 0n);
  assertEquals((await verifyStore(kv)).ok, true);
});

Deno.test("nothing, and less than nothing, cannot be moved", async () => {
  using kv = await Deno.openKv(":memory:");
  for (const amountMicroVnd of [0n, -1n]) {
    const wrong = movement(newAccount(), { amountMicroVnd });
    await assertRejects(() => credit(kv, wrong), InvariantError);
    await assertRejects(() => debit(kv, wrong), InvariantError);
  }
});

Deno.test("credits that meet on one wallet all arrive", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  const results = await Promise.all(Array.from({ length: 8 }, (_, at) => {
    return credit(kv, movement(account, { operationId: `bank:${at}` }));
  }));
  assertEquals(results.map(({ status }) => status), Array(8).fill("applied"));
  assertEquals(await available(kv, account), 800n);
});

Deno.test("one notice delivered by eight processes at once is credited once", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  const results = await Promise.all(
    Array.from({ length: 8 }, () => credit(kv, movement(account))),
  );
  assertEquals(results.filter(({ status }) => status === "applied").length, 1);
  assertEquals(results.filter(({ status }) => status === "duplicate").length, 7);
  assertEquals(await available(kv, account), 100n);
});

Deno.test("a credit whose answer was lost is applied once and says so", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  const faults: Fault[] = ["after"];
  const unsure = faultyKv(kv, (call) => call === "commit" ? faults.shift() ?? "none" : "none");
  assertEquals((await credit(unsure, movement(account))).status, "applied");
  assertEquals(await available(kv, account), 100n);
});

Deno.test("a store that does not answer is an error, and trying again later is safe", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  const down = faultyKv(kv, (call) => call === "commit" ? "before" : "none");
  await assertRejects(() => credit(down, movement(account)), Error, "does not answer");
  assertEquals((await credit(kv, movement(account))).status, "applied");
});

Deno.test("rows of the caller are written with the money, or the money does not move", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = newAccount();
  const once = movement(account, {
    attach: (op, entry) => {
      op.check({ key: ["task"], versionstamp: null }).set(["task"], entry.ledgerId);
    },
  });
  const first = await credit(kv, once);
  assert(first.status === "applied");
  assertEquals((await kv.get(["task"])).value, first.entry.ledgerId);
  const second = await credit(kv, { ...once, operationId: "bank:2" });
  assertEquals(second.status, "conflict");
  assertEquals(await available(kv, account), 100n);
});
