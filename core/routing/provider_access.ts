/** How routes are reached right now: the transport of their provider, and a credential that is not resting. */
import { invariant } from "../lib/assert.ts";
import type { RouteAccess } from "../calls/chat_exchange.ts";
import type { Catalog, Route } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Transport } from "../upstream/transport.ts";
import { Credentials } from "./credentials.ts";

/** What access to providers is built from. */
export interface ProviderAccessOptions {
  readonly catalog: Catalog;
  readonly providerKeys: Readonly<Record<string, readonly string[]>>;
  /** The transport of a provider, by its name. */
  readonly transportOf: (provider: string) => Transport;
  readonly clock: Clock;
}

/** Statuses by which a provider refuses a credential. */
const keyRefusals: ReadonlySet<number> = new Set([401, 403]);

/** Hands out the credentials of all providers, and learns from the statuses they get. */
export class ProviderAccess {
  readonly #options: ProviderAccessOptions;
  readonly #credentials = new Map<string, Credentials>();

  constructor(options: ProviderAccessOptions) {
    this.#options = options;
    for (const provider of Object.keys(options.catalog.providers)) {
      this.#credentials.set(provider, new Credentials(options.providerKeys[provider] ?? []));
    }
  }

  /** Takes a credential for one attempt. */
  of(route: Route): RouteAccess {
    const { catalog, clock, transportOf } = this.#options;
    const provider = catalog.providers[route.provider];
    const credentials = this.#credentials.get(route.provider);
    invariant(provider !== undefined && credentials !== undefined, `No provider ${route.provider}`);
    const secret = credentials.take(clock.monotonicMs());
    let refused = false;
    return {
      provider,
      secret,
      transport: transportOf(route.provider),
      onStatus(status, retryAfterSeconds) {
        if (secret === undefined) return;
        const nowMs = clock.monotonicMs();
        if (keyRefusals.has(status)) {
          refused = true;
          credentials.refused(secret, nowMs);
        } else if (status === 429) {
          refused = true;
          const retryAfterMs = retryAfterSeconds === undefined
            ? undefined
            : retryAfterSeconds * 1000;
          credentials.limited(secret, nowMs, retryAfterMs);
        } else if (status < 300) credentials.worked(secret);
      },
      mayRepeat: () => refused && credentials.hasFresh(clock.monotonicMs()),
    };
  }

  /** Whether the provider of a route has a credential left that does not rest. */
  hasFreshKey(route: Route, nowMs: number): boolean {
    return this.#credentials.get(route.provider)?.hasFresh(nowMs) ?? false;
  }

  /** How many credentials the provider of a route has, and how many of them rest. */
  counts(route: Route, nowMs: number): { readonly count: number; readonly resting: number } {
    const credentials = this.#credentials.get(route.provider);
    return { count: credentials?.count ?? 0, resting: credentials?.resting(nowMs) ?? 0 };
  }
}
