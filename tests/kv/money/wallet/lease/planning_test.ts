import * as fc from "../../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../../support/assert.ts";
import { InvariantError } from "../../../../../core/lib/base/assert.ts";
import {
  freeMicroVnd,
  type Lease,
  LeaseBook,
} from "../../../../../kv/money/wallet/lease/lease_book.ts";
import {
  planTransfer,
  type TransferRequest,
} from "../../../../../kv/money/wallet/lease/transfer_plan.ts";
import { newAccount } from "../../../../support/worlds/money_world.ts";

function leaseOf(book: LeaseBook, remainingMicroVnd: bigint, reservedMicroVnd = 0n): Lease {
  const lease = book.lease(newAccount());
  if (remainingMicroVnd > 0n) book.rowWritten(lease, remainingMicroVnd, true);
  assert(book.reserve(lease, reservedMicroVnd));
  return lease;
}

function request(lease: Lease, amounts: readonly (readonly [bigint, boolean])[]): TransferRequest {
  const waiters = amounts.map(([amountMicroVnd, partial]) => ({ amountMicroVnd, partial }));
  return { lease, waiters, giveBack: undefined, wantedMicroVnd: 0n };
}

const money = fc.bigInt({ min: 0n, max: 10_000n });

const walletOf = (availableMicroVnd: bigint, nowMs = 0, debtLimitMicroVnd = 0n) => ({
  availableMicroVnd,
  debtLimitMicroVnd,
  nowMs,
});

Deno.test("a plan never draws more than there is, grants only what is drawn, and draws only what is needed", () => {
  fc.assert(fc.property(
    money,
    money,
    money,
    fc.array(fc.tuple(money, fc.boolean()), { maxLength: 6 }),
    (available, remaining, held, amounts) => {
      const lease = leaseOf(new LeaseBook(), remaining, held < remaining ? held : remaining);
      const free = freeMicroVnd(lease);
      const plan = planTransfer(request(lease, amounts), walletOf(available, 0));
      assert(plan.drawMicroVnd >= 0n && plan.drawMicroVnd <= available);
      const granted = plan.grants.reduce<bigint>((sum, grant) => sum + (grant ?? 0n), 0n);
      assert(granted <= free + plan.drawMicroVnd, "what is granted is there");
      const needed = granted > free ? granted - free : 0n;
      const ahead = plan.drawMicroVnd - needed;
      assert(ahead * 4n <= available - needed, "others keep three quarters of the rest");
      amounts.forEach(([amount, partial], at) => {
        const grant = plan.grants[at];
        if (partial) assert(grant !== undefined && grant <= amount);
        else assert(grant === undefined || grant === amount);
      });
    },
  ));
});

Deno.test("a call is refused only if the wallet and the lease together cannot pay it", () => {
  fc.assert(fc.property(money, money, money, (available, remaining, amount) => {
    const lease = leaseOf(new LeaseBook(), remaining);
    const { grants } = planTransfer(request(lease, [[amount, false]]), walletOf(available, 0));
    assertEquals(grants[0] !== undefined, amount <= available + remaining);
  }));
});

Deno.test("draws grow while they come often, and a poor wallet is drawn exactly", () => {
  const book = new LeaseBook();
  const lease = leaseOf(book, 0n);
  assertEquals(planTransfer(request(lease, [[10n, false]]), walletOf(39n, 0)).drawMicroVnd, 10n);
  assertEquals(
    planTransfer(request(lease, [[10n, false]]), walletOf(1_000_000n, 0)).drawMicroVnd,
    50n,
  );
  book.drawn(lease, 400n, 5_000);
  assertEquals(
    planTransfer(request(lease, [[10n, false]]), walletOf(1_000_000n, 6_000)).drawMicroVnd,
    810n,
  );
  assertEquals(
    planTransfer(request(lease, [[10n, false]]), walletOf(1_000_000n, 9_000)).drawMicroVnd,
    410n,
  );
});

Deno.test("an idle lease goes back whole, one in use not at all", () => {
  const book = new LeaseBook();
  const idle = { ...request(leaseOf(book, 70n), []), giveBack: "idle" as const };
  assertEquals(planTransfer(idle, walletOf(0n, 0)).drawMicroVnd, -70n);
  const used = { ...request(leaseOf(book, 70n, 1n), []), giveBack: "idle" as const };
  assertEquals(planTransfer(used, walletOf(0n, 0)).drawMicroVnd, 0n);
});

Deno.test("a book never promises, owes or gives back what it has not", () => {
  const book = new LeaseBook();
  const lease = leaseOf(book, 100n, 60n);
  assertEquals(book.reserve(lease, 41n), false);
  assertThrows(() => book.release(lease, 61n), InvariantError);
  const other = leaseOf(book, 100n, 60n);
  assertThrows(() => book.charge(other, 61n), InvariantError);
  const third = leaseOf(book, 100n, 60n);
  assertThrows(() => book.settled(third, 1n, 1), InvariantError);
  const fourth = leaseOf(book, 100n, 60n);
  assertThrows(() => book.rowWritten(fourth, 59n, true), InvariantError);
  assertThrows(() => book.drop(fourth), InvariantError);
});

Deno.test("the book knows which lease rows are behind, and since when", () => {
  const book = new LeaseBook();
  const [one, two] = [leaseOf(book, 10n, 10n), leaseOf(book, 10n, 10n)];
  assertEquals(book.checkpointedBefore(), Infinity);
  book.charge(one, 5n);
  book.settled(one, 5n, 7);
  book.charge(two, 5n);
  book.settled(two, 5n, 8);
  book.charge(one, 5n);
  book.settled(one, 5n, 9);
  assertEquals(book.checkpointedBefore(), 7);
  assertEquals(book.stale(10), [one, two]);
  book.rowWritten(one, one.remainingMicroVnd, false);
  assertEquals(book.checkpointedBefore(), 8);
  book.rowWritten(two, two.remainingMicroVnd, true);
  assertEquals(book.checkpointedBefore(), Infinity);
});

Deno.test("a lease row ends before the first settlement that is under way, in whatever order they land", () => {
  const book = new LeaseBook();
  const lease = leaseOf(book, 100n, 60n);
  for (const commit of [5, 6, 7]) {
    book.charge(lease, 10n);
    book.sent(lease, commit);
  }
  const settle = (commit: number) => {
    book.decided(lease, commit);
    book.settled(lease, 10n, commit);
  };
  settle(7);
  assertEquals(lease.remainingMicroVnd, 90n);
  // Whoever returns this lease subtracts the batches 5, 6 and 7, if they are in the store.
  const row = book.rowFor(lease, 8);
  assertEquals(row, { remainingMicroVnd: 100n, asOfCommit: 4 });
  settle(5);
  book.rowWritten(lease, lease.remainingMicroVnd, true, row);
  assertEquals([book.stale(9), book.checkpointedBefore()], [[lease], 5]);
  assertEquals(book.rowFor(lease, 9, 50n), { remainingMicroVnd: 140n, asOfCommit: 5 });
  // Commit 6 is refused for good.
  book.decided(lease, 6);
  const last = book.rowFor(lease, 10);
  assertEquals(last, { remainingMicroVnd: 80n, asOfCommit: 10 });
  book.rowWritten(lease, lease.remainingMicroVnd, true, last);
  assertEquals([book.stale(9), book.checkpointedBefore()], [[], Infinity]);
});

Deno.test("a wallet goes below zero for what is needed, as far as it may, and never to draw ahead", () => {
  const book = new LeaseBook();
  const lease = book.lease(newAccount());
  const plan = (amounts: [bigint, boolean][], available: bigint, limit: bigint) => {
    const { drawMicroVnd, grants } = planTransfer(
      request(lease, amounts),
      walletOf(available, 0, limit),
    );
    return [drawMicroVnd, ...grants];
  };
  assertEquals(plan([[15n, false]], 10n, 5n), [15n, 15n]);
  assertEquals(plan([[16n, false]], 10n, 5n), [0n, undefined]);
  assertEquals(plan([[16n, true]], 10n, 5n), [15n, 15n]);
  assertEquals(plan([[1n, false]], -5n, 5n), [0n, undefined]);
  // The limit was lowered meanwhile.
  assertEquals(plan([[1n, true]], -9n, 5n), [0n, 0n]);
  assertEquals(plan([], -9n, 5n), [0n]);
});
