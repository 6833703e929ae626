/** The metrics of the gateway. Labels are models and routes of the catalog, and values of our own enumerations. */
import process from "node:process";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import type { Router } from "../../core/routing/contract/router.ts";
import { programSchemaVersion } from "../../kv/engine/opening/schema_version.ts";
import { type GaugeSample, Registry } from "./registry.ts";
import type { WalletEngine } from "../../kv/money/wallet/mod.ts";
import type { CallObserver, EventCounts } from "./telemetry.ts";

/** The state that gauges read when metrics are scraped. */
export interface GatewayState {
  readonly router: Pick<Router, "reports">;
  readonly calls: { readonly count: number };
  readonly bodies: { readonly usedBytes: number };
  readonly answers: { readonly usedBytes: number };
  readonly keptResponses: { readonly bytes: number };
  readonly wallet: Pick<WalletEngine, "healthy" | "load">;
}

/** Bucket bounds in seconds: a quick first token takes 0.1 s, the longest call 15 minutes. */
const firstOutputBounds = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 60];
const durationBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 150, 400, 900];

/** A commit takes 0.4 ms on a near store, a round trip on a far one, and is given up after seconds. */
const commitBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

const breakerStates = { closed: 0, half_open: 1, open: 2 } as const;

/** Adds what metrics say of routes and of the keys of their providers. */
function addRouteGauges(registry: Registry, { router }: GatewayState): void {
  registry.gauge(
    "gateway_route_breaker",
    "State of the breaker of a route: 0 closed, 1 half open, 2 open.",
    ["route", "operation"],
    function* (): Iterable<GaugeSample> {
      for (const { route, operations } of router.reports()) {
        for (const [operation, view] of Object.entries(operations)) {
          yield { labels: [route.id, operation], value: breakerStates[view.state] };
        }
      }
    },
    "max",
  );
  registry.gauge(
    "gateway_route_in_flight",
    "Tries that wait for the first output of a route.",
    ["route", "operation"],
    function* (): Iterable<GaugeSample> {
      for (const { route, operations } of router.reports()) {
        for (const [operation, view] of Object.entries(operations)) {
          yield { labels: [route.id, operation], value: view.inFlight };
        }
      }
    },
  );
  registry.gauge(
    "gateway_route_switched_off",
    "1 while an operator has taken the route out.",
    ["route"],
    function* (): Iterable<GaugeSample> {
      for (const { route, switched } of router.reports()) {
        yield { labels: [route.id], value: switched === undefined ? 0 : 1 };
      }
    },
    "max",
  );
  registry.gauge(
    "gateway_provider_keys_resting",
    "Keys of a provider that rest, since it refused or limited them.",
    ["provider"],
    function* (): Iterable<GaugeSample> {
      const seen = new Set<string>();
      for (const { route: { provider }, credentials } of router.reports()) {
        if (!seen.has(provider)) yield { labels: [provider], value: credentials.resting };
        seen.add(provider);
      }
    },
    "max",
  );
}

/** Adds what metrics say of running calls, and of those that wait for the store. */
function addCallGauges(registry: Registry, state: GatewayState): void {
  registry.gauge("gateway_calls_in_flight", "Calls that run now.", [], () => [
    { labels: [], value: state.calls.count },
  ]);
  registry.gauge("gateway_held_bytes", "Bytes of large bodies that calls hold now.", [], () => [
    { labels: [], value: state.bodies.usedBytes },
  ]);
  registry.gauge(
    "gateway_held_answer_bytes",
    "Bytes of large answers that calls hold now.",
    [],
    () => [{ labels: [], value: state.answers.usedBytes }],
  );
  registry.gauge(
    "gateway_kept_response_bytes",
    "Bytes of Responses turns that are kept for later calls, running calls included.",
    [],
    () => [{ labels: [], value: state.keptResponses.bytes }],
  );
  registry.gauge(
    "gateway_teller_healthy",
    "0 when the ledger cannot be written: nothing is admitted then.",
    [],
    () => [{ labels: [], value: state.wallet.healthy ? 1 : 0 }],
    "min",
  );
  registry.gauge(
    "gateway_receipts_pending",
    "Calls that ended and whose receipts are not durable yet.",
    [],
    () => [{ labels: [], value: state.wallet.load.unsettled }],
  );
  registry.gauge("gateway_commit_queue", "Those of them that are in no commit yet.", [], () => [
    { labels: [], value: state.wallet.load.queued },
  ]);
  registry.keptCounter(
    "gateway_commit_retries_total",
    "How often the ledger repeated what the store refused or did not answer.",
    () => state.wallet.load.retries,
  );
}

/** Adds memory, CPU and build. All threads of a process see the same, but each has a heap of its own. */
function addProcessMetrics(registry: Registry): void {
  const bytes = (read: (usage: Deno.MemoryUsage) => number) => () => [
    { labels: [], value: read(Deno.memoryUsage()) },
  ];
  registry.gauge(
    "process_resident_memory_bytes",
    "Resident memory of the process.",
    [],
    bytes(({ rss }) => rss),
    "max",
  );
  registry.gauge(
    "gateway_heap_bytes",
    "JavaScript heap in use; of several threads, of the one with the most.",
    [],
    bytes(({ heapUsed }) => heapUsed),
    "max",
  );
  registry.keptCounter("process_cpu_seconds_total", "CPU time of the process.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }, "max");
  registry.gauge(
    "gateway_build_info",
    "Versions: of the runtime, and of the schema of the store that this release writes.",
    ["deno", "schema"],
    () => [{ labels: [Deno.version.deno, String(programSchemaVersion)], value: 1 }],
    "max",
  );
}

/** Lets metrics show the state of a gateway. */
export function showState(registry: Registry, state: GatewayState): void {
  addRouteGauges(registry, state);
  addCallGauges(registry, state);
}

function countEvents(registry: Registry): EventCounts {
  const commits = registry.histogram(
    "gateway_commit_seconds",
    "Time until the store confirmed a commit.",
    [],
    commitBounds,
  );
  const late = registry.counter(
    "gateway_late_receipts_total",
    "Answers that were withheld since the store did not confirm their receipts in time.",
    ["charge"],
  );
  const refunds = registry.counter(
    "gateway_withheld_refunds_total",
    "Withheld answers that were charged: refunded, or failed to be.",
    ["result"],
  );
  const refusals = registry.counter(
    "gateway_provider_refusals_total",
    "Attempts that a provider refused for the operator's key, rights or credit.",
    ["provider", "status"],
  );
  const workers = registry.counter(
    "gateway_workers_replaced_total",
    "Serving threads that ended and were replaced.",
    [],
  );
  // A series that begins with its first event has no increase for it, so no alert would see it.
  for (const charge of ["forgone", "undecided", "kept"]) late.add([charge], 0);
  for (const result of ["refunded", "failed"]) refunds.add([result], 0);
  workers.add([], 0);
  return {
    committed: (tookMs) => commits.observe([], tookMs / 1000),
    receiptLate: (charge) => late.add([charge], 1),
    withheldRefunded: (result) => refunds.add([result], 1),
    providerRefused: (provider, status) => refusals.add([provider, String(status)], 1),
    workerReplaced: () => workers.add([], 1),
  };
}

/** The metrics of a gateway, and what feeds them. */
export interface GatewayMetrics {
  readonly registry: Registry;
  readonly observer: CallObserver;
  readonly events: EventCounts;
}

/** The outcome of a call: one that only keys of its organisation could not serve alarms no operator. */
function countedOutcome({ outcome, attempts }: Receipt): string {
  const isOwn = outcome === "failed" && attempts.length > 0 &&
    attempts.every(({ ownKey }) => ownKey === true);
  return isOwn ? "own_key_failed" : outcome;
}

/** Makes the registry and what feeds it. */
export function createGatewayMetrics(): GatewayMetrics {
  const registry = new Registry();
  addProcessMetrics(registry);
  return { registry, observer: countCalls(registry), events: countEvents(registry) };
}

function countCalls(registry: Registry): CallObserver {
  const calls = registry.counter("gateway_calls_total", "Calls that ended.", [
    "model",
    "outcome",
    "status",
  ]);
  const tokens = registry.counter("gateway_tokens_total", "Tokens of ended calls.", [
    "model",
    "type",
  ]);
  const estimated = registry.counter(
    "gateway_estimated_calls_total",
    "Calls whose tokens we counted ourselves, for want of a report that can be.",
    ["model"],
  );
  const cost = registry.exactCounter(
    "gateway_cost_vnd_total",
    "VND debited.",
    ["model"],
    formatVnd,
  );
  const shortfall = registry.exactCounter(
    "gateway_shortfall_vnd_total",
    "VND that calls cost beyond what their wallets held.",
    ["model"],
    formatVnd,
  );
  const claims = registry.exactCounter(
    "gateway_provider_claims_vnd_total",
    "VND that providers reported beyond what customers paid.",
    ["route"],
    formatVnd,
  );
  const providerCost = registry.exactCounter(
    "gateway_provider_cost_vnd_total",
    "VND that providers charge for calls whose cost is known.",
    ["model", "provider"],
    formatVnd,
  );
  const costedRevenue = registry.exactCounter(
    "gateway_costed_revenue_vnd_total",
    "VND debited for the same calls.",
    ["model", "provider"],
    formatVnd,
  );
  const attempts = registry.counter("gateway_attempts_total", "Tries of routes.", [
    "route",
    "result",
  ]);
  const firstOutput = registry.histogram(
    "gateway_first_output_seconds",
    "Time to the first output of streaming calls.",
    ["model"],
    firstOutputBounds,
  );
  const duration = registry.histogram(
    "gateway_call_duration_seconds",
    "Duration of calls.",
    ["model"],
    durationBounds,
  );
  const refused = registry.counter(
    "gateway_refused_calls_total",
    "Calls that were refused and have no receipt.",
    ["endpoint", "status", "code"],
  );
  return {
    begin: () => undefined,
    call(receipt) {
      const { model, usage } = receipt;
      calls.add([model, countedOutcome(receipt), String(receipt.status)], 1);
      if (usage !== undefined) {
        tokens.add([model, "input"], usage.input);
        tokens.add([model, "cache_read"], usage.cacheRead);
        tokens.add([model, "cache_write"], usage.cacheWrite);
        tokens.add([model, "output"], usage.output);
      }
      if (receipt.estimated) estimated.add([model], 1);
      cost.add([model], receipt.costMicroVnd);
      if (receipt.shortfallMicroVnd > 0n) shortfall.add([model], receipt.shortfallMicroVnd);
      if (receipt.claimMicroVnd !== undefined) {
        claims.add([receipt.route ?? ""], receipt.claimMicroVnd);
      }
      if (receipt.providerCost?.kind === "known") {
        const provider = receipt.route?.split("/", 1)[0] ?? "";
        providerCost.add([model, provider], receipt.providerCost.costMicroVnd);
        costedRevenue.add([model, provider], receipt.costMicroVnd);
      }
      for (const { route, outcome, ownKey } of receipt.attempts) {
        // A provider that refuses a customer's key is no matter of the operator's route.
        if (ownKey === undefined) attempts.add([route, outcome], 1);
      }
      if (receipt.stream && receipt.firstOutputMs !== undefined) {
        firstOutput.observe([model], receipt.firstOutputMs / 1000);
      }
      duration.observe([model], receipt.latencyMs / 1000);
    },
    refused({ endpoint, status, code }) {
      refused.add([endpoint, String(status), code], 1);
    },
  };
}
