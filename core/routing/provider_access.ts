/** How routes are reached right now: the transport of their provider, and a credential that is not resting. */
import { invariant } from "../lib/assert.ts";
import type { RouteAccess } from "../calls/chat_exchange.ts";
import type { ProviderAuth } from "../catalog/auth_kinds.ts";
import type { Catalog, Route } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Transport } from "../upstream/transport.ts";
import { cloudTransport } from "../clouds/cloud_transport.ts";
import {
  type Authorizer,
  type AuthorizerTools,
  CredentialFailure,
} from "../clouds/credentials/authorizer.ts";
import { createAuthorizer } from "../clouds/credentials/create_authorizer.ts";
import type { ProviderEntry } from "../catalog/schema.ts";
import type { Deadlines } from "../lib/time/deadlines.ts";
import { Credentials, type SharedCredential } from "./credentials.ts";
import type { CredentialCounts } from "./router.ts";
import type { TokenAnswer, WantedToken } from "./shared_state.ts";

/** What access to providers is built from. */
export interface ProviderAccessOptions {
  readonly catalog: Catalog;
  readonly providerKeys: Readonly<Record<string, readonly string[]>>;
  /** The transport of a provider, by its name. */
  readonly transportOf: (provider: string) => Transport;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Reads the files in which platforms keep tokens of workloads. */
  readonly readTextFile?: (path: string) => Promise<string>;
  /** Asks the thread that renews tokens for all; absent in that thread. */
  readonly askToken?: ((wanted: WantedToken) => Promise<TokenAnswer>) | undefined;
}

/** Called with a key, by its place, of which something was learned; urgent if it begins to rest. */
type OnChange = (provider: string, at: number, isUrgent: boolean) => void;

/** Statuses by which a provider refuses a credential. */
const keyRefusals: ReadonlySet<number> = new Set([401, 403]);

/** Hands out the credentials of all providers, and learns from the statuses they get. */
export class ProviderAccess {
  readonly #options: ProviderAccessOptions;
  readonly #credentials = new Map<string, Credentials>();
  /** What adds credentials that are more than a header, by provider and secret. */
  readonly #authorizers = new Map<string, Map<string, Authorizer>>();

  constructor(options: ProviderAccessOptions, onChange: OnChange = () => {}) {
    this.#options = options;
    for (const provider of Object.keys(options.catalog.providers)) {
      const secrets = options.providerKeys[provider] ?? [];
      this.#credentials.set(
        provider,
        new Credentials(secrets, (at, isUrgent) => onChange(provider, at, isUrgent)),
      );
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
      const { transportOf, clock, deadlines, readTextFile } = this.#options;
      authorizer = createAuthorizer(auth, secret, {
        transport: transportOf(name),
        clock,
        deadlines,
        readTextFile,
        onRenewal: (failure) => this.#credentials.get(name)?.renewed(secret, failure),
        issueElsewhere: this.#elsewhere(name, secret),
      });
      if (authorizer !== undefined) known.set(secret, authorizer);
    }
    return authorizer;
  }

  /** How this thread gets a token of a key where another one renews them. */
  #elsewhere(provider: string, secret: string): AuthorizerTools["issueElsewhere"] {
    const { askToken } = this.#options;
    const at = this.#credentials.get(provider)?.placeOf(secret) ?? -1;
    if (askToken === undefined || at < 0) return undefined;
    return async (refused) => {
      const answer = await askToken({ provider, at, refused });
      if (answer.ok) return answer.issued;
      throw new CredentialFailure(answer.reason, answer.isRefusal);
    };
  }

  /** Gives another thread a token. */
  async tokenFor({ provider: name, at, refused }: WantedToken): Promise<TokenAnswer> {
    const provider = this.#options.catalog.providers[name];
    const secret = this.#credentials.get(name)?.secretAt(at);
    invariant(
      provider !== undefined && provider.kind !== "sandbox" && secret !== undefined,
      "all threads have the same configuration",
    );
    const authorizer = this.#authorizer(name, provider.auth, secret);
    invariant(authorizer?.issued !== undefined, "only tokens are asked for");
    try {
      return { ok: true, issued: await authorizer.issued(refused) };
    } catch (error) {
      if (!(error instanceof CredentialFailure)) throw error;
      return { ok: false, reason: error.reason, isRefusal: error.isRefusal };
    }
  }

  /** What is known of a key, for other threads. */
  shared(provider: string, at: number, nowMs: number): SharedCredential | undefined {
    return this.#credentials.get(provider)?.shared(at, nowMs);
  }

  /** Takes over what another thread knows of a key. */
  adopt(provider: string, at: number, shared: SharedCredential, nowMs: number): void {
    this.#credentials.get(provider)?.adopt(at, shared, nowMs);
  }

  /** The keys that are not as they were in the beginning. */
  *known(nowMs: number): Iterable<{ provider: string; at: number }> {
    for (const [provider, credentials] of this.#credentials) {
      for (let at = 0; at < credentials.count; at++) {
        const known = credentials.shared(at, nowMs);
        if (known === undefined) continue;
        const { restMs, refusals, renewalFailure } = known;
        if (restMs > 0 || refusals > 0 || renewalFailure !== undefined) yield { provider, at };
      }
    }
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
