/** The metric of prepaid credit at providers that tell it. They are asked only when somebody scrapes. */
import { accountRequest } from "../../core/calls/exchange/provider_request.ts";
import type { ProviderCredit } from "../../core/catalog/presets/preset.ts";
import { presetOf } from "../../core/catalog/presets/presets.ts";
import { maxErrorBodyBytes, readWhole } from "../../core/net/transport/read_whole.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { minuteMs } from "../../core/lib/time/durations.ts";
import type { Router } from "../../core/routing/contract/router.ts";
import { KeptReading } from "./kept_reading.ts";
import type { GaugeSample, Registry } from "./registry.ts";

/** Milliseconds between two questions to a provider: credit lasts for days. */
const readEveryMs = 10 * minuteMs;

/** Milliseconds to wait for its answer. */
const answerMs = 10_000;

/** Currencies of one provider that are shown: those that tell several have two. */
const maxCurrencies = 4;

/** What asks providers. */
export interface CreditDeps {
  readonly router: Pick<Router, "reports" | "access">;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}

/** Asks the provider of a route; an empty list if it does not tell. */
async function creditOf(
  { router, deadlines }: CreditDeps,
  route: Parameters<Router["access"]>[0],
): Promise<readonly ProviderCredit[]> {
  const { provider, secret, transport } = router.access(route);
  if (provider.kind !== "http" || provider.preset === undefined) return [];
  const { credit } = presetOf(provider.preset);
  if (credit === undefined) return [];
  const exchange = transport.open(accountRequest(provider, credit.path, secret));
  const deadline = deadlines.create(() => exchange.cancel());
  deadline.arm(answerMs);
  try {
    const response = await exchange.response;
    const text = new TextDecoder().decode(await readWhole(response, maxErrorBodyBytes));
    if (response.status !== 200) return [];
    return credit.read(JSON.parse(text))
      .filter(({ currency, amount }) => /^[A-Z]{3}$/.test(currency) && Number.isFinite(amount))
      .slice(0, maxCurrencies);
  } catch {
    exchange.cancel();
    return []; // its calls show whether the provider works
  } finally {
    deadline.disarm();
  }
}

async function readCredits(deps: CreditDeps): Promise<readonly GaugeSample[]> {
  const routes = new Map(deps.router.reports().map(({ route }) => [route.provider, route]));
  const samples = await Promise.all(Array.from(routes, async ([provider, route]) => {
    const credits = await creditOf(deps, route);
    return credits.map(({ currency, amount }) => ({ labels: [provider, currency], value: amount }));
  }));
  return samples.flat();
}

/** Adds the metric. */
export function showProviderCredit(registry: Registry, deps: CreditDeps): void {
  const reading = new KeptReading(() => readCredits(deps), deps.clock, readEveryMs);
  registry.readBefore(() => reading.refresh());
  registry.gauge(
    "gateway_provider_credit",
    "Prepaid credit that is left at a provider, as it tells it.",
    ["provider", "currency"],
    () => reading.last ?? [],
    "max",
  );
}
