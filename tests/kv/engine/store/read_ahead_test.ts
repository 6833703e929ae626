import { assert, assertEquals } from "../../../support/assert.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { readAhead } from "../../../../kv/engine/store/read_ahead.ts";

/** A store of numbered rows that records the size of each page and when it was requested. */
async function numberedRows(count: number, value: unknown) {
  const kv = await Deno.openKv(":memory:");
  for (let at = 0; at < count; at += 100) {
    const op = kv.atomic();
    for (let row = at; row < Math.min(count, at + 100); row++) op.set(["wallet", row], value);
    await op.commit();
  }
  const pages: number[] = [];
  const recorded: KeyValueStore = new Proxy<KeyValueStore>(kv, {
    get(target, property) {
      if (property !== "list") throw new Error(`unexpected ${String(property)}`);
      return (...[selector, options]: Parameters<KeyValueStore["list"]>) => {
        pages.push(options?.limit ?? 0);
        return target.list(selector, options);
      };
    },
  });
  return { kv: recorded, pages, [Symbol.dispose]: () => kv.close() };
}

Deno.test("rows are read in order, in pages that grow to the bound of one read", async () => {
  for (const count of [0, 1, 99, 100, 101, 1_100, 3_456]) {
    using store = await numberedRows(count, 1n);
    const keys: unknown[] = [];
    for await (const { key } of readAhead(store.kv, { prefix: ["wallet"] })) keys.push(key[1]);
    assertEquals(keys, Array.from({ length: count }, (_, at) => at));
    assert(store.pages.every((rows, at) => rows === (at === 0 ? 100 : 1_000)), store.pages.join());
    assertEquals(store.pages.length, count < 100 ? 1 : 2 + Math.floor((count - 100) / 1_000));
  }
});

Deno.test("pages of large rows stay small", async () => {
  using store = await numberedRows(1_000, "x".repeat(5_000));
  const rows = await Array.fromAsync(readAhead(store.kv, { prefix: ["wallet"] }));
  assertEquals(rows.length, 1_000);
  assert(store.pages.every((size) => size * 5_000 <= 1.1 * 1024 * 1024), store.pages.join());
});

Deno.test("the next page is under way before the reader asks for it, and only that one", async () => {
  using store = await numberedRows(5_000, 1n);
  for await (const { key } of readAhead(store.kv, { prefix: ["wallet"] })) {
    if (key[1] === 0) assertEquals(store.pages.length, 2);
    if (key[1] === 100) assertEquals(store.pages.length, 3);
    if (key[1] === 150) break;
  }
  assertEquals(store.pages.length, 3);
});
