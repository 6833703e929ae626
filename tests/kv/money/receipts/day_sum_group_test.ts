import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  chunkGroups,
  DaySumGroup,
  daySumsPerCommit,
  groupReceipts,
  indexReceiptsPerCommit,
  takeChunk,
} from "../../../../kv/money/receipts/day_sum_group.ts";
import {
  addReceipts,
  addUsage,
  daySumCell,
  noUsage,
} from "../../../../kv/money/receipts/day_sums.ts";
import { newAccount, receiptOf } from "../../../support/worlds/money_world.ts";

const accounts = [newAccount(), newAccount(), newAccount()] as const;

const receipt = (account: number, model: number) =>
  receiptOf(accounts[account] ?? accounts[0], {
    requestId: newId("request", 0),
    model: `model-${model}`,
  });

Deno.test("chunks hold every receipt once, fit a commit, and name no day sum twice", () => {
  const cell = fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 6 }), fc.nat({ max: 700 }));
  fc.assert(
    fc.property(fc.array(cell, { maxLength: 8 }), (cells) => {
      const receipts = cells.flatMap(([account, model, count]) =>
        Array.from({ length: count }, () => receipt(account, model))
      );
      const chunks = chunkGroups(groupReceipts(receipts));
      for (const chunk of chunks) {
        const size = chunk.reduce((sum, { requestIds }) => sum + requestIds.length, 0);
        assert(size > 0 && size <= indexReceiptsPerCommit);
        assert(chunk.length <= daySumsPerCommit);
        assertEquals(new Set(chunk.map(({ id }) => id)).size, chunk.length);
      }
      const ids = chunks.flat().flatMap(({ requestIds }) => requestIds);
      assertEquals(ids.toSorted(), receipts.map(({ requestId }) => requestId).toSorted());
      const sum = chunks.flat().reduce((total, group) => addUsage(total, group.sum), noUsage);
      assertEquals(sum, addReceipts(noUsage, receipts));
    }),
    { numRuns: 60 },
  );
});

/** A group as the index queue has it, also after a failed attempt. */
function groupOf(model: number, count: number): DaySumGroup {
  const group = new DaySumGroup(daySumCell(receipt(0, model)));
  for (let at = 0; at < count; at++) group.add(receipt(0, model));
  return group;
}

/** Returns how many groups one commit takes, and what remains on the list. */
function taken(groups: DaySumGroup[]): number[] {
  const order = [...groups];
  const chunk = takeChunk(groups);
  assertEquals([...chunk, ...groups], order, "taken from the front, and nothing lost");
  return [chunk.length, groups.length];
}

Deno.test("a commit of the index takes as many day sums as it may check, and not one more", () => {
  const groups = Array.from({ length: daySumsPerCommit + 3 }, (_, at) => groupOf(at, 1));
  assertEquals(taken(groups), [daySumsPerCommit, 3]);
  assertEquals(taken(groups), [3, 0]);
  assertEquals(taken(groups), [0, 0]);
});

Deno.test("a commit of the index takes as many receipts as it may, and not one more", () => {
  const most = indexReceiptsPerCommit;
  assertEquals(taken([groupOf(0, most)]), [1, 0]);
  assertEquals(taken([groupOf(0, most - 200), groupOf(1, 200), groupOf(2, 1)]), [2, 1]);
  assertEquals(taken([groupOf(0, most - 200), groupOf(1, 201), groupOf(2, 1)]), [1, 2]);
});

Deno.test("a day sum that waits twice, since a try failed, goes in two commits", () => {
  assertEquals(taken([groupOf(0, 2), groupOf(1, 2), groupOf(0, 2), groupOf(2, 2)]), [2, 2]);
});
