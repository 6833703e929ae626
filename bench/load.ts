/**
 * The load process: makes the calls of one {@linkcode LoadJob}, given as JSON in its only argument, and prints the
 * {@linkcode LoadResult} as JSON. A process of its own, so that its work is not counted with that of a gateway.
 */
import { systemClock } from "../core/lib/time/clock.ts";
import { Deadlines } from "../core/lib/time/deadlines.ts";
import { createHttp1Transport } from "../core/net/http1/transport.ts";
import type { UpstreamExchange, UpstreamRequest } from "../core/net/transport/transport.ts";
import { denoConnect } from "../routes/process/deno_connect.ts";
import { EventMeter } from "./event_meter.ts";
import type { LoadJob, LoadResult } from "./load_job.ts";
import { embeddedInputs } from "./mock_answers.ts";
import { print } from "./print.ts";
import { cpuMicros, residentBytes } from "./process_stats.ts";
import { scenarios } from "./scenarios.ts";
import { quantile } from "./statistics.ts";
import { preciseNowMs } from "./wall_clock.ts";

const words = "the quick brown fox jumps over the lazy dog and runs away ";

function bodyOf({ path, scenario, promptBytes, target: { model } }: LoadJob): object {
  const content = words.repeat(Math.ceil(promptBytes / words.length)).slice(0, promptBytes);
  switch (path) {
    case "/v1/embeddings": {
      const inputBytes = Math.floor(promptBytes / embeddedInputs);
      const input = Array.from({ length: embeddedInputs }, () => content.slice(0, inputBytes));
      return { model: scenario, input };
    }
    case "/v1beta/models/bench-gemini:generateContent":
      return {
        contents: [{ role: "user", parts: [{ text: content }] }],
        generationConfig: { maxOutputTokens: 1_000, temperature: 0.7 },
      };
    default:
      return {
        model: model ?? scenario,
        max_tokens: 1_000,
        stream: scenarios[scenario].kind === "stream",
        temperature: 0.7,
        messages: [{
          role: "user",
          content: model === undefined ? content : `${scenario} ${content}`,
        }],
      };
  }
}

function requestOf(job: LoadJob): UpstreamRequest {
  const body = JSON.stringify(bodyOf(job));
  return {
    method: "POST",
    url: job.target.url + job.path,
    headers: [["content-type", "application/json"], ...job.target.headers],
    body: new TextEncoder().encode(body),
    // As clients do, reuse a kept connection at once. Otherwise a POST waits for a connection that has been idle, and
    // opens new ones meanwhile, whose cost would be added to every target.
    onSentAgain: () => {},
  };
}

class Load {
  readonly #job: LoadJob;
  readonly #request: UpstreamRequest;
  readonly #transport = createHttp1Transport({
    connect: denoConnect(),
    deadlines: new Deadlines({ clock: systemClock }),
    idleConnectionsPerOrigin: 4_096,
  });
  readonly #callsMs: number[] = [];
  readonly #firstBytesMs: number[] = [];
  readonly #delaysMs: number[] = [];
  readonly #open = new Set<UpstreamExchange>();
  /** Delays while all streams are open: from the first byte of the last one to the end of the first one. */
  readonly #whileOpen = { from: 0, to: Infinity, fromMs: 0, toMs: 0 };
  #calls = 0;
  #events = 0;
  #errors = 0;
  #error: string | undefined;

  constructor(job: LoadJob) {
    this.#job = job;
    this.#request = requestOf(job);
  }

  #reset(): void {
    for (const list of [this.#callsMs, this.#firstBytesMs, this.#delaysMs]) list.length = 0;
    this.#calls = this.#events = this.#errors = 0;
  }

  async run(): Promise<LoadResult> {
    const { target, seconds, warmSeconds, mode } = this.#job;
    if (mode !== "repeat") return await this.#holdOrLeave();
    if (warmSeconds > 0) await this.#repeat(warmSeconds, 0);
    this.#reset();
    const cpuBefore = cpuMicros(target.pid);
    const startedMs = performance.now();
    await this.#repeat(seconds, this.#job.pauseMs);
    return this.#result({
      seconds: (performance.now() - startedMs) / 1_000,
      cpuMicros: cpuMicros(target.pid) - cpuBefore,
    });
  }

  async #repeat(seconds: number, pauseMs: number): Promise<void> {
    const untilMs = performance.now() + seconds * 1_000;
    await Promise.all(Array.from({ length: this.#job.connections }, async (_, index) => {
      const { kind, ...scenario } = scenarios[this.#job.scenario];
      // The starts of paced streams are spread over one pace, as those of independent clients are.
      const everyMs = kind === "stream" && "everyMs" in scenario ? scenario.everyMs : 0;
      if (everyMs > 0) await sleep(everyMs * index / this.#job.connections);
      do {
        await this.#call();
        if (pauseMs > 0) await sleep(pauseMs);
      } while (performance.now() < untilMs && this.#errors < 100);
    }));
  }

  async #call(): Promise<void> {
    const startedMs = performance.now();
    const exchange = this.#transport.open(this.#request);
    this.#open.add(exchange);
    try {
      const answer = await exchange.response;
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      const isStream = scenarios[this.#job.scenario].kind === "stream";
      const meter = isStream ? new EventMeter(this.#delaysMs) : undefined;
      let isFirst = true;
      for (let view = await answer.body.read(); view !== null; view = await answer.body.read()) {
        if (isFirst) this.#begun(performance.now() - startedMs);
        isFirst = false;
        meter?.push(view);
      }
      if (this.#whileOpen.to === Infinity) {
        this.#whileOpen.to = this.#delaysMs.length;
        this.#whileOpen.toMs = preciseNowMs();
      }
      if (meter && !meter.isComplete) throw new Error("a stream without its end");
      this.#events += meter?.events ?? 0;
      this.#calls++;
      this.#callsMs.push(performance.now() - startedMs);
    } catch (error) {
      if (this.#job.mode === "leave") return;
      this.#errors++;
      this.#error ??= error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    } finally {
      exchange.cancel();
      this.#open.delete(exchange);
    }
  }

  #begun(firstByteMs: number): void {
    this.#firstBytesMs.push(firstByteMs);
    if (this.#firstBytesMs.length === this.#job.connections) {
      this.#whileOpen.from = this.#delaysMs.length;
      this.#whileOpen.fromMs = preciseNowMs();
    }
  }

  /** Opens all streams within a second, waits, and then lets them end, or leaves. */
  async #holdOrLeave(): Promise<LoadResult> {
    const { target, connections, seconds, mode } = this.#job;
    const cpuBefore = cpuMicros(target.pid);
    const startedMs = performance.now();
    const all = Array.from({ length: connections }, async (_, index) => {
      await sleep(index * 1_000 / connections);
      await this.#call();
    });
    await sleep(seconds * 1_000);
    const peakResidentBytes = residentBytes(target.pid);
    const leftMs = preciseNowMs();
    if (mode === "leave") { for (const exchange of this.#open) exchange.cancel(); }
    await Promise.all(all);
    return {
      ...this.#result({
        seconds: (performance.now() - startedMs) / 1_000,
        cpuMicros: cpuMicros(target.pid) - cpuBefore,
      }),
      ...this.#delaysWhileOpen(),
      peakResidentBytes,
      leftMs,
    };
  }

  #delaysWhileOpen() {
    const { from, to, fromMs, toMs } = this.#whileOpen;
    const delaysMs = this.#delaysMs.slice(from, to);
    return {
      openDelayP50Ms: quantile(delaysMs, 0.5),
      openDelayP99Ms: quantile(delaysMs, 0.99),
      openFromMs: fromMs,
      openToMs: toMs,
    };
  }

  #result(measured: { readonly seconds: number; readonly cpuMicros: number }): LoadResult {
    return {
      ...measured,
      calls: this.#calls,
      opened: this.#transport.counts().opened,
      errors: this.#errors,
      error: this.#error,
      events: this.#events,
      callP50Ms: quantile(this.#callsMs, 0.5),
      callP99Ms: quantile(this.#callsMs, 0.99),
      firstByteP50Ms: quantile(this.#firstBytesMs, 0.5),
      firstByteP99Ms: quantile(this.#firstBytesMs, 0.99),
      delayP50Ms: quantile(this.#delaysMs, 0.5),
      delayP99Ms: quantile(this.#delaysMs, 0.99),
      openDelayP50Ms: 0,
      openDelayP99Ms: 0,
      openFromMs: 0,
      openToMs: 0,
      peakResidentBytes: 0,
      leftMs: 0,
    };
  }
}

const sleep = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

const job: LoadJob = JSON.parse(Deno.args[0] ?? "{}");
print(JSON.stringify(await new Load(job).run()));
Deno.exit();
