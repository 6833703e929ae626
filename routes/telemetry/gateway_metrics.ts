/** The metrics of the gateway. Labels are models and routes of the catalog, and values of our own enumerations. */
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import type { Router } from "../../core/routing/contract/router.ts";
import { type GaugeSample, Registry } from "./registry.ts";
import type { CallObserver } from "./telemetry.ts";

/** The state that gauges read when metrics are scraped. */
export interface GatewayState {
  readonly router: Pick<Router, "reports">;
  readonly calls: { readonly count: number };
  readonly bodies: { readonly usedBytes: number };
  readonly answers: { readonly usedBytes: number };
  readonly wallet: { readonly healthy: boolean };
}

/** Bucket bounds in seconds: a quick first token takes 0.1 s, the longest call 15 minutes. */
const firstOutputBounds = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 60];
const durationBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 150, 400, 900];

const breakerStates = { closed: 0, half_open: 1, open: 2 } as const;

function addGauges(registry: Registry, state: GatewayState): void {
  registry.gauge(
    "gateway_route_breaker",
    "State of the breaker of a route: 0 closed, 1 half open, 2 open.",
    ["route", "operation"],
    function* (): Iterable<GaugeSample> {
      for (const { route, operations } of state.router.reports()) {
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
      for (const { route, operations } of state.router.reports()) {
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
      for (const { route, switched } of state.router.reports()) {
        yield { labels: [route.id], value: switched === undefined ? 0 : 1 };
      }
    },
    "max",
  );
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
    "gateway_teller_healthy",
    "0 when the ledger cannot be written: nothing is admitted then.",
    [],
    () => [{ labels: [], value: state.wallet.healthy ? 1 : 0 }],
    "min",
  );
}

/** Makes the registry and the observer that feeds it. */
export function createGatewayMetrics(
  state: GatewayState,
): { readonly registry: Registry; readonly observer: CallObserver } {
  const registry = new Registry();
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
  addGauges(registry, state);
  const observer: CallObserver = {
    begin: () => undefined,
    call(receipt) {
      const { model, usage } = receipt;
      calls.add([model, receipt.outcome, String(receipt.status)], 1);
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
      for (const { route, outcome } of receipt.attempts) attempts.add([route, outcome], 1);
      if (receipt.stream && receipt.firstOutputMs !== undefined) {
        firstOutput.observe([model], receipt.firstOutputMs / 1000);
      }
      duration.observe([model], receipt.latencyMs / 1000);
    },
    refused({ endpoint, status, code }) {
      refused.add([endpoint, String(status), code], 1);
    },
  };
  return { registry, observer };
}
