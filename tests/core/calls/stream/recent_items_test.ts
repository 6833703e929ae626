import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { itemKeptMs, RecentItems } from "../../../../core/calls/request/recent_items.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { ManualTime } from "../../../support/manual_time.ts";

const item = (id: string, text = ""): JsonObject => ({ id, type: "message", content: text });

function isHeld(items: RecentItems, account: string, id: string): boolean {
  const { input } = items.resolved(account, { input: [{ type: "item_reference", id }] });
  return JSON.stringify(input) !== JSON.stringify([{ type: "item_reference", id }]);
}

Deno.test("an item is found by its account, for its time, as it was", () => {
  const time = new ManualTime(0);
  const items = new RecentItems(time);
  items.keep("a", item("msg_1", "hello"));
  const { input } = items.resolved("a", {
    input: [{ type: "item_reference", id: "msg_1" }, { role: "user", content: "go on" }],
  });
  assertEquals(input, [item("msg_1", "hello"), { role: "user", content: "go on" }]);
  assert(!isHeld(items, "b", "msg_1"), "another account sees nothing");
  assert(!isHeld(items, "a", "__proto__"));
  time.advance(itemKeptMs + 1);
  assert(!isHeld(items, "a", "msg_1"), "its time is over");
});

Deno.test("what is kept never passes its bounds, and the newest item of an account is always there", () => {
  const bounds = { totalChars: 4_000, accountChars: 1_000 };
  fc.assert(fc.property(
    fc.array(fc.record({
      account: fc.constantFrom("a", "b", "c", "d", "e", "f", "g"),
      id: fc.integer({ min: 0, max: 9 }).map((number) => `msg_${number}`),
      length: fc.integer({ min: 0, max: 900 }),
      waitMs: fc.constantFrom(0, 0, 0, itemKeptMs / 2),
    })),
    (steps) => {
      const time = new ManualTime(0);
      const items = new RecentItems(time, bounds);
      for (const { account, id, length, waitMs } of steps) {
        time.advance(waitMs);
        items.keep(account, item(id, "x".repeat(length)));
        assert(items.chars <= bounds.totalChars, `${items.chars}`);
        assert(isHeld(items, account, id));
      }
    },
  ));
});
