import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { buildCatalog, type Model, type Route } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { type ErrorCode, GatewayError } from "../../../core/lib/errors/errors.ts";
import {
  breakerConsecutiveFailures,
  breakerPauseMs,
} from "../../../core/routing/health/breaker.ts";
import { minStuckAttempts } from "../../../core/routing/health/route_health.ts";
import { breakerPauseMaxMs } from "../../../core/routing/health/limits.ts";
import { credentialRestMs } from "../../../core/routing/health/credentials.ts";
import { LimitedCustomers } from "../../../core/routing/health/limited_customers.ts";
import { hedgeMinSamples, noRouteError, probeHedgeMs } from "../../../core/routing/timeouts.ts";
import type { RouteWish } from "../../../core/calls/request/route_preferences.ts";
import { LiveRouter } from "../../../core/routing/live_router.ts";
import { operations, type RouteEvent } from "../../../core/routing/contract/router.ts";
import { ManualTime } from "../../support/manual_time.ts";

const operation = "chat_stream";

function newRouter(
  options: { hedge?: boolean; routes?: readonly string[]; keys?: number } = {},
) {
  const names = options.routes ?? ["a", "b"];
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "m",
    providers: Object.fromEntries(
      names.map((name) => [name, {
        kind: "http",
        baseUrl: `https://${name}.example`,
        apiKeyEnv: "KEY",
      }]),
    ),
    models: [{
      id: "m",
      kind: "chat",
      family: "f",
      price: { unit: "request", vnd: 1 },
      hedge: options.hedge ?? false,
      routes: names.map((provider, priority) => ({ provider, priority })),
    }],
  }));
  if (!built.ok) throw new Error(built.problems.join());
  const { catalog } = built;
  const time = new ManualTime();
  const events: RouteEvent[] = [];
  const switches: Record<string, "disabled" | "draining"> = {};
  const router = new LiveRouter({
    catalog,
    providerKeys: Object.fromEntries(
      names.map((name) => [
        name,
        Array.from({ length: options.keys ?? 2 }, (_, at) => `${name}-${at + 1}`),
      ]),
    ),
    transportOf: () => ({
      open: () => ({ response: Promise.withResolvers<never>().promise, cancel: () => {} }),
    }),
    clock: time,
    deadlines: new Deadlines({ clock: time, timer: time }),
    random: () => 0.5,
    region: undefined,
    switchOf: (id) => switches[id],
    onEvent: (event) => events.push(event),
  });
  const model = catalog.models[0]!;
  const route = (name: string): Route => model.routes.find(({ provider }) => provider === name)!;
  const candidates = () =>
    router.candidates(model, { style: "chat", operation }).map(({ provider }) => provider);
  function fail(name: string, code: ErrorCode = "upstream_unreachable", seconds?: number): void {
    router.begin(route(name), operation);
    const error = new GatewayError(
      code,
      "as the test wants it",
      seconds === undefined ? {} : { retryAfterSeconds: seconds },
    );
    router.report(model, route(name), operation, { kind: "failed", ms: 0, error });
  }
  function succeed(name: string, ms = 100): void {
    router.begin(route(name), operation);
    time.advance(ms);
    router.report(model, route(name), operation, { kind: "ok", ms });
  }
  return { router, model, route, candidates, fail, succeed, time, events, switches };
}

function times(count: number, run: () => void): void {
  for (let i = 0; i < count; i++) run();
}

Deno.test("a route that fails leaves the candidates, is announced once, and comes back by a probe", () => {
  const { candidates, fail, succeed, events, time } = newRouter();
  times(breakerConsecutiveFailures, () => fail("a"));
  assertEquals(candidates(), ["b"]);
  assertEquals(events, [{
    route: "a/m",
    operation,
    state: "open",
    reason: "upstream_unreachable",
  }]);
  time.advance(breakerPauseMs);
  assertEquals(candidates(), ["a", "b"]);
  succeed("a");
  assertEquals(events.map(({ state }) => state), ["open", "closed"]);
});

Deno.test("a caller's order and figure arrange the routes that are well, and reach no other", () => {
  const { router, model, route, succeed, fail } = newRouter({ routes: ["a", "b", "c"] });
  const wished = (wish: RouteWish) =>
    router.candidates(model, { style: "chat", operation, wish }).map(({ provider }) => provider)
      .join("");
  assertEquals([wished({}), wished({ order: ["c", "a"] })], ["abc", "cab"]);
  assertEquals(wished({ sort: "latency" }), "abc", "nothing is measured yet");
  succeed("a", 900);
  succeed("c", 100);
  router.noteThroughput(route("c"), operation, 10, 1_000);
  router.noteThroughput(route("b"), operation, 500, 1_000);
  assertEquals([wished({ sort: "latency" }), wished({ sort: "throughput" })], ["cab", "bca"]);
  assertEquals(wished({ sort: "price" }), "abc", "all routes of a model have one price");
  assertEquals(wished({ order: ["a"], sort: "latency" }), "acb");
  times(breakerConsecutiveFailures, () => fail("c"));
  assertEquals(wished({ order: ["c"], sort: "throughput" }), "ba");
});

Deno.test("health is kept per operation", () => {
  const { router, model, fail } = newRouter();
  times(breakerConsecutiveFailures, () => fail("a"));
  const providers = router.candidates(model, { style: "chat", operation: "chat" });
  assertEquals(providers.map(({ provider }) => provider), ["a", "b"]);
});

const harmless: readonly ErrorCode[] = [
  "invalid_request",
  "request_too_large",
  "content_policy_violation",
  "context_length_exceeded",
  "conversion_refused",
  "not_found",
  "internal_error",
];

for (const code of harmless) {
  Deno.test(`${code} never harms a route, however often`, () => {
    const { candidates, fail, events, router } = newRouter();
    times(100, () => fail("a", code));
    assertEquals(candidates(), ["a", "b"]);
    assertEquals(events, []);
    assertEquals(router.reports()[0]!.operations[operation]?.inFlight, 0);
  });
}

Deno.test("stopped calls do not affect the health of a route", () => {
  const { router, model, route, candidates } = newRouter();
  times(100, () => {
    router.begin(route("a"), operation);
    router.report(model, route("a"), operation, { kind: "stopped", ms: 5 });
  });
  assertEquals(candidates(), ["a", "b"]);
  assertEquals(router.reports()[0]!.operations[operation]?.inFlight, 0);
});

Deno.test("when all routes rest the one that is due first gets a last attempt", () => {
  const { candidates, fail, time } = newRouter();
  times(breakerConsecutiveFailures, () => fail("b"));
  time.advance(100);
  times(breakerConsecutiveFailures, () => fail("a"));
  assertEquals(candidates(), ["b"]);
});

Deno.test("when providers asked for the pause there is no last attempt but a 429 with the soonest retry-after", () => {
  const { router, model, route, candidates, fail } = newRouter();
  for (const [name, seconds] of [["a", 30], ["b", 12]] as const) {
    for (let key = 0; key < 2; key++) {
      const access = router.begin(route(name), operation);
      access.onStatus(429, seconds);
      router.report(model, route(name), operation, { kind: "stopped", ms: 0 });
    }
    fail(name, "rate_limit_exceeded", seconds);
  }
  assertEquals(candidates(), []);
  const error = noRouteError(router, model, operation);
  assertEquals([error.status, error.retryAfterSeconds], [429, 12]);
});

Deno.test("a rate limit with another key left is that key's, not the route's", () => {
  const { router, model, route, candidates } = newRouter();
  const access = router.begin(route("a"), operation);
  access.onStatus(429, 30);
  assert(access.mayRepeat());
  const error = new GatewayError("rate_limit_exceeded", "slow down", { retryAfterSeconds: 30 });
  router.report(model, route("a"), operation, { kind: "failed", ms: 0, error });
  assertEquals(candidates(), ["a", "b"]);
  assertEquals(router.begin(route("a"), operation).secret, "a-2");
});

Deno.test("a refused key rests, and the others are used in turn", () => {
  const { router, route, time } = newRouter();
  const secrets = () => router.access(route("a")).secret;
  assertEquals([secrets(), secrets(), secrets()], ["a-1", "a-2", "a-1"]);
  const access = router.access(route("a"));
  assertEquals(access.secret, "a-2");
  access.onStatus(401, undefined);
  assertEquals([secrets(), secrets()], ["a-1", "a-1"]);
  assertEquals(router.reports()[0]!.credentials, {
    count: 2,
    resting: 1,
    reasons: ["status 401"],
  });
  time.advance(credentialRestMs);
  assertEquals(new Set([secrets(), secrets()]), new Set(["a-1", "a-2"]));
});

Deno.test("routes that operators switched off are not candidates; without any other the model is out of service", () => {
  const { router, model, candidates, switches } = newRouter();
  switches["a/m"] = "disabled";
  assertEquals(candidates(), ["b"]);
  switches["b/m"] = "draining";
  assertEquals(candidates(), []);
  assertEquals(noRouteError(router, model, operation).status, 503);
  assertEquals(router.status(model).state, "down");
});

Deno.test("only chat streams are hedged: other calls would be completed, and charged to us, twice", () => {
  const { router, model, route } = newRouter({ hedge: true });
  for (const other of operations) {
    const hedge = router.hedge(model, other, route("a"));
    assertEquals(hedge !== undefined, other === "chat_stream", other);
  }
});

Deno.test("a probe that is tried first gets a second route beside it, without hedging for the model", () => {
  const { router, model, route, fail, succeed, time } = newRouter();
  assert(router.hedge(model, operation, route("a"))?.when?.() === false, "only if it hangs");
  succeed("a", 3_000);
  times(breakerConsecutiveFailures, () => fail("a"));
  time.advance(breakerPauseMs);
  const hedge = router.hedge(model, operation, route("a"));
  assertEquals(hedge, { afterMs: 6_000 }, "twice its good days, whatever happens");
  assert(router.hedge(model, operation, route("b"))?.when !== undefined);
});

Deno.test("a stuck route is skipped before anything has failed, and its calls get a second route", () => {
  const { router, model, route, candidates, succeed, events, time } = newRouter();
  succeed("a", 500);
  const hedge = router.hedge(model, operation, route("a"));
  times(minStuckAttempts, () => void router.begin(route("a"), operation));
  time.advance(2_000);
  assertEquals(
    [candidates(), hedge?.when?.()],
    [["a", "b"], false],
    "four times the usual is fine",
  );
  time.advance(1);
  assertEquals([candidates(), hedge?.when?.()], [["b", "a"], true]);
  assertEquals(router.reports()[0]!.operations[operation]?.stuck, true);
  times(minStuckAttempts, () => {
    router.report(model, route("a"), operation, { kind: "beaten", ms: 2_001 });
  });
  assertEquals(events.map(({ state, reason }) => [state, reason]), [["open", "stuck"]]);
});

Deno.test("a stuck route is tried again after a minute, and one answer restores it", () => {
  const { router, model, route, candidates, time } = newRouter();
  times(minStuckAttempts, () => void router.begin(route("a"), operation));
  time.advance(breakerPauseMaxMs);
  assertEquals(candidates(), ["b", "a"]);
  time.advance(1);
  assertEquals(candidates(), ["a", "b"]);
  router.begin(route("a"), operation);
  assertEquals(candidates(), ["b", "a"], "one try");
  time.advance(100);
  router.report(model, route("a"), operation, { kind: "ok", ms: 100 });
  assertEquals(candidates(), ["a", "b"]);
});

Deno.test("a few slow calls do not make a route stuck", () => {
  const { router, route, candidates, time } = newRouter();
  times(minStuckAttempts - 1, () => void router.begin(route("a"), operation));
  time.advance(25_000);
  assertEquals(candidates(), ["a", "b"]);
});

Deno.test("hedging waits for enough measurements, and hedged calls do not lower its delay", () => {
  const { router, model, route, succeed } = newRouter({ hedge: true });
  times(hedgeMinSamples - 1, () => succeed("a", 100));
  assert(router.hedge(model, operation, route("a"))?.when !== undefined);
  // Calls take from 0.1 to 1 s. Past the 95th percentile they are beaten by another route.
  let hedges = 0;
  const calls = 2_000;
  for (let i = 0; i < calls; i++) {
    const tookMs = 100 + (i * 37) % 900;
    const afterMs = router.hedge(model, operation, route("a"))?.afterMs;
    router.begin(route("a"), operation);
    if (afterMs === undefined || tookMs <= afterMs) {
      router.report(model, route("a"), operation, { kind: "ok", ms: tookMs });
      continue;
    }
    hedges++;
    router.begin(route("b"), operation);
    router.report(model, route("b"), operation, { kind: "ok", ms: 100 });
    router.report(model, route("a"), operation, { kind: "beaten", ms: afterMs + 100 });
  }
  assert(hedges < calls * 0.1, `${hedges} of ${calls} calls were hedged`);
});

Deno.test("the public status: up, degraded while one of several rests, down when all do", () => {
  const { router, model, fail, time } = newRouter();
  const state = (of: Model = model) => router.status(of).state;
  assertEquals(state(), "up");
  times(breakerConsecutiveFailures, () => fail("a"));
  assertEquals(state(), "degraded");
  times(breakerConsecutiveFailures, () => fail("b"));
  assertEquals(state(), "down");
  time.advance(breakerPauseMaxMs);
  assertEquals(state(), "degraded", "nothing is known of now; it may work again");
});

Deno.test("the status is up when the missing route was switched off by an operator", () => {
  const { router, model, switches } = newRouter();
  switches["a/m"] = "disabled";
  assertEquals(router.status(model).state, "up");
});

Deno.test("reports contain no secret", () => {
  const { router, fail } = newRouter();
  fail("a");
  assert(!JSON.stringify(router.reports()).includes("a-1"));
});

Deno.test("a route that loses in silence, call after call, leaves the candidates; one that pinged does not", () => {
  for (const silent of [true, false]) {
    const { router, model, route, candidates } = newRouter();
    times(breakerConsecutiveFailures, () => {
      router.begin(route("a"), operation);
      router.report(model, route("a"), operation, { kind: "beaten", ms: 31_000, silent });
    });
    assertEquals(candidates(), silent ? ["b"] : ["a", "b"]);
  }
});

Deno.test("a route rests after the third false report within ten minutes", () => {
  const { router, route, candidates, succeed, events, time } = newRouter();
  const minute = 60_000;
  router.noteFalseReport(route("a"));
  time.advance(9 * minute);
  router.noteFalseReport(route("a"));
  time.advance(2 * minute);
  router.noteFalseReport(route("a"));
  assertEquals(candidates(), ["a", "b"]);
  time.advance(minute);
  router.noteFalseReport(route("a"));
  assertEquals(candidates(), ["b"]);
  assertEquals(
    events.map(({ route, operation, state, reason }) => [route, operation, state, reason]),
    ["chat", "chat_stream"].map((operation) => ["a/m", operation, "open", "false_reports"]),
  );
  time.advance(minute);
  assertEquals(candidates(), ["a", "b"]);
  succeed("a");
  router.noteFalseReport(route("a"));
  assertEquals(candidates(), ["b"]);
});

/** A model with one route of one key, and the customers who call it. */
function newLimitedRouter(keys = 1) {
  const { router, model, route, time, events } = newRouter({ routes: ["a"], keys });
  const a = route("a");
  return {
    time,
    events,
    canCall: (customer: string) =>
      router.candidates(model, { style: "chat", operation, customer }).length === 1,
    waitSeconds: (customer: string) =>
      noRouteError(router, model, operation, customer)
        .retryAfterSeconds,
    limit(customer: string, seconds = 30): void {
      const access = router.begin(a, operation);
      access.onStatus(429, seconds);
      const error = new GatewayError("rate_limit_exceeded", "slow down", {
        retryAfterSeconds: seconds,
      });
      router.report(model, a, operation, { kind: "failed", ms: 0, error }, customer);
    },
    succeed(customer: string): void {
      router.begin(a, operation).onStatus(200, undefined);
      time.advance(5);
      router.report(model, a, operation, { kind: "ok", ms: 5 }, customer);
    },
  };
}

Deno.test("one rate limit rests the customer who met it, not the others", () => {
  const { canCall, limit, time, events, succeed } = newLimitedRouter();
  limit("x");
  assertEquals([canCall("x"), canCall("y")], [false, true]);
  time.advance(1_000);
  assert(canCall("x"), "a call finds out soon");
  limit("x");
  time.advance(1_999);
  assertEquals([canCall("x"), canCall("y")], [false, true]);
  time.advance(1);
  assert(canCall("x"), "later each time");
  for (let i = 0; i < 10; i++) {
    time.advance(30_000);
    limit("x");
  }
  assertEquals([events, canCall("y")], [[], true], "whatever one customer does");
  succeed("x");
  assert(canCall("x"));
});

Deno.test("rate limits of several customers rest the route, which a probe frees again", () => {
  const { canCall, limit, waitSeconds, time, events, succeed } = newLimitedRouter();
  limit("x");
  limit("y");
  assertEquals(events.map(({ state }) => state), ["open"]);
  assertEquals([canCall("z"), waitSeconds("z")], [false, 30]);
  time.advance(1_000);
  assert(canCall("z"), "a probe");
  succeed("z");
  assertEquals(events.map(({ state }) => state), ["open", "closed"]);
  assertEquals([canCall("z"), canCall("w")], [true, true]);
});

Deno.test("a customer who wears out one key after another rests no route", () => {
  const { canCall, limit, time, events } = newLimitedRouter(12);
  for (let round = 0; round < 10; round++) {
    for (let call = 0; call < 12; call++) {
      limit("x");
      assert(canCall("y"), `call ${call} of round ${round}`);
    }
    assert(!canCall("x"), "it rests itself when no key is left");
    time.advance(60_000);
  }
  assertEquals(events, []);
});

/** A key of a provider that answers so many calls in any second, and customers who call it. */
class Flood {
  readonly #world = newRouter({ routes: ["a"], keys: 1 });
  #started: number[] = [];
  readonly events = this.#world.events;

  /** Lets customers make so many calls a second; returns the share of each that was served, and how many those were. */
  run(seconds: number, allowedPerSecond: number, rates: Readonly<Record<string, number>>) {
    const { router, model, route, time } = this.#world;
    const counts = new Map<string, { asked: number; served: number }>();
    for (let ms = 0; ms < seconds * 1_000; ms++) {
      time.advance(1);
      this.#started = this.#started.filter((atMs) => atMs > time.nowMs() - 1_000);
      for (const [customer, rate] of Object.entries(rates)) {
        if (ms % Math.round(1_000 / rate) !== 0) continue;
        const count = counts.get(customer) ?? { asked: 0, served: 0 };
        counts.set(customer, count);
        count.asked++;
        if (router.candidates(model, { style: "chat", operation, customer }).length === 0) continue;
        const isAllowed = this.#started.length < allowedPerSecond;
        router.begin(route("a"), operation).onStatus(
          isAllowed ? 200 : 429,
          isAllowed ? undefined : 1,
        );
        if (isAllowed) {
          this.#started.push(time.nowMs());
          count.served++;
        }
        const error = new GatewayError("rate_limit_exceeded", "slow", { retryAfterSeconds: 1 });
        const result = isAllowed
          ? { kind: "ok", ms: 0 } as const
          : { kind: "failed", ms: 0, error } as const;
        router.report(model, route("a"), operation, result, customer);
      }
    }
    return {
      served: (customer: string) => counts.get(customer)?.served ?? 0,
      share: (customer: string) => {
        const { asked, served } = counts.get(customer) ?? { asked: 1, served: 0 };
        return served / asked;
      },
    };
  }
}

Deno.test("one customer who floods a provider's key is limited, and the others are served", () => {
  const flood = new Flood();
  const before = flood.run(60, 20, { calm: 2, other: 3 });
  assertEquals([before.share("calm"), before.share("other")], [1, 1]);
  const during = flood.run(120, 20, { flooding: 500, calm: 2, other: 3 });
  assert(during.share("calm") > 0.9, `calm ${during.share("calm")}`);
  assert(during.share("other") > 0.9, `other ${during.share("other")}`);
  assert(during.served("flooding") > 120 * 5, `flooding ${during.served("flooding")}`);
  assertEquals(flood.events, [], "the route does not rest");
});

Deno.test("several who flood a key are each limited, and the calm ones are served", () => {
  const flood = new Flood();
  const { share, served } = flood.run(120, 30, {
    one: 200,
    two: 300,
    three: 100,
    calm: 2,
    other: 3,
  });
  assert(share("calm") > 0.8, `calm ${share("calm")}`);
  assert(share("other") > 0.8, `other ${share("other")}`);
  for (const name of ["one", "two", "three"]) assert(served(name) > 120, `${name} ${served(name)}`);
});

Deno.test("a customer who stops flooding gets all of its calls again", () => {
  const flood = new Flood();
  flood.run(60, 20, { flooding: 500, calm: 2 });
  flood.run(30, 20, { flooding: 5, calm: 2 });
  const later = flood.run(60, 20, { flooding: 5, calm: 2 });
  assertEquals([later.share("flooding"), later.share("calm")], [1, 1]);
  // A minute without a limit has forgotten the pace.
  const burst = flood.run(1, 1_000, { flooding: 500 });
  assertEquals(burst.share("flooding"), 1);
});

Deno.test("a key that allows nothing any more rests the route, whoever was heavy before", () => {
  const flood = new Flood();
  flood.run(60, 20, { flooding: 500, calm: 2, other: 3 });
  flood.run(10, 0, { flooding: 500, calm: 2, other: 3 });
  assertEquals(flood.events[0]?.state, "open");
  const after = flood.run(60, 20, { calm: 2, other: 3 });
  assert(after.share("calm") > 0.9, `calm ${after.share("calm")}`);
});

Deno.test("a call that works between two rate limits shows that they are not everyone's", () => {
  const { canCall, limit, time, succeed } = newLimitedRouter();
  limit("x");
  time.advance(10);
  succeed("z");
  time.advance(10);
  limit("y");
  assert(canCall("z"));
});

Deno.test("the table of limited customers is bounded", () => {
  const limited = new LimitedCustomers();
  for (let i = 0; i < 5_000; i++) limited.refused(`c${i}`, 60_000, i);
  assertEquals(limited.size, 1_000);
});

Deno.test("the status follows what callers get: past failures do not stay", () => {
  const { router, model, fail, time } = newRouter();
  const state = () => router.status(model).state;
  const failure = new GatewayError("upstream_unreachable", "as the test wants it");
  times(6, () => {
    fail("a");
    fail("b");
    router.called(model, operation, failure);
  });
  assertEquals(state(), "down");
  router.called(model, operation, undefined);
  assertEquals(state(), "degraded");
  times(50, () => {
    time.advance(1_000);
    router.called(model, operation, undefined);
  });
  assertEquals(state(), "up", "whatever the breaker of an unused route says");
});

Deno.test("errors of callers, and rate limits of one of them, do not affect the status of the model", () => {
  const { router, model } = newRouter();
  for (const code of ["invalid_request", "rate_limit_exceeded"] as const) {
    times(10, () => router.called(model, operation, new GatewayError(code, "no")));
  }
  assertEquals(router.status(model).state, "up");
});

Deno.test("an overdue probe of a fallback goes to a first message, with a second route beside it", () => {
  const { router, model, route, candidates, fail, time } = newRouter();
  times(breakerConsecutiveFailures, () => fail("b"));
  time.advance(breakerPauseMs);
  assertEquals(candidates(), ["a", "b"], "calls may come that far by themselves");
  time.advance(30_000);
  const wanted = { style: "chat", operation } as const;
  const former = { routeId: "a/m", midTurn: true };
  assertEquals(router.candidates(model, { ...wanted, former })[0]?.provider, "a");
  assertEquals(router.candidates(model, { style: "chat", operation: "chat" })[0]?.provider, "a");
  assertEquals(candidates(), ["b", "a"]);
  assertEquals(router.hedge(model, operation, route("b")), { afterMs: probeHedgeMs });
  router.begin(route("b"), operation);
  assertEquals(candidates(), ["a"], "one at a time");
  time.advance(100);
  router.report(model, route("b"), operation, { kind: "ok", ms: 100 });
  assertEquals(candidates(), ["a", "b"]);
});

Deno.test("a breaker that is never probed closes after a while, and one failure opens it again", () => {
  const { router, model, fail, time } = newRouter();
  times(breakerConsecutiveFailures, () => fail("b"));
  assertEquals(router.status(model).state, "degraded");
  time.advance(16 * 60_000);
  assertEquals(router.status(model).state, "up");
  assertEquals(router.reports()[1]?.operations[operation]?.state, "closed");
  fail("b");
  assertEquals(router.reports()[1]?.operations[operation]?.state, "open");
});

Deno.test("a conversation has one key in every instance; keys that rest are left, and its own account comes first", () => {
  const instances = [newRouter({ keys: 3 }), newRouter({ keys: 3 })];
  const accessIn = (at: number, preferred: { conversation: string; account?: string }) => {
    const { router, route } = instances[at]!;
    return router.begin(route("a"), operation, preferred);
  };
  const chosen = Array.from({ length: 60 }, (_, n) => {
    const conversation = `key ${n}`;
    const first = accessIn(0, { conversation });
    assertEquals(accessIn(0, { conversation }).secret, first.secret, "keys do not rotate");
    assertEquals(accessIn(1, { conversation }).secret, first.secret, "without a memory");
    return first;
  });
  const secrets = new Set(chosen.map(({ secret }) => secret));
  assertEquals(secrets.size, 3, "conversations are spread over the keys");
  const [first] = chosen;
  const other = chosen.find(({ account }) => account !== first!.account)!;
  const moved = { conversation: "key 0", account: other.account! };
  assertEquals(accessIn(0, moved).secret, other.secret);
  accessIn(0, moved).onStatus(401, undefined);
  assertEquals(accessIn(0, moved).secret === other.secret, false, "it rests");
});
