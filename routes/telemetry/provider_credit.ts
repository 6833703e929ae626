/** The metric of prepaid credit at providers that tell it. They are asked only when somebody scrapes. */
import { accountRequest } from "../../core/calls/exchange/provider_request.ts";
import type { Catalog, Route } from "../../core/catalog/catalog.ts";
import type { CreditSource, ProviderCredit } from "../../core/catalog/presets/preset.ts";
import { presetOf } from "../../core/catalog/presets/presets.ts";
import { maxErrorBodyBytes, readWhole } from "../../core/net/transport/read_whole.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { minuteMs } from "../../core/lib/time/durations.ts";
import type { Router } from "../../core/routing/contract/router.ts";
import type { LiveCatalog } from "../../kv/services/catalog/live_catalog.ts";
import { KeptReading } from "./store_metrics.ts";
import type { GaugeSample, Registry } from "./registry.ts";

/** Milliseconds between two questions to a provider: credit lasts for days. */
const readEveryMs = 10 * minuteMs;

/** Milliseconds to wait for its answer. */
const answerMs = 10_000;

/** Currencies of one provider that are shown: those that tell several have two. */
const maxCurrencies = 4;

/** Needs of asking providers. */
export interface CreditDeps {
  readonly catalog: Pick<LiveCatalog, "current">;
  readonly router: Pick<Router, "access">;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}

/** Returns a route of each provider that tells its credit; the others are not asked for anything. */
function tellingRoutes({ models, providers }: Catalog): ReadonlyMap<Route, CreditSource> {
  const routes = new Map(
    models.flatMap((model) => model.routes.map((route) => [route.provider, route] as const)),
  );
  return new Map(
    Array.from(routes.values()).flatMap((route) => {
      const provider = providers[route.provider];
      if (provider?.kind !== "http" || provider.preset === undefined) return [];
      const { credit } = presetOf(provider.preset);
      return credit === undefined ? [] : [[route, credit] as const];
    }),
  );
}

/** Asks the provider of a route; an empty list if it does not tell now. */
async function creditOf(
  { router, deadlines }: CreditDeps,
  route: Route,
  source: CreditSource,
): Promise<readonly ProviderCredit[]> {
  const { provider, secret, transport } = router.access(route);
  if (provider.kind !== "http") return [];
  const exchange = transport.open(accountRequest(provider, source.path, secret));
  const deadline = deadlines.create(() => exchange.cancel());
  deadline.arm(answerMs);
  try {
    const response = await exchange.response;
    const text = new TextDecoder().decode(await readWhole(response, maxErrorBodyBytes));
    if (response.status !== 200) return [];
    return source.read(JSON.parse(text))
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
  const routes = tellingRoutes(deps.catalog.current);
  const samples = await Promise.all(Array.from(routes, async ([route, source]) => {
    const credits = await creditOf(deps, route, source);
    return credits.map(({ currency, amount }) => {
      return { labels: [route.provider, currency], value: amount };
    });
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
