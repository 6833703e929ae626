/**
 * What the way of a call needs from routing.
 *
 * - Folder `core/routing/`: which routes are tried in which order: health, breakers, credentials,
 *   affinity, uptime.
 * - In: outcomes of attempts, switches of the operator, a clock and a source of random numbers.
 * - Out: routes in their order with a credential, the status of models, or an error when none is
 *   left.
 * - Never: sends a request, or reads the store.
 */
import type { RouteAccess } from "../calls/chat_exchange.ts";
import type { Hedge } from "../calls/attempt_loop.ts";
import type { AttemptResult } from "../calls/route_attempt.ts";
import type { Model, Route, RouteStyle } from "../catalog/catalog.ts";
import type { GatewayError } from "../errors.ts";
import type { HealthView } from "./route_health.ts";

/** What a call does on a route; health is kept per route and operation. */
export const operations = ["chat", "chat_stream", "image", "speech", "video"] as const;
/** A kind of call that a route has a health for. */
export type Operation = typeof operations[number];

/** A state change of a route that operators should see in the log. */
export interface RouteEvent {
  readonly route: string;
  readonly operation: Operation;
  readonly state: HealthView["state"];
  readonly reason: string | undefined;
}

/** All that is known of a route, for operators. */
export interface RouteReport {
  readonly model: string;
  readonly route: Route;
  /** Set by an operator. */
  readonly switched: "disabled" | "draining" | undefined;
  readonly operations: Partial<Record<Operation, HealthView>>;
  readonly credentials: { readonly count: number; readonly resting: number };
}

/** How a model does, for everyone. */
export interface ModelStatus {
  readonly state: "up" | "degraded" | "down";
  readonly p50FirstOutputMs: number | undefined;
  readonly p95FirstOutputMs: number | undefined;
}

/** The route that holds the proofs and the cache of a conversation. */
export interface FormerRoute {
  readonly routeId: string;
  /** The call continues a turn that this route began: it stays there even if a route of better priority works again. */
  readonly midTurn: boolean;
}

/** A call for which routes are requested. */
export interface RouteQuery {
  readonly style: RouteStyle;
  readonly operation: Operation;
  readonly former?: FormerRoute | undefined;
  /** Whose call it is: routes that limit this customer are left out. */
  readonly customer?: string | undefined;
}

/** Chooses the routes of a call and takes reports of attempts. */
export interface Router {
  /** Routes worth trying for a call, best first. Empty when every route is out. */
  candidates(model: Model, wanted: RouteQuery): readonly Route[];
  /**
   * Begins a try: how to reach the route right now, with a credential that is not resting. Each begin is followed by
   * one {@linkcode Router.report}.
   */
  begin(route: Route, operation: Operation): RouteAccess;
  /** Reaches a route beside calls (token counting, polling): its health is left alone. */
  access(route: Route): RouteAccess;
  /**
   * Learns from a try. A caller's own mistake never counts against a route, nor does a rate limit that a single customer
   * met: it rests that `customer`.
   */
  report(
    model: Model,
    route: Route,
    operation: Operation,
    result: AttemptResult,
    customer?: string,
  ): void;
  /**
   * Learns what a caller got in the end, over all routes: an answer, or an error. Errors of the caller's own making say
   * nothing of the model, nor do rate limits that only this caller met.
   */
  called(model: Model, operation: Operation, error: GatewayError | undefined): void;
  /** Learns from a finished stream. */
  noteThroughput(route: Route, operation: Operation, outputTokens: number, ms: number): void;
  /** A chat call ended with what cannot be, see `implausibleSide`: a route that repeats this rests. */
  noteFalseReport(route: Route): void;
  /**
   * When a second route should start beside `first`, the one that is tried first. A probe of a route in trouble always
   * gets a second beside it, so that no client pays for probes; and so do the calls that wait on a route that hangs.
   * Only streams of chat: a whole answer, a picture or a video that nobody waits for any more is made all the same, and
   * charged to the operator.
   */
  hedge(model: Model, operation: Operation, first: Route | undefined): Hedge | undefined;
  /** Seconds until the soonest route of the model may work again for `customer`, when none is available. */
  retryAfterSeconds(model: Model, operation: Operation, customer?: string): number | undefined;
  reports(): RouteReport[];
  status(model: Model): ModelStatus;
}
