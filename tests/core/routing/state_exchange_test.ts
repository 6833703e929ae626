/** Several routers that tell each other what they find out, as those of serving threads do. */
import { assert, assertEquals } from "../../support/assert.ts";
import { buildCatalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { breakerConsecutiveFailures } from "../../../core/routing/health/breaker.ts";
import { credentialRestMs } from "../../../core/routing/health/credentials.ts";
import { LiveRouter } from "../../../core/routing/live_router.ts";
import type { RouteEvent, SharedState } from "../../../core/routing/contract/router.ts";
import { ManualTime } from "../../support/manual_time.ts";

const operation = "chat_stream";
const secrets = ["sk-first", "sk-second"];

function newThreads(workers: number) {
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "m",
    providers: { a: { kind: "http", baseUrl: "https://a.example", apiKeyEnv: "KEY" } },
    models: ["m", "other"].map((id) => ({
      id,
      kind: "chat",
      family: "f",
      price: { unit: "request", vnd: 1 },
      routes: [{ provider: "a", model: "x" }],
    })),
  }));
  if (!built.ok) throw new Error(built.problems.join());
  const { catalog } = built;
  const [model, other] = catalog.models;
  const route = model!.routes[0]!;
  const messages: (readonly SharedState[])[] = [];
  const events: RouteEvent[] = [];
  const times: ManualTime[] = [];
  const routers: LiveRouter[] = [];
  /** The first is the owner, which passes on what a worker tells. */
  function add(): LiveRouter {
    const at = routers.length;
    const time = new ManualTime();
    // The monotonic clocks of threads do not agree.
    time.advance(at * 100_000_000);
    const router = new LiveRouter({
      catalog,
      providerKeys: { a: secrets },
      transportOf: () => ({
        open: () => ({ response: Promise.withResolvers<never>().promise, cancel: () => {} }),
      }),
      clock: time,
      deadlines: new Deadlines({ clock: time, timer: time }),
      random: () => 0.5,
      region: undefined,
      switchOf: () => undefined,
      onEvent: (event) => events.push(event),
      isJudge: at === 0,
      share(states) {
        messages.push(structuredClone(states));
        routers.forEach((other, i) => i !== at && i !== 0 && other.merge(states));
        if (at !== 0) routers[0]?.merge(states);
      },
    });
    times.push(time);
    routers.push(router);
    return router;
  }
  for (let i = 0; i <= workers; i++) add();
  const attempt = (at: number, result: "well" | "failed" | "limited", customer?: string) => {
    const router = routers[at]!;
    router.begin(route, operation);
    const error = new GatewayError(
      result === "limited" ? "rate_limit_exceeded" : "upstream_unreachable",
      "as the test wants it",
      result === "limited" ? { retryAfterSeconds: 30 } : {},
    );
    router.report(
      model!,
      route,
      operation,
      result === "well" ? { kind: "ok", ms: 1 } : { kind: "failed", ms: 0, error },
      customer,
    );
  };
  const candidates = (at: number, customer?: string) =>
    routers[at]!.candidates(model!, { style: "chat", operation, customer }).length;
  const state = (at: number) => routers[at]!.reports()[0]!.operations[operation]?.state;
  const pass = (ms: number) => times.forEach((time) => time.advance(ms));
  return {
    catalog,
    routers,
    route,
    model: model!,
    other: other!,
    messages,
    events,
    add,
    attempt,
    candidates,
    state,
    pass,
  };
}

const wholeGatherMs = 500;

Deno.test("a key that one thread sees refused is not used by any, for as long, and no secret travels", () => {
  const { routers, route, messages, pass } = newThreads(2);
  const [owner, one, two] = routers as [LiveRouter, LiveRouter, LiveRouter];
  one.access(route, "sk-first").onStatus(401, undefined);
  for (const router of [owner, one, two]) {
    const taken = Array.from({ length: 4 }, () => router.access(route).secret);
    assertEquals(new Set(taken), new Set(["sk-second"]));
    assertEquals(router.reports()[0]?.credentials.reasons, ["status 401"]);
  }
  pass(credentialRestMs - 1);
  assertEquals(two.access(route).secret, "sk-second");
  pass(1);
  assert(["sk-first", "sk-second"].includes(two.access(route).secret ?? ""));
  assertEquals(two.reports()[0]?.credentials.resting, 0);
  two.access(route, "sk-second").onStatus(429, 20);
  assertEquals(one.access(route).secret, "sk-first");
  for (const secret of secrets) assert(!JSON.stringify(messages).includes(secret));
});

Deno.test("a refusal of the former key does not rest the one that replaced it, whichever thread is first", () => {
  const { routers, route, catalog } = newThreads(2);
  const [, one, two] = routers as [LiveRouter, LiveRouter, LiveRouter];
  one.replaceCatalog({ catalog, providerKeys: { a: ["sk-new", "sk-second"] } });
  two.access(route, "sk-first").onStatus(401, undefined);
  assertEquals(two.reports()[0]?.credentials.resting, 1);
  assertEquals(one.reports()[0]?.credentials.resting, 0);
  assertEquals(
    new Set([one.access(route).secret, one.access(route).secret]),
    new Set(["sk-new", "sk-second"]),
  );
  two.replaceCatalog({ catalog, providerKeys: { a: ["sk-new", "sk-second"] } });
  assertEquals(two.reports()[0]?.credentials.resting, 0);
  // The other key is the same at both, and so is what is known of it.
  two.access(route, "sk-second").onStatus(401, undefined);
  assertEquals(one.reports()[0]?.credentials.resting, 1);
});

Deno.test("concurrent refusals of one key at several threads count as one", () => {
  const { routers, route, pass } = newThreads(2);
  for (let i = 0; i < 10; i++) {
    routers[1 + i % 2]!.access(route, "sk-first").onStatus(401, undefined);
  }
  pass(credentialRestMs);
  assertEquals(routers.map((router) => router.reports()[0]?.credentials.resting), [0, 0, 0]);
});

Deno.test("failures that no thread alone would open a breaker for open it at all", () => {
  const { attempt, candidates, state, pass, events, other, routers } = newThreads(3);
  for (let at = 1; at <= breakerConsecutiveFailures; at++) attempt(at, "failed");
  assertEquals([1, 2, 3].map(state), ["closed", "closed", "closed"]);
  pass(wholeGatherMs);
  assertEquals([0, 1, 2, 3].map(state), ["open", "open", "open", "open"]);
  assertEquals(events.map(({ state }) => state), ["open"], "told once");
  // The same upstream model under another name has a health of its own.
  const { length } = routers[1]!.candidates(other, { style: "chat", operation });
  assertEquals([candidates(1), length], [1, 1]);
  assertEquals(routers[1]!.reports()[1]!.operations[operation]?.state, "closed");
});

Deno.test("a success at one thread keeps failures in a row at others from opening the breaker", () => {
  const { attempt, state, pass } = newThreads(3);
  for (let round = 0; round < 4; round++) {
    attempt(1, "well");
    attempt(2, "failed");
    pass(wholeGatherMs);
    attempt(3, "well");
    pass(wholeGatherMs);
  }
  assertEquals([0, 1, 2, 3].map(state), ["closed", "closed", "closed", "closed"]);
});

Deno.test("counts travel in one message for many attempts, and none when nothing happens", () => {
  const { attempt, messages, pass } = newThreads(2);
  for (let i = 0; i < 1_000; i++) attempt(1, "well");
  pass(wholeGatherMs);
  assertEquals(messages.length, 1);
  assertEquals(messages[0]?.length, 1);
  pass(60_000);
  assertEquals(messages.length, 1);
});

Deno.test("a probe that works closes the breaker at all threads, whatever was counted before", () => {
  const { attempt, state, pass } = newThreads(2);
  for (let i = 0; i < breakerConsecutiveFailures; i++) attempt(1, "failed");
  assertEquals([1, 2].map(state), ["open", "open"]);
  attempt(2, "failed"); // began before it was told
  pass(10_000);
  attempt(2, "well");
  pass(wholeGatherMs);
  assertEquals([0, 1, 2].map(state), ["closed", "closed", "closed"]);
});

Deno.test("a customer whom a provider limits rests at all threads, and two of them at two threads rest the route", () => {
  const { attempt, candidates, pass, routers, route } = newThreads(2);
  for (const secret of secrets) routers[1]!.access(route, secret).onStatus(429, 60);
  attempt(1, "limited", "c1");
  assertEquals([candidates(2, "c1"), candidates(2, "c2")], [0, 1]);
  attempt(2, "limited", "c2");
  assertEquals([0, 1, 2].map((at) => candidates(at, "c3")), [0, 0, 0]);
  pass(30_000);
  attempt(2, "well", "c1");
  pass(wholeGatherMs);
  assertEquals(candidates(1, "c1"), 1);
});

Deno.test("a customer who floods a key at one thread is limited for what others meet at another", () => {
  const { attempt, candidates, pass, routers, route, events } = newThreads(2);
  const exhaust = (seconds: number) => {
    for (const secret of secrets) routers[1]!.access(route, secret).onStatus(429, seconds);
  };
  exhaust(60);
  attempt(2, "limited", "calm");
  pass(1_000);
  for (let call = 0; call < 40; call++) attempt(1, "well", "flooding");
  pass(wholeGatherMs);
  attempt(2, "limited", "calm");
  attempt(2, "limited", "other");
  assertEquals([candidates(1, "flooding"), candidates(2, "flooding")], [0, 0]);
  assertEquals([candidates(2, "calm"), candidates(2, "other")], [1, 1]);
  assertEquals(events, [], "the route does not rest");
  // After its rest it calls at a pace, at the thread that serves it.
  pass(wholeGatherMs);
  pass(1_000);
  const begun = Array.from({ length: 50 }, () => {
    pass(20);
    return candidates(1, "flooding");
  }).filter((count) => count > 0).length;
  assert(begun > 2 && begun < 25, `${begun} in a second`);
});

Deno.test("false reports at several threads add up", () => {
  const { routers, route, state } = newThreads(3);
  for (const router of routers.slice(1)) router.noteFalseReport(route);
  assertEquals([0, 1, 2, 3].map(state), ["open", "open", "open", "open"]);
});

Deno.test("a thread that starts later knows what the others know", () => {
  const { add, attempt, candidates, pass, routers, route } = newThreads(2);
  routers[1]!.access(route, "sk-first").onStatus(401, undefined);
  attempt(1, "failed");
  attempt(2, "failed");
  pass(wholeGatherMs);
  const late = add();
  late.merge(routers[0]!.shared());
  assertEquals([late.access(route).secret, late.access(route).secret], ["sk-second", "sk-second"]);
  // Two failures are known, so that the third opens the breaker.
  attempt(3, "failed");
  assertEquals(late.reports()[0]?.operations[operation]?.state, "open");
  const last = add();
  last.merge(routers[0]!.shared());
  assertEquals(last.reports()[0]?.operations[operation]?.state, "open");
  assertEquals(candidates(4), 1);
});
