import { ascending } from "../../../../core/lib/base/ascending.ts";
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  addGrant,
  bringForward,
  expire,
  grantedOf,
  moveOwn,
  type OpenGrant,
  type Pots,
  reclaimable,
  spend,
  totalOf,
} from "../../../../core/trade/credits/pots.ts";
import { type LedgerId, newId } from "../../../../core/lib/ids/ids.ts";

/** Every đồng is one object that belongs to the customer or to a grant. */
class ModelWallet {
  readonly #order: Pots["spendGranted"];
  #coins: { grantId: LedgerId | undefined }[] = [];
  #owed = 0;
  readonly #expiry = new Map<LedgerId, number>();
  readonly spent = new Map<LedgerId | undefined, number>();
  readonly expired = new Map<LedgerId, number>();

  constructor(order: Pots["spendGranted"]) {
    this.#order = order;
  }

  get worth(): number {
    return this.#coins.length - this.#owed;
  }

  left(grantId: LedgerId | undefined): number {
    return this.#coins.filter((coin) => coin.grantId === grantId).length;
  }

  add(count: number, grantId?: LedgerId, expiresAtMs = Infinity): void {
    if (grantId !== undefined) this.#expiry.set(grantId, expiresAtMs);
    for (let i = 0; i < count; i++) {
      if (this.#owed > 0) {
        this.#owed--;
        this.#count(this.spent, grantId);
      } else this.#coins.push({ grantId });
    }
  }

  #count<Key>(sums: Map<Key, number>, key: Key): void {
    sums.set(key, (sums.get(key) ?? 0) + 1);
  }

  /** The rank of a coin: what is spent first has the lowest. */
  #rank(grantId: LedgerId | undefined, ownFirst: boolean): number {
    if (grantId === undefined) return ownFirst ? -1 : Infinity;
    const grants = [...this.#expiry].sort(([id, at], [otherId, otherAt]) =>
      at === otherAt ? ascending(id, otherId) : at - otherAt
    );
    return grants.findIndex(([id]) => id === grantId);
  }

  take(count: number, ownFirst = this.#order === "last"): void {
    for (let i = 0; i < count; i++) {
      const ranks = this.#coins.map(({ grantId }) => this.#rank(grantId, ownFirst));
      const least = ranks.indexOf(
        ranks.reduce((one, other) => one < other ? one : other, Infinity),
      );
      const [coin] = least < 0 ? [] : this.#coins.splice(least, 1);
      if (coin === undefined) this.#owed++;
      this.#count(this.spent, coin?.grantId);
    }
  }

  /** Removes coins of a grant that would be left if `leased` were spent. */
  reclaim(grantId: LedgerId, leased: number): number {
    const kept = this.#coins;
    const [owed, spent] = [this.#owed, new Map(this.spent)];
    this.#coins = [...kept];
    this.take(leased);
    const count = this.left(grantId);
    this.#coins = kept;
    this.#owed = owed;
    this.spent.clear();
    for (const [key, sum] of spent) this.spent.set(key, sum);
    let removed = 0;
    this.#coins = this.#coins.filter((coin) => coin.grantId !== grantId || ++removed > count);
    for (let i = 0; i < count; i++) this.#count(this.expired, grantId);
    return count;
  }
}

type Step =
  | { readonly do: "own"; readonly amount: number }
  | { readonly do: "spend"; readonly amount: number }
  | { readonly do: "correct"; readonly amount: number }
  | { readonly do: "give"; readonly amount: number; readonly expiry: number | undefined }
  | { readonly do: "expire"; readonly which: number; readonly leased: number };

const amount = fc.integer({ min: 1, max: 12 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("own"), amount }),
  fc.record({ do: fc.constant("spend"), amount }),
  fc.record({ do: fc.constant("correct"), amount }),
  fc.record({
    do: fc.constant("give"),
    amount,
    expiry: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  }),
  fc.record({
    do: fc.constant("expire"),
    which: fc.nat(9),
    leased: fc.integer({ min: 0, max: 20 }),
  }),
);

Deno.test("pots divide a wallet as if every đồng were marked", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("first", "last"),
      fc.array(step, { maxLength: 25 }),
      (order, steps) => {
        const model = new ModelWallet(order);
        let pots: Pots = { spendGranted: order, ownMicroVnd: 0n, grants: [] };
        const given: OpenGrant[] = [];
        for (const each of steps) {
          if (each.do === "own") {
            pots = moveOwn(pots, BigInt(each.amount));
            model.add(each.amount);
          } else if (each.do === "spend") {
            model.take(each.amount);
            // What calls cost shows only in what the wallet is worth.
            pots = bringForward(pots, BigInt(model.worth));
          } else if (each.do === "correct") {
            if (each.amount > model.worth) continue;
            model.take(each.amount, true);
            pots = moveOwn(pots, -BigInt(each.amount));
          } else if (each.do === "give") {
            const grantId = newId("ledger", 0);
            const amountMicroVnd = BigInt(each.amount);
            const grant: OpenGrant = {
              grantId,
              amountMicroVnd,
              leftMicroVnd: amountMicroVnd,
              expiredMicroVnd: 0n,
              ...(each.expiry !== undefined && { expiresAtMs: each.expiry }),
            };
            given.push(grant);
            pots = addGrant(pots, grant);
            model.add(each.amount, grantId, each.expiry);
          } else {
            const grant = given[each.which % Math.max(1, given.length)];
            const leased = Math.min(each.leased, Math.max(0, model.worth));
            if (grant === undefined) continue;
            const takenMicroVnd = reclaimable(pots, grant.grantId, BigInt(leased));
            assert(takenMicroVnd <= BigInt(Math.max(0, model.worth - leased)), "only what is free");
            const ownBefore = pots.ownMicroVnd;
            pots = expire(pots, grant.grantId, takenMicroVnd)!;
            assertEquals(pots.ownMicroVnd, ownBefore);
            assertEquals(model.reclaim(grant.grantId, leased), Number(takenMicroVnd));
          }
          assertEquals(totalOf(pots), BigInt(model.worth));
          assert(pots.ownMicroVnd >= 0n || grantedOf(pots) === 0n, "grants pay before it is owed");
          for (const { grantId, amountMicroVnd, leftMicroVnd, expiredMicroVnd } of pots.grants) {
            assertEquals(Number(leftMicroVnd), model.left(grantId));
            assertEquals(Number(expiredMicroVnd), model.expired.get(grantId) ?? 0);
            const spent = BigInt(model.spent.get(grantId) ?? 0);
            assertEquals(leftMicroVnd + expiredMicroVnd + spent, amountMicroVnd);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("money that the pots do not know of is the customer's own", () => {
  const pots: Pots = { spendGranted: "first", ownMicroVnd: 5n, grants: [] };
  assertEquals(bringForward(pots, 12n).ownMicroVnd, 12n);
});

Deno.test("what expires first is spent first, and what never expires last", () => {
  const grants = [undefined, 9, 3].map((expiresAtMs): OpenGrant => ({
    grantId: newId("ledger", 0),
    amountMicroVnd: 10n,
    leftMicroVnd: 10n,
    expiredMicroVnd: 0n,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  }));
  const pots = grants.reduce<Pots>(
    addGrant,
    { spendGranted: "first", ownMicroVnd: 10n, grants: [] },
  );
  const left = spend(pots, 15n);
  assertEquals(left.grants.map(({ leftMicroVnd }) => leftMicroVnd), [0n, 5n, 10n]);
  assertEquals(left.ownMicroVnd, 10n);
});
