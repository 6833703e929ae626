/** Which connections give their place to new ones. */
import { assertEquals } from "../../../support/assert.ts";
import { connectionsToEvict, type Evictable } from "../../../../routes/server/http1/eviction.ts";

let since = 0;
const of = (remoteHost: string, awaits: Evictable["awaits"]): Evictable => ({
  remoteHost,
  awaits,
  awaitsSince: ++since,
});
const many = (count: number, remoteHost: string, awaits: Evictable["awaits"]) =>
  Array.from({ length: count }, () => of(remoteHost, awaits));

Deno.test("the oldest unfinished head goes first, then idle connections, a first byte last", () => {
  const first = of("1.1.1.1", "first_byte");
  const idle = of("1.1.1.1", "next_request");
  const served = of("1.1.1.1", undefined);
  const old = of("2.2.2.2", "head");
  const young = of("3.3.3.3", "head");
  const left = new Set([young, first, served, idle, old]);
  const order: Evictable[] = [];
  for (let next = connectionsToEvict(left); next.length > 0; next = connectionsToEvict(left)) {
    assertEquals(next.length, 1);
    order.push(...next);
    for (const one of next) left.delete(one);
  }
  assertEquals(order, [old, young, idle, first]);
  assertEquals([...left], [served]);
});

Deno.test("an address beyond its share loses its connections, even silent ones, before others", () => {
  const older = [...many(3, "2001:db8:9:9::1", "head"), ...many(5, "4.4.4.4", "next_request")];
  // One household has many addresses.
  const greedy = Array.from(
    { length: 400 },
    (_, i) => of(`2001:db8:1:2::${i}`, i % 2 === 0 ? "head" : "first_byte"),
  );
  const good = of("5.5.5.5", "first_byte");
  const left = new Set([...older, ...greedy, good]);
  let evicted = 0;
  while (left.size > older.length + 1 + 16) {
    for (const one of connectionsToEvict(left)) {
      if (left.size <= older.length + 1 + 16) break;
      assertEquals(one.remoteHost.startsWith("2001:db8:1:2:"), true);
      left.delete(one);
      evicted++;
    }
  }
  assertEquals(evicted, 400 - 16);
});

Deno.test("of one address's own connections the newest, whose first byte is on its way, is the last", () => {
  const silent = many(100, "1.1.1.1", "first_byte");
  const good = of("1.1.1.1", "first_byte");
  const chosen = connectionsToEvict(new Set([good, ...silent]));
  assertEquals(chosen, silent.slice(0, chosen.length));
});
