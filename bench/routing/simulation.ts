/** Runs calls through a policy in simulated time, as the attempt loop would. */
import type { Model, Route } from "../../core/catalog/catalog.ts";
import { EventQueue } from "./event_queue.ts";
import { createPolicy, modelOf, type Policy, type PolicyName } from "./policies.ts";
import { minute, type Scenario } from "./scenarios.ts";
import { seededRandom } from "./seeded_random.ts";

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

/** The outcomes of the calls so far. */
class Tally {
  readonly #latenciesMs: Float64Array;
  readonly #firstId: string | undefined;
  readonly #answeredBy: Record<string, number> = {};
  readonly #minutes: { first: number; all: number }[] = [];
  #answered = 0;
  failed = 0;
  tries = 0;

  constructor(calls: number, model: Model) {
    this.#latenciesMs = new Float64Array(calls);
    this.#firstId = model.routes[0]?.id;
  }

  answered(route: Route, startedMs: number, nowMs: number): void {
    this.#latenciesMs[this.#answered++] = nowMs - startedMs;
    this.#answeredBy[route.id] = (this.#answeredBy[route.id] ?? 0) + 1;
    const count = this.#minutes[Math.floor(startedMs / minute)] ??= { first: 0, all: 0 };
    count.all++;
    if (route.id === this.#firstId) count.first++;
  }

  result(calls: number): PolicyResult {
    const answered = this.#answered;
    const sorted = this.#latenciesMs.subarray(0, answered).toSorted();
    const quantile = (q: number) => Math.round(sorted[Math.floor(q * (answered - 1))] ?? 0);
    const share = Object.entries(this.#answeredBy).map(([id, count]) => [id, count / answered]);
    return {
      calls,
      failed: this.failed,
      triesPerCall: this.tries / calls,
      p50Ms: quantile(0.5),
      p95Ms: quantile(0.95),
      p99Ms: quantile(0.99),
      share: Object.fromEntries(share),
      firstByMinute: Array.from(this.#minutes, (count) => (count?.first ?? 0) / (count?.all ?? 1)),
    };
  }
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #policy: Policy;
  readonly #random = seededRandom(42);
  readonly #events = new EventQueue();
  readonly #tally: Tally;
  #nowMs = 0;

  constructor(scenario: Scenario, policyName: PolicyName, calls: number) {
    const model = modelOf(scenario);
    this.#scenario = scenario;
    this.#policy = createPolicy(policyName, model, () => this.#nowMs, this.#random);
    this.#tally = new Tally(calls, model);
  }

  run(calls: number, everyMs: number): PolicyResult {
    for (let call = 0; call < calls; call++) {
      const arrivesMs = call * everyMs;
      this.#runUntil(arrivesMs);
      this.#nowMs = arrivesMs;
      this.#begin([...this.#policy.candidates()]);
    }
    this.#runUntil(Infinity);
    return this.#tally.result(calls);
  }

  #runUntil(untilMs: number): void {
    const events = this.#events;
    for (let at = events.nextMs; at !== undefined && at <= untilMs; at = events.nextMs) {
      const event = events.pop()!;
      this.#nowMs = event.atMs;
      event.run();
    }
  }

  /**
   * One call as in the attempt loop: one attempt after the other, and a second one beside the first after the hedge
   * delay.
   */
  #begin(queue: Route[]): void {
    const startedMs = this.#nowMs;
    const running = new Map<Route, number>();
    let over = false;
    const next = (): void => {
      const route = queue.shift();
      const behaviour = route === undefined ? undefined : this.#scenario.routes[route.id];
      if (route === undefined || behaviour === undefined) {
        if (running.size === 0) this.#tally.failed++;
        return;
      }
      this.#tally.tries++;
      this.#policy.begin(route);
      running.set(route, this.#nowMs);
      const { ok, ms } = behaviour(this.#nowMs, this.#random);
      this.#events.push(this.#nowMs + ms, () => {
        if (over) return;
        running.delete(route);
        this.#policy.end(route, ok ? "ok" : "failed", ms);
        if (!ok) {
          if (running.size === 0) next();
          return;
        }
        over = true;
        this.#tally.answered(route, startedMs, this.#nowMs);
        for (const [loser, beganMs] of running) {
          this.#policy.end(loser, "beaten", this.#nowMs - beganMs);
        }
      });
    };
    const hedge = this.#policy.hedge(queue[0]);
    const first = queue[0];
    next();
    if (hedge === undefined || first === undefined) return;
    const atMoment = (): void => {
      if (over || queue.length === 0 || !running.has(first)) return;
      if (hedge.when?.() ?? true) next();
      else this.#events.push(this.#nowMs + hedge.afterMs, atMoment);
    };
    this.#events.push(this.#nowMs + hedge.afterMs, atMoment);
  }
}

/** Runs `calls` calls, one each `everyMs`, through a policy. The same arguments give the same result. */
export function simulate(
  scenario: Scenario,
  policyName: PolicyName,
  options: { readonly calls: number; readonly everyMs: number },
): PolicyResult {
  return new Simulation(scenario, policyName, options.calls).run(options.calls, options.everyMs);
}
