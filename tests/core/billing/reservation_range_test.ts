import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import {
  fittingMicroVnd,
  rangeOf,
  rangeWithin,
  type ReservationRange,
} from "../../../core/billing/price.ts";

const money = fc.bigInt({ min: 0n, max: 10_000n });
const arbitraryRange = fc.record({ amounts: fc.tuple(money, money, money), takesAll: fc.boolean() })
  .map(({ amounts, takesAll }): ReservationRange => {
    const [leastMicroVnd = 0n, expectedMicroVnd = 0n, wantedMicroVnd = 0n] = amounts.toSorted((
      one,
      other,
    ) => one < other ? -1 : one > other ? 1 : 0);
    return { leastMicroVnd, expectedMicroVnd, wantedMicroVnd, takesAll };
  });
const arbitraryFree = fc.record({ own: money, debt: money, isAlone: fc.boolean() })
  .map(({ own, debt, isAlone }) => ({
    ownMicroVnd: own,
    budgetMicroVnd: own + debt,
    isAlone,
  }));

Deno.test("a call gets no more than there is and than it wants, and not less than its least amount", () => {
  fc.assert(fc.property(arbitraryRange, arbitraryFree, fc.boolean(), (range, free, takesRest) => {
    const got = fittingMicroVnd(range, free, takesRest);
    if (got === undefined) return assert(free.budgetMicroVnd < range.wantedMicroVnd);
    assert(got <= free.budgetMicroVnd && got <= range.wantedMicroVnd);
    assert(got >= (takesRest ? range.leastMicroVnd : range.expectedMicroVnd));
    // Debt pays what is expected and the worst case, never a share.
    const isShare = got !== range.wantedMicroVnd && got > range.expectedMicroVnd;
    if (isShare && range.takesAll !== true) assert(got <= free.ownMicroVnd);
  }));
});

Deno.test("with the rest allowed, a call is refused only below its least amount", () => {
  fc.assert(fc.property(arbitraryRange, arbitraryFree, (range, free) => {
    const least = range.takesAll === true ? range.expectedMicroVnd : range.leastMicroVnd;
    const got = fittingMicroVnd(range, free, true);
    assertEquals(got !== undefined, free.budgetMicroVnd >= least);
  }));
});

Deno.test("money for the worst case is reserved whole, also if it is there to the last µVND", () => {
  const spare = fc.bigInt({ min: 0n, max: 2n });
  fc.assert(fc.property(arbitraryRange, spare, fc.boolean(), (range, more, isAlone) => {
    const budgetMicroVnd = range.wantedMicroVnd + more;
    const free = { ownMicroVnd: budgetMicroVnd, budgetMicroVnd, isAlone };
    assertEquals(fittingMicroVnd(range, free, false), range.wantedMicroVnd);
  }));
});

Deno.test("an exact amount is granted whole or not at all", () => {
  fc.assert(fc.property(money, arbitraryFree, fc.boolean(), (amount, free, takesRest) => {
    const got = fittingMicroVnd(rangeOf(amount), free, takesRest);
    assertEquals(got, free.budgetMicroVnd >= amount ? amount : undefined);
  }));
});

Deno.test("calls at once share what is free: ten of one account begin on a little more than one worst case", () => {
  const range = { wantedMicroVnd: 1_062n, expectedMicroVnd: 8n, leastMicroVnd: 1n };
  let left = 1_200n;
  for (let call = 0; call < 10; call++) {
    const free = { ownMicroVnd: left, budgetMicroVnd: left, isAlone: call === 0 };
    const got = fittingMicroVnd(range, free, false);
    assert(got !== undefined, `call ${call} waits for ${left}`);
    left -= got;
  }
});

Deno.test("a range within a grant asks for no more than the grant", () => {
  fc.assert(fc.property(arbitraryRange, money, (range, granted) => {
    const { wantedMicroVnd, expectedMicroVnd, leastMicroVnd } = rangeWithin(range, granted);
    assert(wantedMicroVnd <= granted && expectedMicroVnd <= wantedMicroVnd);
    assert(leastMicroVnd <= expectedMicroVnd);
  }));
});
