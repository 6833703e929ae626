/** How routes are reached right now: the transport of their provider, and a credential that is not resting. */
import { invariant } from "../lib/assert.ts";
import type { RouteAccess } from "../calls/chat_exchange.ts";
import type { ProviderAuth } from "../catalog/auth_kinds.ts";
import type { Catalog, Route } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Transport } from "../upstream/transport.ts";
import { cloudTransport } from "../clouds/cloud_transport.ts";
import type { Authorizer, CredentialFailure } from "../clouds/credentials/authorizer.ts";
import { createAuthorizer } from "../clouds/credentials/create_authorizer.ts";
import type { ProviderEntry } from "../catalog/schema.ts";
import type { Deadlines } from "../lib/time/deadlines.ts";
import { Credentials } from "./credentials.ts";
import type { CredentialCounts } from "./router.ts";

/** What access to providers is built from. */
export interface ProviderAccessOptions {
  readonly catalog: Catalog;
  readonly providerKeys: Readonly<Record<string, readonly string[]>>;
  /** The transport of a provider, by its name. */
  readonly transportOf: (provider: string) => Transport;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
}

/** Statuses by which a provider refuses a credential. */
const keyRefusals: ReadonlySet<number> = new Set([401, 403]);

/** Hands out the credentials of all providers, and learns from the statuses they get. */
export class ProviderAccess {
  readonly #options: ProviderAccessOptions;
  readonly #credentials = new Map<string, Credentials>();
  /** What adds credentials that are more than a header, by provider and secret. */
  readonly #authorizers = new Map<string, Map<string, Authorizer>>();

  constructor(options: ProviderAccessOptions) {
    this.#options = options;
    for (const provider of Object.keys(options.catalog.providers)) {
      this.#credentials.set(provider, new Credentials(options.providerKeys[provider] ?? []));
    }
  }

  /**
   * Takes a credential for one attempt.
   *
   * @param pinned the secret to use, where only the one that began a task will do
   */
  of(route: Route, pinned?: string): RouteAccess {
    const { catalog, clock } = this.#options;
    const provider = catalog.providers[route.provider];
    const credentials = this.#credentials.get(route.provider);
    invariant(provider !== undefined && credentials !== undefined, `No provider ${route.provider}`);
    const secret = pinned ?? credentials.take(clock.monotonicMs());
    let refused = false;
    return {
      provider,
      secret,
      transport: this.#transport(route.provider, provider, secret, (failure) => {
        refused = true;
        const nowMs = clock.monotonicMs();
        if (secret === undefined) return;
        if (failure.isRefusal) credentials.refused(secret, nowMs, failure.reason);
        else credentials.limited(secret, nowMs, undefined, failure.reason);
      }),
      onStatus(status, retryAfterSeconds) {
        if (secret === undefined) return;
        const nowMs = clock.monotonicMs();
        if (keyRefusals.has(status)) {
          refused = true;
          credentials.refused(secret, nowMs, `status ${status}`);
        } else if (status === 429) {
          refused = true;
          const retryAfterMs = retryAfterSeconds === undefined
            ? undefined
            : retryAfterSeconds * 1000;
          credentials.limited(secret, nowMs, retryAfterMs, `status ${status}`);
        } else if (status < 300) credentials.worked(secret);
      },
      mayRepeat: () => refused && credentials.hasFresh(clock.monotonicMs()),
    };
  }

  /** The transport of a provider, with what its cloud needs. */
  #transport(
    name: string,
    provider: ProviderEntry,
    secret: string | undefined,
    onFailure: (failure: CredentialFailure) => void,
  ): Transport {
    const { transportOf, deadlines } = this.#options;
    const transport = transportOf(name);
    if (provider.kind === "sandbox") return transport;
    const { auth, cloud } = provider;
    if (cloud === undefined && typeof auth === "string") return transport;
    const authorizer = secret === undefined ? undefined : this.#authorizer(name, auth, secret);
    return cloudTransport({ transport, cloud, authorizer, deadlines, onFailure });
  }

  #authorizer(name: string, auth: ProviderAuth, secret: string): Authorizer | undefined {
    let known = this.#authorizers.get(name);
    if (known === undefined) this.#authorizers.set(name, known = new Map());
    let authorizer = known.get(secret);
    if (authorizer === undefined) {
      const { transportOf, clock, deadlines } = this.#options;
      authorizer = createAuthorizer(auth, secret, {
        transport: transportOf(name),
        clock,
        deadlines,
        onRenewal: (failure) => this.#credentials.get(name)?.renewed(secret, failure),
      });
      if (authorizer !== undefined) known.set(secret, authorizer);
    }
    return authorizer;
  }

  /** Whether the provider of a route has a credential left that does not rest. */
  hasFreshKey(route: Route, nowMs: number): boolean {
    return this.#credentials.get(route.provider)?.hasFresh(nowMs) ?? false;
  }

  /** How many credentials the provider of a route has, and how many of them rest, and why. */
  counts(route: Route, nowMs: number): CredentialCounts {
    const credentials = this.#credentials.get(route.provider);
    return {
      count: credentials?.count ?? 0,
      resting: credentials?.resting(nowMs) ?? 0,
      reasons: credentials?.reasons(nowMs) ?? [],
    };
  }
}
