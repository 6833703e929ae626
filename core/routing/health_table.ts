/**
 * The present state of all routes: how each is reached, how it fares, and which customers rest on it.
 *
 * {@linkcode ProviderAccess} has the transport of each provider, and a credential of it that is not resting.
 * {@linkcode HealthTable} has one entry per route and operation, and makes the reports of them. {@linkcode
 * CustomerLimits} has the rate limits of providers that single customers met: such a customer rests on the route, the
 * route does not.
 */
import { invariant } from "../lib/base/assert.ts";
import type { RouteAccess } from "../calls/exchange/chat_call.ts";
import type { ProviderAuth } from "../catalog/entries/cloud_schema.ts";
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { GatewayError, Mark } from "../lib/errors/errors.ts";
import type { Transport } from "../net/transport/transport.ts";
import { cloudTransport } from "../clouds/cloud_transport.ts";
import {
  type Authorizer,
  type AuthorizerTools,
  CredentialFailure,
} from "../clouds/credentials/authorizer.ts";
import { createAuthorizer } from "../clouds/credentials/create_authorizer.ts";
import type { ProviderEntry } from "../catalog/schema.ts";
import type { Deadlines } from "../lib/time/deadlines.ts";
import { Credentials, type SharedCredential } from "./health/credentials.ts";
import { hashHex } from "../lib/hash/short_hash.ts";
import {
  type CredentialCounts,
  type KeyPreference,
  type ModelStatus,
  type Operation,
  operations,
  type RouteReport,
  type TokenAnswer,
  type WantedToken,
} from "./contract/router.ts";
import { RouteHealth } from "./health/route_health.ts";
import { LimitedCustomers, type SharedLimit } from "./health/limited_customers.ts";

/** Parts from which access to providers is built. */
export interface ProviderAccessOptions {
  /** The catalogue at the start, and the secrets of its providers. */
  readonly catalog: Catalog;
  readonly providerKeys: Readonly<Record<string, readonly string[]>>;
  /** The transport of a provider of the catalogue that is being put in force, by its name. */
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

/** Mark of the credential by a status alone. */
function markOf(status: number): Mark {
  return status === 401 ? "credential" : status === 429 ? "rate" : "nothing";
}

/** A provider of the catalogue in force, or of one before it that calls still use. */
interface ReachedProvider {
  readonly name: string;
  readonly entry: ProviderEntry;
  readonly credentials: Credentials;
  readonly secrets: readonly string[];
  readonly transport: Transport;
  /** Authorizers, for credentials that are more than a header, by secret. */
  readonly authorizers: Map<string, Authorizer>;
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, i) => text === other[i]);
}

/**
 * The account of a key at its vendor: keys of one organisation read what each of them has sealed. A key alone is an
 * account of its own, as far as is known.
 */
function accountOf({ name, entry }: ReachedProvider, mark: string | undefined): string {
  return entry.kind === "http" && entry.organization !== undefined
    ? `organization ${entry.organization}`
    : `${name} ${mark ?? ""}`;
}

/**
 * Ranks the keys of a provider for a conversation: those of the account that has answered it, and among equal ones the
 * highest hash of conversation and key, so that all instances choose the same (rendezvous hashing).
 */
function rankingOf(
  provider: ReachedProvider,
  { account, conversation }: KeyPreference,
): ((mark: string) => string) | undefined {
  if (provider.secrets.length < 2 || conversation === undefined && account === undefined) {
    return undefined;
  }
  const isOwn = (mark: string) => accountOf(provider, mark) === account;
  return (mark) => `${isOwn(mark) ? 1 : 0}${hashHex(`${conversation} ${mark}`)}`;
}

/** Hands out the credentials of all providers, and learns from the statuses they get. */
export class ProviderAccess {
  readonly #options: ProviderAccessOptions;
  readonly #onChange: OnChange;
  #providers: ReadonlyMap<string, ReachedProvider> = new Map();
  /** The provider of each route, also of routes that were removed and still have calls. */
  readonly #ofRoute = new WeakMap<Route, ReachedProvider>();

  constructor(options: ProviderAccessOptions, onChange: OnChange = () => {}) {
    this.#options = options;
    this.#onChange = onChange;
    this.replaceCatalog(options);
  }

  /** Changes to other providers. Those that are the same keep their credentials, and what is known of them. */
  replaceCatalog(
    { catalog, providerKeys }: Pick<ProviderAccessOptions, "catalog" | "providerKeys">,
  ): void {
    const providers = new Map<string, ReachedProvider>();
    for (const [name, entry] of Object.entries(catalog.providers)) {
      const secrets = providerKeys[name] ?? [];
      const former = this.#providers.get(name);
      const isKept = former?.entry === entry && isSameList(former.secrets, secrets);
      providers.set(name, isKept ? former : this.#reach(name, entry, secrets));
    }
    this.#providers = providers;
    for (const { routes } of catalog.models) {
      for (const route of routes) {
        const provider = providers.get(route.provider);
        if (provider !== undefined) this.#ofRoute.set(route, provider);
      }
    }
  }

  #reach(name: string, entry: ProviderEntry, secrets: readonly string[]): ReachedProvider {
    return {
      name,
      entry,
      secrets,
      credentials: new Credentials(secrets, (at, isUrgent) => this.#onChange(name, at, isUrgent)),
      transport: this.#options.transportOf(name),
      authorizers: new Map(),
    };
  }

  #of(route: Route): ReachedProvider | undefined {
    return this.#ofRoute.get(route) ?? this.#providers.get(route.provider);
  }

  /**
   * Takes a credential for one attempt.
   *
   * @param options `pinned`: the secret to use, where only the one that began a task will do
   */
  of(
    route: Route,
    { pinned, preferred }: {
      readonly pinned?: string | undefined;
      readonly preferred?: KeyPreference | undefined;
    } = {},
  ): RouteAccess {
    const { clock } = this.#options;
    const provider = this.#of(route);
    invariant(provider !== undefined, () => `No provider ${route.provider}`);
    const { entry, credentials } = provider;
    const secret = pinned ??
      credentials.take(clock.monotonicMs(), preferred && rankingOf(provider, preferred));
    let refused = false;
    return {
      provider: entry,
      secret,
      account: accountOf(provider, credentials.markOf(secret)),
      transport: this.#transport(provider, secret, (failure) => {
        refused = true;
        const nowMs = clock.monotonicMs();
        if (secret === undefined) return;
        if (failure.isRefusal) credentials.refused(secret, nowMs, failure.reason);
        else credentials.limited(secret, nowMs, undefined, failure.reason);
      }),
      onStatus(status, retryAfterSeconds, marks = markOf(status)) {
        if (secret === undefined) return;
        const nowMs = clock.monotonicMs();
        if (marks === "credential") {
          refused = true;
          credentials.refused(secret, nowMs, `status ${status}`);
        } else if (marks === "rate") {
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
    provider: ReachedProvider,
    secret: string | undefined,
    onFailure: (failure: CredentialFailure) => void,
  ): Transport {
    const { entry, transport } = provider;
    if (entry.kind === "sandbox") return transport;
    const { auth, cloud } = entry;
    if (cloud === undefined && typeof auth === "string") return transport;
    const authorizer = secret === undefined ? undefined : this.#authorizer(provider, auth, secret);
    const { deadlines } = this.#options;
    return cloudTransport({ transport, cloud, authorizer, deadlines, onFailure });
  }

  #authorizer(
    provider: ReachedProvider,
    auth: ProviderAuth,
    secret: string,
  ): Authorizer | undefined {
    let authorizer = provider.authorizers.get(secret);
    if (authorizer === undefined) {
      const { clock, deadlines, readTextFile } = this.#options;
      authorizer = createAuthorizer(auth, secret, {
        transport: provider.transport,
        clock,
        deadlines,
        readTextFile,
        onRenewal: (failure) => provider.credentials.renewed(secret, failure),
        issueElsewhere: this.#elsewhere(provider, secret),
      });
      if (authorizer !== undefined) provider.authorizers.set(secret, authorizer);
    }
    return authorizer;
  }

  /** Gets a token of a key in this thread where another one renews them. */
  #elsewhere(
    { name, credentials }: ReachedProvider,
    secret: string,
  ): AuthorizerTools["issueElsewhere"] {
    const { askToken } = this.#options;
    const at = credentials.placeOf(secret);
    const mark = credentials.markAt(at);
    if (askToken === undefined || mark === undefined) return undefined;
    return async (refused) => {
      const answer = await askToken({ provider: name, at, mark, refused });
      if (answer.ok) return answer.issued;
      throw new CredentialFailure(answer.reason, answer.isRefusal);
    };
  }

  /** Gives another thread a token. */
  async tokenFor({ provider: name, at, mark, refused }: WantedToken): Promise<TokenAnswer> {
    const provider = this.#providers.get(name);
    const secret = provider?.credentials.secretAt(at, mark);
    const authorizer = provider === undefined || provider.entry.kind === "sandbox" ||
        secret === undefined
      ? undefined
      : this.#authorizer(provider, provider.entry.auth, secret);
    if (authorizer?.issued === undefined) {
      // The threads change to another version of the catalogue, or to a replaced key, one after the other.
      return { ok: false, reason: "another version of the catalogue or the key", isRefusal: false };
    }
    try {
      return { ok: true, issued: await authorizer.issued(refused) };
    } catch (error) {
      if (!(error instanceof CredentialFailure)) throw error;
      return { ok: false, reason: error.reason, isRefusal: error.isRefusal };
    }
  }

  /** State of a key, for other threads. */
  shared(provider: string, at: number, nowMs: number): SharedCredential | undefined {
    return this.#providers.get(provider)?.credentials.shared(at, nowMs);
  }

  /** Merges what another thread knows of a key. */
  merge(provider: string, at: number, shared: SharedCredential, nowMs: number): void {
    this.#providers.get(provider)?.credentials.merge(at, shared, nowMs);
  }

  /** The keys that are not as they were in the beginning. */
  *known(nowMs: number): Iterable<{ provider: string; at: number }> {
    for (const [provider, { credentials }] of this.#providers) {
      for (let at = 0; at < credentials.count; at++) {
        const known = credentials.shared(at, nowMs);
        if (known === undefined) continue;
        const { restMs, refusals, renewalFailure } = known;
        if (restMs > 0 || refusals > 0 || renewalFailure !== undefined) yield { provider, at };
      }
    }
  }

  /** Whether the provider of a route has all its keys in the store, and none of them is there. */
  isUnconfigured(route: Route): boolean {
    const provider = this.#of(route);
    return provider?.entry.kind === "http" && provider.entry.apiKeyVault.length > 0 &&
      provider.secrets.length === 0;
  }

  /** Whether the provider of a route has a credential left that does not rest. */
  hasFreshKey(route: Route, nowMs: number): boolean {
    return this.#of(route)?.credentials.hasFresh(nowMs) ?? false;
  }

  /** Number of credentials of the provider of a route, and how many of them rest, and why. */
  counts(route: Route, nowMs: number): CredentialCounts {
    if (this.isUnconfigured(route)) return { count: 0, resting: 0, reasons: ["not configured"] };
    const credentials = this.#of(route)?.credentials;
    return {
      count: credentials?.count ?? 0,
      resting: credentials?.resting(nowMs) ?? 0,
      reasons: credentials?.reasons(nowMs) ?? [],
    };
  }
}

/** Makes entries when they are first asked for. Bounded by the routes of the catalog. */
export class HealthTable {
  readonly #health = new Map<Route, Map<Operation, RouteHealth>>();

  of(route: Route, operation: Operation): RouteHealth {
    let byOperation = this.#health.get(route);
    if (byOperation === undefined) this.#health.set(route, byOperation = new Map());
    let health = byOperation.get(operation);
    if (health === undefined) byOperation.set(operation, health = new RouteHealth());
    return health;
  }

  /** The entry of a route that was used for an operation, without making one. */
  known(route: Route, operation: Operation): RouteHealth | undefined {
    return this.#health.get(route)?.get(operation);
  }

  /** Forgets routes that are no longer configured. A call that still runs on one makes an entry that the next change forgets. */
  keepOnly(routes: ReadonlySet<Route>): void {
    for (const route of this.#health.keys()) if (!routes.has(route)) this.#health.delete(route);
  }

  /** All entries that were made. */
  *entries(): Iterable<{ route: Route; operation: Operation; health: RouteHealth }> {
    for (const [route, byOperation] of this.#health) {
      for (const [operation, health] of byOperation) yield { route, operation, health };
    }
  }

  /** The state of a model by what is known of its routes in service. */
  stateOf(inService: readonly Route[], nowMs: number): ModelStatus["state"] {
    let allWell = inService.length > 0;
    let someWorks = false;
    for (const route of inService) {
      const known = [...this.#health.get(route)?.values() ?? []];
      const states = known.map((health) => health.availability(nowMs));
      if (states.some((state) => state !== "yes")) allWell = false;
      if (states.length === 0 || states.some((state) => state !== "no")) someWorks = true;
    }
    return allWell ? "up" : someWorks ? "degraded" : "down";
  }
}

/** Sources of the report on routes. */
interface ReportSources {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly switchOf: (routeId: string) => RouteReport["switched"];
  readonly health: HealthTable;
  readonly access: ProviderAccess;
}

/** All that is known of every route, for operators. */
export function routeReports(
  { catalog, clock, switchOf, health, access }: ReportSources,
): RouteReport[] {
  const nowMs = clock.monotonicMs();
  const wallOffsetMs = clock.nowMs() - nowMs;
  const reportOf = (model: Model, route: Route): RouteReport => {
    const views: RouteReport["operations"] = {};
    for (const operation of operations) {
      const known = health.known(route, operation);
      if (known !== undefined) views[operation] = known.view(nowMs, wallOffsetMs);
    }
    return {
      model: model.id,
      route,
      switched: switchOf(route.id),
      operations: views,
      credentials: access.counts(route, nowMs),
    };
  };
  return catalog.models.flatMap((model) => model.routes.map((route) => reportOf(model, route)));
}

/** Called with a customer of whom something was learned; urgent if a rest begins. */
type OnCustomerChange = (route: Route, customer: string, isUrgent: boolean) => void;

/** The limited customers of all routes. Bounded by the routes of the catalog. */
export class CustomerLimits {
  readonly #limited = new Map<Route, LimitedCustomers>();
  readonly #onChange: OnCustomerChange;

  constructor(onChange: OnCustomerChange = () => {}) {
    this.#onChange = onChange;
  }

  /**
   * While a customer rests on a route that limited it: what is left of the time that the provider asked for; 0 if it does
   * not rest.
   */
  restMs(route: Route, customer: string | undefined, nowMs: number): number {
    const limited = customer === undefined ? undefined : this.#limited.get(route);
    if (limited === undefined || customer === undefined) return 0;
    const restMs = limited.restMs(customer, nowMs);
    return restMs === 0
      ? limited.paceMs(customer, nowMs)
      : Math.max(restMs, limited.askedMs(customer, nowMs));
  }

  /** A call of a customer may go to a route. */
  began(route: Route, customer: string, nowMs: number): void {
    this.#limited.get(route)?.began(customer, nowMs);
  }

  /** Counts a refused call; returns whether, as far as is known, the limit is only one customer's. */
  refused(
    route: Route,
    refused: string,
    { retryAfterSeconds }: GatewayError,
    nowMs: number,
  ): boolean {
    const limited = this.#of(route);
    const customer = limited.blamed(refused, nowMs);
    const askedMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
    const rested = limited.restMs(customer, nowMs) > 0;
    const isEvidence = limited.refused(customer, askedMs, nowMs);
    this.#onChange(route, customer, !rested);
    return !isEvidence;
  }

  /**
   * Counts a refusal that the customer's own request may have caused; returns whether, as far as is known, only this
   * customer meets it on the route.
   */
  disputed(route: Route, customer: string, nowMs: number): boolean {
    return !this.#of(route).disputed(customer, nowMs);
  }

  /** Whether a call of the customer should try other routes first: see {@linkcode CustomerLimits.disputed}. */
  isDisputed(route: Route, customer: string | undefined, nowMs: number): boolean {
    return customer !== undefined &&
      (this.#limited.get(route)?.isDisputed(customer, nowMs) ?? false);
  }

  /** A call worked on a route. */
  worked(route: Route, customer: string | undefined, nowMs: number): void {
    const wasLimited = this.#limited.get(route)?.worked(customer, nowMs) ?? false;
    if (wasLimited && customer !== undefined) this.#onChange(route, customer, false);
  }

  /** See {@linkcode LimitedCustomers.takeServed}. */
  takeServed(route: Route): readonly (readonly [customer: string, calls: number])[] {
    return this.#limited.get(route)?.takeServed() ?? [];
  }

  /** Counts calls that another thread served while the route was limited. */
  served(
    route: Route,
    calls: readonly (readonly [customer: string, calls: number])[],
    nowMs: number,
  ): void {
    const limited = this.#of(route);
    for (const [customer, count] of calls) limited.served(customer, count, nowMs);
  }

  /** Forgets routes that are no longer configured. */
  keepOnly(routes: ReadonlySet<Route>): void {
    for (const route of this.#limited.keys()) if (!routes.has(route)) this.#limited.delete(route);
  }

  /** All that are remembered. */
  *entries(): Iterable<{ route: Route; customer: string }> {
    for (const [route, limited] of this.#limited) {
      for (const customer of limited.customers()) yield { route, customer };
    }
  }

  /** See {@linkcode LimitedCustomers.shared}. */
  shared(route: Route, customer: string, nowMs: number): SharedLimit | undefined {
    return this.#limited.get(route)?.shared(customer, nowMs);
  }

  /** Merges what another thread knows; `undefined`: the customer is limited no more. */
  merge(route: Route, customer: string, shared: SharedLimit | undefined, nowMs: number): void {
    if (shared === undefined) this.#limited.get(route)?.worked(customer, nowMs);
    else this.#of(route).merge(customer, shared, nowMs);
  }

  #of(route: Route): LimitedCustomers {
    let limited = this.#limited.get(route);
    if (limited === undefined) this.#limited.set(route, limited = new LimitedCustomers());
    return limited;
  }
}
