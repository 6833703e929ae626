/**
 * A million calls over routes that die, slow down, flap, recover and lie, in simulated time: how the router does beside
 * plain round-robin and priority-only. Run: `deno run bench/routing_simulation.ts [calls]`.
 */
import type { Model, Route } from "../core/catalog/catalog.ts";
import { GatewayError } from "../core/errors.ts";
import { LiveRouter } from "../core/routing/live_router.ts";

/** What a route does with a call that starts at a moment. */
type Behaviour = (nowMs: number, random: () => number) => { ok: boolean; ms: number };

interface Scenario {
  readonly name: string;
  readonly routes: Readonly<Record<string, Behaviour>>;
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
}

/** How a policy picks and learns. */
interface Policy {
  candidates(): readonly Route[];
  begin(route: Route): void;
  end(route: Route, ok: boolean, ms: number): void;
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
  const routes = Object.keys(scenario.routes).map((id): Route => ({
    id,
    provider: "simulated",
    upstreamModel: "m",
    style: "chat",
    region: undefined,
    priority: 0,
    weight: 1,
    countTokens: false,
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
    end: (route, ok, ms) =>
      router.report(
        model,
        route,
        operation,
        ok
          ? { kind: "ok", ms }
          : { kind: "failed", ms, error: new GatewayError("upstream_unreachable", "simulated") },
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
    begin() {},
    end() {},
  };
}

function priorityOnly(model: Model): Policy {
  return { candidates: () => model.routes, begin() {}, end() {} };
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
  let answered = 0;
  let failed = 0;
  let tries = 0;

  const attempt = (queue: Route[], startedMs: number): void => {
    const route = queue.shift();
    const behaviour = route === undefined ? undefined : scenario.routes[route.id];
    if (route === undefined || behaviour === undefined) {
      failed++;
      return;
    }
    tries++;
    policy.begin(route);
    const { ok, ms } = behaviour(nowMs, random);
    events.push(nowMs + ms, () => {
      policy.end(route, ok, ms);
      if (!ok) return attempt(queue, startedMs);
      latenciesMs[answered++] = nowMs - startedMs;
      share[route.id] = (share[route.id] ?? 0) + 1;
    });
  };

  for (let call = 0; call < options.calls; call++) {
    const arrivesMs = call * options.everyMs;
    for (let at = events.nextMs; at !== undefined && at <= arrivesMs; at = events.nextMs) {
      const event = events.pop()!;
      nowMs = event.atMs;
      event.run();
    }
    nowMs = arrivesMs;
    attempt([...policy.candidates()], nowMs);
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
  };
}

if (import.meta.main) {
  const calls = Number(Deno.args[0] ?? 1_000_000 / (scenarios.length * 3));
  const write = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  write(`${Math.round(calls)} calls per row, 200 a second, ${scenarios.length * 3} rows`);
  write(
    "scenario                             policy         failed  tries/call  p50 ms  p95 ms  p99 ms  share a/b/c",
  );
  for (const scenario of scenarios) {
    for (const policy of ["by health", "round-robin", "priority only"] as const) {
      const r = simulate(scenario, policy, { calls: Math.round(calls), everyMs: 5 });
      const share = ["a", "b", "c"].map((id) => `${Math.round(100 * (r.share[id] ?? 0))}`).join(
        "/",
      );
      write(
        `${scenario.name.padEnd(36)} ${policy.padEnd(14)} ${String(r.failed).padStart(6)}  ${
          r.triesPerCall.toFixed(4).padStart(10)
        }  ${String(r.p50Ms).padStart(6)}  ${String(r.p95Ms).padStart(6)}  ${
          String(r.p99Ms).padStart(6)
        }  ${share}`,
      );
    }
  }
}
