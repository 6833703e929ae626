import { assertEquals } from "../../../support/assert.ts";
import { takeFitting } from "../../../../kv/engine/store/bounded_search.ts";

/** Numbers from 0, as rows; counts how many were read. */
function numbers(count: number) {
  let read = 0;
  const rows = (async function* () {
    for (let value = 0; value < count; value++) {
      read++;
      yield await Promise.resolve({ value });
    }
  })();
  return { rows, read: () => read };
}

const isSeventh = (value: number) => value % 7 === 6;

Deno.test("a search ends with its page, at the end of the rows, or after as many as it may read", async () => {
  const ends: readonly (readonly [number, number, number, unknown])[] = [
    // Rows, wanted, bound of reading; what is found.
    [100, 2, 50, { rows: [6, 13], next: 13 }],
    [100, 2, 10, { rows: [6], next: 9 }],
    [100, 2, 5, { rows: [], next: 4 }],
    [14, 2, 50, { rows: [6, 13], next: undefined }],
    [10, 2, 10, { rows: [6], next: undefined }],
    [0, 2, 10, { rows: [], next: undefined }],
  ];
  for (const [count, wanted, maxRead, expected] of ends) {
    const { rows, read } = numbers(count);
    const found = await takeFitting(rows, { count: wanted, fits: isSeventh, maxRead });
    assertEquals(found, expected, `${count} rows, ${wanted} wanted, ${maxRead} read`);
    assertEquals(read() <= maxRead + 1, true, "it read further than it may");
  }
});
