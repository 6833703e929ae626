import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { claimsPrefix } from "../../../../kv/engine/schema/keys.ts";
import { readClaims } from "../../../../kv/money/ledger/provider_claims.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const everyDay = { fromDay: "2000-01-01", toDay: "2100-01-01" };
async function openBooks() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const account = newAccount();
  await topUp(kv, account, 1_000_000n);
  return { kv, wallet, account, [Symbol.dispose]: () => kv.close() };
}

Deno.test("property: the sums by day and route are those of the receipts, however calls share commits", async () => {
  const anyCall = fc.record({
    claim: fc.option(fc.bigInt({ min: 1n, max: 10n ** 15n })),
    route: fc.constantFrom("north/large", "north/large#chat", "south/m"),
    day: fc.nat(2),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyCall, { maxLength: 12 }), async (calls) => {
      using books = await openBooks();
      const { kv, wallet, account } = books;
      const right = new Map<string, bigint>();
      await Promise.all(calls.map(async ({ claim, route, day }) => {
        const startedAtMs = Date.UTC(2026, 10, 20) + day * dayMs;
        if (claim !== null) {
          const cell = `2026-11-${20 + day} ${route}`;
          right.set(cell, (right.get(cell) ?? 0n) + claim);
        }
        await wallet.settle(
          await mustReserve(wallet, account, 5n),
          draftOf(5n, {
            route,
            startedAtMs,
            ...(claim === null ? {} : { claimMicroVnd: claim }),
          }),
        );
      }));
      const { claims, isPartial } = await readClaims(kv, everyDay);
      assertEquals(isPartial, false);
      assertEquals(
        new Map(claims.map(({ day, route, claimMicroVnd }) => [`${day} ${route}`, claimMicroVnd])),
        right,
      );
      assertEquals((await verifyStore(kv)).problems, []);
      await wallet.close();
      assertEquals((await verifyStore(kv)).problems, []);
    }),
    { numRuns: 30 },
  );
});

Deno.test("a claim is on its receipt, and costs the customer nothing", async () => {
  using books = await openBooks();
  const { kv, wallet, account } = books;
  const draft = draftOf(40n, { claimMicroVnd: 960n });
  const receipt = await wallet.settle(await mustReserve(wallet, account, 50n), draft);
  assertEquals([receipt.costMicroVnd, receipt.claimMicroVnd], [40n, 960n]);
  assertEquals((await readReceipt(kv, draft.requestId))?.claimMicroVnd, 960n);
  assertEquals((await wallet.balance(account)).totalMicroVnd, 999_960n);
});

Deno.test("verification tells of a sum of claims that is missing, wrong or no sum", async () => {
  const damages: ((kv: KeyValueStore, key: Deno.KvKey) => Promise<unknown>)[] = [
    (kv, key) => kv.delete(key),
    (kv, key) => kv.set(key, { calls: 1, claimMicroVnd: 961n }),
    (kv, key) => kv.set(key, { calls: 2, claimMicroVnd: 960n }),
    (kv, key) => kv.set(key, { calls: 1, claimMicroVnd: -960n }),
    (kv, key) => kv.set([...key.slice(0, 4), 99], { calls: 1, claimMicroVnd: 1n }),
  ];
  for (const damage of damages) {
    using books = await openBooks();
    const { kv, wallet, account } = books;
    const draft = draftOf(40n, { claimMicroVnd: 960n });
    await wallet.settle(await mustReserve(wallet, account, 50n), draft);
    assert((await verifyStore(kv)).ok);
    const [row] = await Array.fromAsync(kv.list({ prefix: claimsPrefix() }));
    await damage(kv, row!.key);
    const { ok, problems } = await verifyStore(kv);
    assertEquals(ok, false);
    assert(problems.every(({ kind }) => kind === "claim" || kind === "row"), damage.toString());
  }
});
