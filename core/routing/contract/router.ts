/**
 * The interface between calls and routing.
 *
 * - Folder `core/routing/contract/`: the interface between calls and routing, and the state of it that the threads of
 *   a process share.
 * - In: the model of a call, and the outcomes of attempts.
 * - Out: types, and the rests of customers who were limited on a route.
 * - Never: orders routes, or gathers what other threads should know: `core/routing/` does.
 */
import type { RouteAccess } from "../../calls/exchange/chat_call.ts";
import type { MeasuredSort, RouteWish } from "../../calls/request/route_preferences.ts";
import type { AttemptResult, Hedge } from "../../calls/attempts/attempt_loop.ts";
import type { Model, Route, RouteStyle } from "../../catalog/catalog.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { HealthView } from "../health/route_health.ts";
import type { IssuedToken } from "../../clouds/credentials/authorizer.ts";
import type { SharedBreaker, SharedEvidence } from "../health/breaker.ts";
import type { SharedCredential } from "../health/credentials.ts";
import type { SharedLimit } from "../health/limited_customers.ts";

/** Operations of calls on a route; health is kept per route and operation. */
export const operations = [
  "chat",
  "chat_stream",
  "image",
  "speech",
  "video",
  "embedding",
  "transcription",
  "rerank",
  "moderation",
  "completion",
] as const;
/** A kind of call that a route has a health for. */
export type Operation = typeof operations[number];

/** A state change of a route that operators should see in the log. */
export interface RouteEvent {
  readonly route: string;
  readonly operation: Operation;
  readonly state: HealthView["state"];
  readonly reason: string | undefined;
}

/** The credentials of a route's provider. */
export interface CredentialCounts {
  readonly count: number;
  readonly resting: number;
  /** Why they rest, without secrets. */
  readonly reasons: readonly string[];
}

/** The state of a route as operators see it. */
export interface RouteReport {
  readonly model: string;
  readonly route: Route;
  /** Set by an operator. */
  readonly switched: "disabled" | "draining" | undefined;
  readonly operations: Partial<Record<Operation, HealthView>>;
  readonly credentials: CredentialCounts;
}

/** States in which a model answers. */
export const modelStates = ["up", "degraded", "down"] as const;

/** The public status of a model. */
export interface ModelStatus {
  readonly state: typeof modelStates[number];
  readonly p50FirstOutputMs: number | undefined;
  readonly p95FirstOutputMs: number | undefined;
}

/** The route that answered a conversation last: its provider has the signatures and the cache. */
export interface FormerRoute {
  readonly routeId: string;
  /** The call continues a turn that this route began: it stays on it even if a route of better priority works again. */
  readonly midTurn: boolean;
}

/** Load of a call on a route, as far as its duration depends on it. */
export interface CallLoad {
  readonly operation: Operation;
  /** The answer comes as a stream. */
  readonly stream: boolean;
  /** Tokens, bytes, seconds or pictures: comparable among calls of one operation. */
  readonly size: number;
}

/** Key of a provider that a call should have, if it does not rest. */
export interface KeyPreference {
  /** The account that can read what it has sealed in the conversation. */
  readonly account?: string | undefined;
  /** Name that all turns of a conversation have in common: the same key for each of them, in every instance. */
  readonly conversation?: string | undefined;
}

/** A call for which routes are requested. */
export interface RouteQuery {
  readonly style: RouteStyle;
  readonly operation: Operation;
  readonly former?: FormerRoute | undefined;
  /** Customer who calls: routes that limit this customer are left out. */
  readonly customer?: string | undefined;
  /** Order that the caller wants. */
  readonly wish?: RouteWish | undefined;
}

/** Chooses the routes of a call and takes reports of attempts. */
export interface Router {
  /** Returns the routes worth trying for a call, best first. Empty if no route may be tried. */
  candidates(model: Model, wanted: RouteQuery): readonly Route[];
  /** Returns the best figure of the routes of a model, of which the lowest is best; `Infinity`: none was measured. */
  measured(model: Model, operation: Operation, sort: MeasuredSort): number;
  /**
   * Begins an attempt: returns how to reach the route now, with a credential that is not resting. Each begin is
   * followed by one {@linkcode Router.report}.
   */
  begin(route: Route, operation: Operation, preferred?: KeyPreference): RouteAccess;
  /**
   * Returns how to reach a route outside of attempts (token counting, polling), without effect on its health.
   *
   * @param pinned the secret to use instead of the next one
   */
  access(route: Route, pinned?: string): RouteAccess;
  /**
   * Learns from an attempt. A caller's own mistake never counts against a route, nor does a rate limit that a single
   * customer met: then only that `customer` rests.
   *
   * @param load of a call for which the router says when it is slow: see {@linkcode Router.slowAfterMs}
   */
  report(
    model: Model,
    route: Route,
    operation: Operation,
    result: AttemptResult,
    customer?: string,
    load?: CallLoad,
  ): void;
  /**
   * Learns what a caller finally got, over all routes: an answer, or an error. Errors that the caller caused, and
   * rate limits that only this caller met, do not count.
   */
  called(model: Model, operation: Operation, error: GatewayError | undefined): void;
  /** Learns the speed of a route from a finished stream. */
  noteThroughput(route: Route, operation: Operation, outputTokens: number, ms: number): void;
  /** Notes a false report of a route (see `implausibleSide`); a route that repeats it rests. */
  noteFalseReport(route: Route): void;
  /**
   * Returns when a second route should start beside `first`, the one that is tried first. A probe always gets a
   * second route beside it, so that no client pays for probes, and so do calls on a route that turns out to be stuck.
   * Only for chat streams; other calls have {@linkcode Router.slowAfterMs} and {@linkcode Router.mayHedge}.
   */
  hedge(model: Model, operation: Operation, first: Route | undefined): Hedge | undefined;
  /** Milliseconds after which a route is slow with this load, by what such calls usually take; not for chat streams. */
  slowAfterMs(model: Model, route: Route, load: CallLoad): number;
  /**
   * Returns whether the next route may start now beside a slow one. A provider completes a whole answer or a picture
   * even if the result is ignored, and charges the operator, so each takes from a budget; a route in trouble does not.
   */
  mayHedge(model: Model, route: Route, load: CallLoad, waitedMs: number): boolean;
  /** Returns the seconds until a route of the model may work again for `customer`. */
  retryAfterSeconds(model: Model, operation: Operation, customer?: string): number | undefined;
  reports(): RouteReport[];
  status(model: Model): ModelStatus;
}

// What the threads of a process tell each other about routes. Durations, since each thread's monotonic clock has a zero of its own.

/** A route by its names: all threads have the same configuration. */
export interface RouteName {
  readonly modelId: string;
  readonly routeId: string;
}

/** One thing that a thread found out. */
export type SharedState =
  /** The breaker of a route changed. */
  | {
    readonly kind: "breaker";
    readonly route: RouteName;
    readonly operation: Operation;
    readonly breaker: SharedBreaker;
  }
  /** Endings of attempts while the breaker was closed. */
  | {
    readonly kind: "evidence";
    readonly route: RouteName;
    readonly operation: Operation;
    readonly evidence: SharedEvidence;
  }
  /** State of a key of a provider, by its place: secrets do not travel. */
  | {
    readonly kind: "credential";
    readonly provider: string;
    readonly at: number;
    readonly credential: SharedCredential;
  }
  /** A provider limits a customer on a route; `undefined`: no more. */
  | {
    readonly kind: "customer";
    readonly route: RouteName;
    readonly customer: string;
    readonly limit: SharedLimit | undefined;
  }
  /** Calls that a limited route served, by customer. */
  | {
    readonly kind: "served";
    readonly route: RouteName;
    readonly calls: readonly (readonly [customer: string, calls: number])[];
  }
  /** A route reported what cannot be. */
  | { readonly kind: "false_report"; readonly route: RouteName };

/** The token that a thread needs for a key of a provider. */
export interface WantedToken {
  readonly provider: string;
  readonly at: number;
  /** Identifies the secret without revealing it, so that a replaced key is not mistaken for the old one. */
  readonly mark: string;
  /** The token that the provider refused, if one is to be replaced. */
  readonly refused: string | undefined;
}

/** Answer of the thread that renews tokens. */
export type TokenAnswer = { readonly ok: true; readonly issued: IssuedToken } | {
  readonly ok: false;
  readonly reason: string;
  readonly isRefusal: boolean;
};

/** The part of a router for the other threads of the process. */
export interface RouterOfThreads {
  /** Merges what another thread found out. */
  merge(states: readonly SharedState[]): void;
  /** All that is known, for a thread that starts. */
  shared(): SharedState[];
  /** Gives another thread a valid token, and renews it first if it must. */
  tokenFor(wanted: WantedToken): Promise<TokenAnswer>;
}
