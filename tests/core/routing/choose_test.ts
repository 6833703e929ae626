import { assert, assertEquals } from "../../support/assert.ts";
import * as fc from "../../support/property.ts";
import type { Route } from "../../../core/catalog/catalog.ts";
import { type Choice, formerFirst, orderRoutes } from "../../../core/routing/live_router.ts";

function choice(id: string, changes: Partial<Route> & { firstOutputMs?: number } = {}): Choice {
  const { firstOutputMs, ...route } = changes;
  return {
    route: {
      id,
      provider: "p",
      upstreamModel: id,
      style: "chat",
      region: undefined,
      priority: 0,
      weight: 1,
      countTokens: false,
      allow: new Set(),
      capabilities: {},
      ...route,
    },
    firstOutputMs,
    inFlight: 0,
  };
}

const options = { style: "chat", region: undefined, random: () => 0.5 } as const;
const ids = (routes: readonly Route[]) => routes.map((route) => route.id);

Deno.test("orderRoutes() orders by priority first", () => {
  const order = orderRoutes([
    choice("later", { priority: 1, firstOutputMs: 1 }),
    choice("first", { priority: 0, style: "messages", firstOutputMs: 900 }),
  ], options);
  assertEquals(ids(order), ["first", "later"]);
});

Deno.test("orderRoutes() prefers the own region, then the caller's style", () => {
  const order = orderRoutes([
    choice("far", { region: "eu" }),
    choice("converted", { region: "vn", style: "messages" }),
    choice("native", { region: "vn" }),
    choice("anywhere", {}),
  ], { ...options, region: "vn" });
  assertEquals(ids(order).slice(2), ["converted", "far"]);
  assertEquals(new Set(ids(order).slice(0, 2)), new Set(["native", "anywhere"]));
});

Deno.test("of two equal routes the quicker one is first", () => {
  const order = orderRoutes([
    choice("slow", { firstOutputMs: 900 }),
    choice("quick", { firstOutputMs: 100 }),
  ], options);
  assertEquals(ids(order), ["quick", "slow"]);
});

Deno.test("orderRoutes() keeps every route exactly once", () => {
  const choices = fc.array(
    fc.record({
      priority: fc.nat(2),
      weight: fc.double({ min: 0.1, max: 10, noNaN: true }),
      style: fc.constantFrom("chat" as const, "messages" as const),
      firstOutputMs: fc.option(fc.nat(1000), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 8 },
  ).map((list) =>
    list.map(({ firstOutputMs, ...route }, i) =>
      choice(`r${i}`, { ...route, ...(firstOutputMs === undefined ? {} : { firstOutputMs }) })
    )
  );
  fc.assert(
    fc.property(
      choices,
      fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
      (list, randoms) => {
        const order = orderRoutes(list, { ...options, random: () => randoms.next().value });
        assertEquals(
          ids(order).toSorted(),
          list.map(({ route }) => route.id).toSorted(),
        );
        const priorities = order.map((route) => route.priority);
        assertEquals(priorities, priorities.toSorted((a, b) => a - b));
      },
    ),
  );
});

Deno.test("weights decide the share of traffic among routes of equal speed", () => {
  const list = [
    choice("heavy", { weight: 3, firstOutputMs: 100 }),
    choice("light", { weight: 1, firstOutputMs: 100 }),
  ];
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  let heavy = 0;
  for (let i = 0; i < 1000; i++) {
    if (orderRoutes(list, { ...options, random })[0]?.id === "heavy") heavy++;
  }
  assert(heavy > 700, String(heavy));
});

Deno.test("the route of a conversation comes first: within a turn always, between turns within its priority", () => {
  const routes = [
    choice("a", { priority: 0 }),
    choice("b", { priority: 0 }),
    choice("c", { priority: 1 }),
  ].map(({ route }) => route);
  const order = (routeId: string, midTurn: boolean, out: readonly string[] = []) =>
    formerFirst(routes, { routeId, midTurn }, ({ id }) => !out.includes(id)).map(({ id }) => id);
  assertEquals(order("b", false), ["b", "a", "c"]);
  assertEquals(order("c", false), ["a", "b", "c"]);
  assertEquals(order("c", true), ["c", "a", "b"]);
  assertEquals(order("c", true, ["c"]), ["a", "b", "c"], "not while it is probed or hangs");
  assertEquals(order("c", false, ["a"]), ["c", "a", "b"], "nor is there a better one to return to");
  assertEquals(order("gone", true), ["a", "b", "c"]);
});

const measured = (id: string, region: string, connectMs: number | undefined, priority = 0) => ({
  ...choice(id, { region, priority, firstOutputMs: 100 }),
  connectMs,
});

Deno.test("orderRoutes() goes by measured distance where there is one, else by the labels", () => {
  const own = { ...options, region: "vn" };
  const mislabelled = [measured("label", "vn", 210), measured("near", "sg", 30)];
  assertEquals(ids(orderRoutes(mislabelled, own)), ["near", "label"]);
  const halfKnown = [measured("far", "us", undefined), measured("label", "vn", 30)];
  assertEquals(ids(orderRoutes(halfKnown, own)), ["label", "far"]);
  const alike = [measured("far", "us", 12), measured("label", "vn", 15)];
  assertEquals(ids(orderRoutes(alike, own)), ["label", "far"], "near is where it connects");
  const unknown = [measured("far", "us", undefined), measured("label", "vn", undefined)];
  assertEquals(ids(orderRoutes(unknown, own)), ["label", "far"]);
});

Deno.test("orderRoutes() puts no distance before the operator's priority, and none at all without a region", () => {
  const list = [measured("far", "us", 210), measured("near", "vn", 10, 1)];
  assertEquals(ids(orderRoutes(list, { ...options, region: "vn" })), ["far", "near"]);
  const equal = [measured("far", "us", 210), measured("near", "vn", 10)];
  const firsts = [0.1, 0.9].map((random) =>
    ids(orderRoutes(equal, { ...options, random: () => random }))[0]
  );
  assertEquals(new Set(firsts), new Set(["far", "near"]));
});
