/**
 * A million calls over routes that die, slow down, flap, recover and lie, in simulated time: how the router does beside
 * plain round-robin and priority-only. Run: `deno run bench/routing_simulation.ts [calls]`.
 */
import type { Hedge } from "../core/call/attempt_loop.ts";
import type { Model, Route } from "../core/catalog/catalog.ts";
import { GatewayError } from "../core/errors.ts";
import { LiveRouter } from "../core/routing/live_router.ts";

/** What a route does with a call that starts at a moment. */
type Behaviour = (nowMs: number, random: () => number) => { ok: boolean; ms: number };

interface Scenario {
  readonly name: string;
  readonly routes: Readonly<Record<string, Behaviour>>;
  /** The first is to be used whenever it works. */
  readonly preferFirst?: true;
}

const second = 1000;
const minute = 60 * second;
const jitter = (ms: number, random: () => number) => ms * (0.7 + 0.6 * random());
const steady = (ms: number): Behaviour => (_now, random) => ({ ok: true, ms: jitter(ms, random) });
const refusing: Behaviour = (_now, random) => ({ ok: false, ms: jitter(3, random) });
const stalling: Behaviour = () => ({ ok: false, ms: 30 * second });

function during(from: number, to: number, trouble: Behaviour, otherwise: Behaviour): Behaviour {
  return (nowMs, random) => (nowMs >= from && nowMs < to ? trouble : otherwise)(nowMs, random);
}

export const scenarios: readonly Scenario[] = [
  { name: "all well", routes: { a: steady(300), b: steady(320), c: steady(310) } },
  {
    name: "first dies, comes back",
    routes: {
      a: during(minute, 6 * minute, refusing, steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first stalls",
    routes: {
      a: during(minute, 6 * minute, stalling, steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first slows to 5 s",
    routes: {
      a: during(minute, 6 * minute, steady(5 * second), steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first flaps each 10 s",
    routes: {
      a: (nowMs, random) =>
        (Math.floor(nowMs / (10 * second)) % 2 === 0 ? refusing : steady(300))(nowMs, random),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first lies: 200, no answer, 3 in 10",
    routes: {
      a: (_now, random) => ({ ok: random() > 0.3, ms: jitter(80, random) }),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "preferred one stalls",
    preferFirst: true,
    routes: {
      a: during(minute, 6 * minute, stalling, steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "preferred one flaps each 10 s",
    preferFirst: true,
    routes: {
      a: (nowMs, random) =>
        (Math.floor(nowMs / (10 * second)) % 2 === 0 ? stalling : steady(300))(nowMs, random),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "only the last is left",
    routes: { a: refusing, b: refusing, c: steady(310) },
  },
];

export interface PolicyResult {
  readonly calls: number;
  readonly failed: number;
  readonly triesPerCall: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Share of answered calls per route. */
  readonly share: Readonly<Record<string, number>>;
  /** The first route's share of the answered calls, minute by minute. */
  readonly firstByMinute: readonly number[];
}

/** How a policy picks and learns. */
interface Policy {
  candidates(): readonly Route[];
  /** When a second route starts beside the first. */
  hedge(first: Route | undefined): Hedge | undefined;
  begin(route: Route): void;
  end(route: Route, result: "ok" | "failed" | "beaten", ms: number): void;
}

/** A heap of events by time. */
class EventQueue {
  readonly #heap: { atMs: number; run: () => void }[] = [];

  get nextMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  push(atMs: number, run: () => void): void {
    const heap = this.#heap;
    let i = heap.push({ atMs, run }) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (heap[parent]!.atMs <= heap[i]!.atMs) break;
      [heap[parent], heap[i]] = [heap[i]!, heap[parent]!];
      i = parent;
    }
  }

  pop(): { atMs: number; run: () => void } | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    heap[0] = last;
    for (let i = 0;;) {
      const left = 2 * i + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const child = right < heap.length && heap[right]!.atMs < heap[left]!.atMs ? right : left;
      if (heap[i]!.atMs <= heap[child]!.atMs) break;
      [heap[i], heap[child]] = [heap[child]!, heap[i]!];
      i = child;
    }
    return top;
  }
}

/** A repeatable random source (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function modelOf(scenario: Scenario): Model {
  const routes = Object.keys(scenario.routes).map((id, i): Route => ({
    id,
    provider: "simulated",
    upstreamModel: "m",
    style: "chat",
    region: undefined,
    priority: scenario.preferFirst && i > 0 ? 1 : 0,
    weight: 1,
    countTokens: false,
    allow: new Set(),
    facts: {},
  }));
  return {
    id: "m",
    kind: "chat",
    family: "f",
    displayName: "m",
    contextWindow: 1,
    maxOutputTokens: 1,
    vision: false,
    aliases: [],
    price: { unit: "request", vnd: 0 },
    routes,
    hedge: false,
    slowAfterMs: 30 * second,
    videoRules: undefined,
  };
}

function healthPolicy(model: Model, now: () => number, random: () => number): Policy {
  const router = new LiveRouter({
    catalog: {
      models: [model],
      providers: { simulated: { kind: "sandbox", strict: false } },
      listRate: 1,
      defaultModel: model,
      find: () => model,
      resolve: () => ({ found: true, model, mappedFrom: undefined }),
    },
    providerKeys: {},
    transportOf: () => ({
      open: () => ({ response: Promise.withResolvers<never>().promise, cancel: () => {} }),
    }),
    clock: { nowMs: now, monotonicMs: now },
    random,
    region: undefined,
    switchOf: () => undefined,
    onEvent: () => {},
  });
  const operation = "chat_stream";
  return {
    candidates: () => router.candidates(model, { style: "chat", operation }),
    begin: (route) => void router.begin(route, operation),
    hedge: (first) => router.hedge(model, operation, first),
    end: (route, kind, ms) =>
      router.report(
        model,
        route,
        operation,
        kind === "failed"
          ? { kind, ms, error: new GatewayError("upstream_unreachable", "simulated") }
          : { kind, ms },
      ),
  };
}

function roundRobin(model: Model): Policy {
  let next = 0;
  return {
    candidates() {
      const start = next++ % model.routes.length;
      return [...model.routes.slice(start), ...model.routes.slice(0, start)];
    },
    hedge: () => undefined,
    begin() {},
    end() {},
  };
}

function priorityOnly(model: Model): Policy {
  return { candidates: () => model.routes, hedge: () => undefined, begin() {}, end() {} };
}

export type PolicyName = "by health" | "round-robin" | "priority only";

/** Runs `calls` calls, one each `everyMs`, through a policy. */
export function simulate(
  scenario: Scenario,
  policyName: PolicyName,
  options: { readonly calls: number; readonly everyMs: number },
): PolicyResult {
  const random = seededRandom(42);
  const events = new EventQueue();
  let nowMs = 0;
  const model = modelOf(scenario);
  const policy = policyName === "by health"
    ? healthPolicy(model, () => nowMs, random)
    : policyName === "round-robin"
    ? roundRobin(model)
    : priorityOnly(model);
  const latenciesMs = new Float64Array(options.calls);
  const share: Record<string, number> = {};
  const minutes: { first: number; all: number }[] = [];
  const firstId = model.routes[0]?.id;
  let answered = 0;
  let failed = 0;
  let tries = 0;

  const answeredBy = (route: Route, startedMs: number): void => {
    latenciesMs[answered++] = nowMs - startedMs;
    share[route.id] = (share[route.id] ?? 0) + 1;
    const count = minutes[Math.floor(startedMs / minute)] ??= { first: 0, all: 0 };
    count.all++;
    if (route.id === firstId) count.first++;
  };

  /** One call as the attempt loop does it: one try after the other, a second one beside the first past the hedge. */
  const begin = (queue: Route[]): void => {
    const startedMs = nowMs;
    const running = new Map<Route, number>();
    let over = false;
    const next = (): void => {
      const route = queue.shift();
      const behaviour = route === undefined ? undefined : scenario.routes[route.id];
      if (route === undefined || behaviour === undefined) {
        if (running.size === 0) failed++;
        return;
      }
      tries++;
      policy.begin(route);
      running.set(route, nowMs);
      const { ok, ms } = behaviour(nowMs, random);
      events.push(nowMs + ms, () => {
        if (over) return;
        running.delete(route);
        policy.end(route, ok ? "ok" : "failed", ms);
        if (!ok) {
          if (running.size === 0) next();
          return;
        }
        over = true;
        answeredBy(route, startedMs);
        for (const [loser, beganMs] of running) policy.end(loser, "beaten", nowMs - beganMs);
      });
    };
    const hedge = policy.hedge(queue[0]);
    const first = queue[0];
    next();
    if (hedge === undefined || first === undefined) return;
    const atMoment = (): void => {
      if (over || queue.length === 0 || !running.has(first)) return;
      if (hedge.when?.() ?? true) next();
      else events.push(nowMs + hedge.afterMs, atMoment);
    };
    events.push(nowMs + hedge.afterMs, atMoment);
  };

  for (let call = 0; call < options.calls; call++) {
    const arrivesMs = call * options.everyMs;
    for (let at = events.nextMs; at !== undefined && at <= arrivesMs; at = events.nextMs) {
      const event = events.pop()!;
      nowMs = event.atMs;
      event.run();
    }
    nowMs = arrivesMs;
    begin([...policy.candidates()]);
  }
  for (let event = events.pop(); event !== undefined; event = events.pop()) {
    nowMs = event.atMs;
    event.run();
  }

  const sorted = latenciesMs.subarray(0, answered).toSorted();
  const quantile = (q: number) => Math.round(sorted[Math.floor(q * (answered - 1))] ?? 0);
  for (const id of Object.keys(share)) share[id] = share[id]! / answered;
  return {
    calls: options.calls,
    failed,
    triesPerCall: tries / options.calls,
    p50Ms: quantile(0.5),
    p95Ms: quantile(0.95),
    p99Ms: quantile(0.99),
    share,
    firstByMinute: Array.from(minutes, (count) => (count?.first ?? 0) / (count?.all ?? 1)),
  };
}

const policies = ["by health", "round-robin", "priority only"] as const;

if (import.meta.main) {
  const rows = scenarios.length * policies.length;
  const calls = Math.round(Number(Deno.args[0] ?? 1_000_000 / rows));
  // Ten simulated minutes whatever the number of calls: one quiet, five of trouble, four to recover.
  const everyMs = 10 * minute / calls;
  const write = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  write(`${calls * rows} calls: ${calls} per row in 10 simulated minutes, ${rows} rows`);
  write(
    "scenario                             policy         ok %     tries/call  p50 ms  p95 ms  p99 ms  +p95 ms  share a/b/c  a by minute, %",
  );
  for (const scenario of scenarios) {
    const quiet = simulate(
      { name: "", routes: { b: steady(320), c: steady(310) } },
      "round-robin",
      { calls, everyMs },
    );
    for (const policy of policies) {
      const r = simulate(scenario, policy, { calls, everyMs });
      const percent = (value: number) => String(Math.round(100 * value));
      const share = ["a", "b", "c"].map((id) => percent(r.share[id] ?? 0)).join("/");
      write(
        [
          scenario.name.padEnd(36),
          policy.padEnd(14),
          (100 * (1 - r.failed / r.calls)).toFixed(3).padStart(7),
          r.triesPerCall.toFixed(4).padStart(11),
          ...[r.p50Ms, r.p95Ms, r.p99Ms].map((ms) => String(ms).padStart(7)),
          String(r.p95Ms - quiet.p95Ms).padStart(8),
          ` ${share}`.padEnd(12),
          r.firstByMinute.map(percent).join(" "),
        ].join(" "),
      );
    }
  }
}
