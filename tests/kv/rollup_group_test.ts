import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import { newId } from "../../core/ids.ts";
import { limits } from "../../core/limits.ts";
import { chunkGroups, groupReceipts } from "../../kv/rollup_group.ts";
import { addReceipts, addUsage, noUsage } from "../../kv/rollups.ts";
import { newAccount, receiptOf } from "../support/money_world.ts";

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
        assert(size > 0 && size <= limits.indexReceiptsPerCommit);
        assert(chunk.length <= limits.rollupRowsPerCommit);
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
