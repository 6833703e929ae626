import { assert, assertEquals } from "../../support/assert.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { runSeed, seededRandom } from "../../support/random.ts";
import {
  type AttemptHost,
  type BegunAttempt,
  CallControl,
  runAttempts,
} from "../../../core/calls/attempts/attempt_loop.ts";
import { buildCatalog, type Model } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { withResolvers } from "../../../core/lib/runtime/built_ins.ts";
import { UpstreamFailure } from "../../../core/net/transport/transport.ts";
import type { CallLoad, Operation } from "../../../core/routing/contract/router.ts";
import { LiveRouter } from "../../../core/routing/live_router.ts";
import { firstHedges } from "../../../core/routing/usual_times.ts";

function catalogOf(routes = 2) {
  const names = ["a", "b", "c"].slice(0, routes);
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
      routes: names.map((provider, priority) => ({ provider, priority })),
    }],
  }));
  assert(built.ok);
  return built.catalog;
}

// A population of calls over two routes, in time that only the test moves.

/** How long one call takes, and what is known of it before. */
interface Sample {
  readonly ms: number;
  readonly size: number;
}

interface Population {
  readonly name: string;
  readonly operation: Operation;
  readonly everyMs: number;
  readonly draw: (random: () => number) => Sample;
  /** `by size`: what a call takes follows from its size; `wide`: from nothing that is known. */
  readonly spread?: "by size" | "wide";
}

/** How long a call may take whose route hangs: the other one begins late. */
const boundMs = (usualMs: number) => 3 * usualMs + 5_000;

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Durations around a median, spread by the factor e to the power of `sigma`. */
const around = (medianMs: number, sigma: number, size = 100) => (random: () => number): Sample => ({
  ms: medianMs * Math.exp(sigma * normal(random)),
  size,
});

/** Calls of all sizes: what they take follows from their size, which is known. */
function ofAllSizes(random: () => number): Sample {
  const size = 4 ** (3 + 5 * random());
  return { size, ms: 400 + size * 12 * Math.exp(0.2 * normal(random)) };
}

/** Every fifth call takes a minute, and nothing shows which. */
function twoKinds(random: () => number): Sample {
  return { size: 100, ms: (random() < 0.2 ? 60_000 : 1_000) * Math.exp(0.2 * normal(random)) };
}

const populations: readonly Population[] = [
  { name: "quick calls", operation: "embedding", everyMs: 100, draw: around(60, 0.4) },
  { name: "answers", operation: "chat", everyMs: 700, draw: around(4_000, 0.25) },
  { name: "rare answers", operation: "chat", everyMs: 20_000, draw: around(4_000, 0.25) },
  {
    name: "answers with a long tail",
    operation: "chat",
    everyMs: 700,
    draw: around(4_000, 0.9),
    spread: "wide",
  },
  {
    name: "answers of all sizes",
    operation: "chat",
    everyMs: 1_500,
    draw: ofAllSizes,
    spread: "by size",
  },
  {
    name: "answers of two kinds",
    operation: "chat",
    everyMs: 1_500,
    draw: twoKinds,
    spread: "wide",
  },
  { name: "pictures", operation: "image", everyMs: 4_000, draw: around(20_000, 0.25) },
];

interface Ended {
  readonly tookMs: number;
  readonly usualMs: number;
  readonly attempts: number;
  readonly answers: number;
}

const stepMs = 100;

class Simulation {
  readonly time = new ManualTime();
  readonly #deadlines = new Deadlines({ clock: this.time, timer: this.time, tickMs: 50 });
  readonly #model: Model;
  readonly #router: LiveRouter;
  readonly #random: () => number;
  readonly #population: Population;
  readonly ended: Ended[] = [];
  /** The provider that takes requests and never answers. */
  hanging: string | undefined;
  /** Attempts that nobody cancelled and nobody waits for. */
  running = 0;

  constructor(population: Population, seed: number) {
    const catalog = catalogOf();
    this.#population = population;
    this.#random = seededRandom(seed);
    this.#model = catalog.models[0]!;
    this.#router = new LiveRouter({
      catalog,
      providerKeys: { a: ["a-1"], b: ["b-1"] },
      transportOf: () => ({
        open: () => ({ response: withResolvers<never>().promise, cancel: () => {} }),
      }),
      clock: this.time,
      deadlines: this.#deadlines,
      random: this.#random,
      region: undefined,
      switchOf: () => undefined,
      onEvent: () => {},
    });
  }

  /** Lets so many calls begin, and ends when all are over. */
  async run(calls: number): Promise<readonly Ended[]> {
    const from = this.ended.length;
    let begun = 0;
    let nextMs = this.time.monotonicMs();
    while (this.ended.length < from + calls) {
      while (begun < calls && nextMs <= this.time.monotonicMs()) {
        begun++;
        nextMs += -Math.log(1 - this.#random()) * this.#population.everyMs;
        void this.#call();
      }
      for (let turn = 0; turn < 12; turn++) await null;
      this.time.advance(stepMs);
      for (let turn = 0; turn < 12; turn++) await null;
    }
    return this.ended.slice(from);
  }

  async #call(): Promise<void> {
    const { operation, draw } = this.#population;
    const { ms: usualMs, size } = draw(this.#random);
    const load: CallLoad = { operation, stream: false, size };
    const startedMs = this.time.monotonicMs();
    let answers = 0;
    const host: AttemptHost<BegunAttempt & { readonly done: Promise<void> }, void> = {
      start: (route) => {
        this.#router.begin(route, operation);
        this.running++;
        const { promise: done, resolve, reject } = withResolvers<void>();
        let isOver = false;
        // A loser that answers in the same moment is over before it is cancelled.
        const over = (end: () => void) => () => {
          if (isOver) return;
          isOver = true;
          this.running--;
          stop();
          end();
        };
        // A second attempt does the same work on another machine.
        const ms = usualMs * Math.exp(0.1 * normal(this.#random));
        const stop = this.hanging === route.provider
          ? () => {}
          : this.time.start(over(() => (answers++, resolve())), ms);
        const cancel = over(() => reject(new UpstreamFailure("cancelled", "as the loop wants it")));
        return { exchange: { cancel }, done };
      },
      firstOutput: ({ done }) => done,
      timeoutMs: () => undefined,
      slowAfterMs: (route) => this.#router.slowAfterMs(this.#model, route, load),
      mayHedge: ({ route, waitedMs }) => this.#router.mayHedge(this.#model, route, load, waitedMs),
      report: (route, result) =>
        this.#router.report(this.#model, route, operation, result, "acc", load),
      onBug: (error) => {
        throw error;
      },
    };
    const found = await runAttempts({
      candidates: this.#router.candidates(this.#model, { style: "chat", operation }),
      host,
      clock: this.time,
      deadlines: this.#deadlines,
      control: new CallControl(),
    });
    assert(found.ok, "answered");
    this.ended.push({
      tookMs: this.time.monotonicMs() - startedMs,
      usualMs,
      attempts: found.attempts.length,
      answers,
    });
  }
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
}

const extraOf = (ended: readonly Ended[]) =>
  ended.reduce((sum, { attempts }) => sum + attempts - 1, 0);

for (const population of populations) {
  const seed = runSeed() ?? Math.floor(Math.random() * 2 ** 31);
  Deno.test(`${population.name} (seed ${seed}): few second attempts in health, and none waits long for a route that hangs`, async () => {
    const calls = 1_500;
    const simulation = new Simulation(population, seed);
    const healthy = await simulation.run(calls);
    const extra = extraOf(healthy);
    assert(extra <= 0.05 * calls + firstHedges, `${extra} second attempts of ${calls} calls`);
    simulation.hanging = "a";
    const troubled = await simulation.run(300);
    const { spread } = population;
    // What is usual is known for a class of sizes, of which the largest is twice the smallest; without sizes, for all.
    const isBySize = spread === "by size";
    const medianMs = isBySize ? 0 : quantile(healthy.map(({ tookMs }) => tookMs), 0.5);
    const late = troubled.filter(({ tookMs, usualMs }) =>
      tookMs > boundMs(Math.max(medianMs, isBySize ? 2 * usualMs : usualMs))
    );
    if (spread !== "wide") assert(late.length <= 0.02 * troubled.length, JSON.stringify(late));
    const p99Ms = quantile(troubled.map(({ tookMs }) => tookMs), 0.99);
    assert(p99Ms <= 2 * quantile(healthy.map(({ tookMs }) => tookMs), 0.99) + 5_000, `${p99Ms} ms`);
    assertEquals(simulation.running, 0, "each loser was cancelled");
  });
}

Deno.test("from the first call on, a route that hangs is left", async () => {
  for (const population of populations) {
    if (population.spread !== undefined) continue;
    const simulation = new Simulation(population, 7);
    simulation.hanging = "a";
    const ended = await simulation.run(40);
    const late = ended.filter(({ tookMs, usualMs }) => tookMs > boundMs(usualMs));
    assertEquals(late, [], population.name);
  }
});
