import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { type BufferedBytes, ByteBudget } from "../../../../core/lib/bytes/byte_budget.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";

const bounds = { total: 100, perOwner: 60 };

/** A holder and the number of bytes that it must have. */
class Witnessed {
  bytes = 0;
  released = false;
  readonly pending: PromiseWithResolvers<void>[] = [];
  readonly owner: string;
  readonly buffered: BufferedBytes;

  constructor(budget: ByteBudget, owner: string) {
    this.owner = owner;
    this.buffered = budget.open(owner);
  }

  settle(): void {
    if (this.released && this.pending.length === 0) this.bytes = 0;
  }
}

const step = fc.oneof(
  fc.record({ kind: fc.constant("take"), of: fc.nat(5), bytes: fc.nat(70) }),
  fc.record({ kind: fc.constantFrom("release", "keep", "over", "fail"), of: fc.nat(5) }),
);

function sumOf(holders: readonly Witnessed[], owner?: string): number {
  return holders.reduce(
    (sum, holder) => sum + (owner === undefined || holder.owner === owner ? holder.bytes : 0),
    0,
  );
}

function takes(buffered: BufferedBytes, bytes: number): boolean {
  try {
    buffered.take(bytes);
    return true;
  } catch (error) {
    assert(error instanceof GatewayError && error.code === "busy");
    assert(error.status === 503 && error.retry && (error.retryAfterSeconds ?? 0) > 0);
    return false;
  }
}

Deno.test("takes and returns in any order keep an exact count, within bounds, and 0 at the end", async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
    const budget = new ByteBudget(bounds);
    const holders = ["a", "a", "b", "b", "c", "c"].map((owner) => new Witnessed(budget, owner));
    for (const one of steps) {
      const holder = holders[one.of]!;
      if ("bytes" in one) {
        const own = sumOf(holders, holder.owner);
        const leftByOthers = bounds.total - (sumOf(holders) - own);
        const share = bounds.perOwner / bounds.total * leftByOthers;
        const fits = own + one.bytes <= share + 1e-9;
        assertEquals(takes(holder.buffered, one.bytes), fits);
        if (fits) {
          holder.bytes += one.bytes;
          holder.released = false;
        }
      } else if (one.kind === "release") {
        holder.buffered.release();
        holder.released = true;
      } else if (one.kind === "keep") {
        const over = Promise.withResolvers<void>();
        holder.pending.push(over);
        holder.buffered.keepUntil(over.promise);
      } else {
        const over = holder.pending.pop();
        if (one.kind === "over") over?.resolve();
        else over?.reject(new Error("the call failed"));
        await Promise.resolve();
        await Promise.resolve();
      }
      holder.settle();
      assertEquals(budget.usedBytes, sumOf(holders));
    }
    for (const { buffered, pending } of holders) {
      buffered.release();
      for (const over of pending) over.resolve();
    }
    await Promise.resolve();
    await Promise.resolve();
    assertEquals([budget.usedBytes, budget.owners], [0, 0]);
  }));
});

Deno.test("any number of owners that want everything get equal shares, and the next finds as much free", () => {
  const total = 1_200;
  for (const count of [1, 2, 3, 5, 11]) {
    const budget = new ByteBudget({ total, perOwner: total / 2 });
    const owners = Array.from({ length: count }, (_, i) => budget.open(`acc_${i}`));
    // Each takes one byte in turn, so that no owner has an advantage.
    while (owners.map((owner) => owner.tryTake(1)).includes(true));
    for (const { bytes } of owners) {
      assert(Math.abs(bytes - total / (count + 1)) <= 1, `${count} owners: ${bytes}`);
    }
    assert(budget.open("acc_new").tryTake(Math.floor((total - budget.usedBytes) / 2) - 1));
  }
});
