/**
 * Runs a media call on one route, for the attempt loop that chat calls use as well. The endpoint
 * decides what commits the call to a route: a whole answer, the first bytes of audio, an accepted
 * task.
 *
 * - Folder `core/media/base/`: what calls that are not chat share: the exchange on one route, lists of results,
 *   errors, charges by input.
 * - In: a read request, and one route with its access.
 * - Out: the answer as far as it commits the call, and what it costs.
 * - Never: settles the call (`routes/api/call/` does), or knows the fields of one endpoint.
 */
import { answered, type AttemptTime } from "../../calls/attempts/attempt.ts";
import { type CallControl, stopError } from "../../calls/attempts/call_control.ts";
import type { RouteAccess } from "../../calls/exchange/chat_exchange.ts";
import type { BegunAttempt } from "../../calls/attempts/route_attempt.ts";
import type { GrowingCounter } from "../../net/transport/read_whole.ts";
import type { Route } from "../../catalog/catalog.ts";
import type {
  UpstreamExchange,
  UpstreamRequest,
  UpstreamResponse,
} from "../../net/transport/transport.ts";
import { decodeMediaRefusal } from "./refusal.ts";
import type { UpstreamBodyTools } from "./upstream_body.ts";

/** What an endpoint sends to a route, and what it accepts as an answer. */
export interface MediaWork<Value> {
  /**
   * Prepares what is sent to a route, without contacting its provider: pictures behind URLs are
   * fetched here, in the client's time.
   *
   * @returns the request, as a function of the credential
   * @throws {GatewayError} when this route cannot carry the call
   */
  readonly prepare: (
    route: Route,
    tools: UpstreamBodyTools,
  ) => Promise<(access: RouteAccess) => UpstreamRequest>;
  /**
   * Reads the answer as far as it commits the call.
   *
   * @throws {GatewayError | UpstreamFailure} when this route gave no usable answer
   */
  readonly receive: (asked: MediaExchange) => Promise<Value>;
}

/** A route to which the request was sent. */
export interface MediaExchange extends BegunAttempt {
  readonly route: Route;
  readonly access: RouteAccess;
  readonly exchange: UpstreamExchange;
  /** Counts the bytes of a large answer. */
  readonly counter: GrowingCounter;
  /** See {@linkcode answered}. */
  readonly answered: () => Promise<UpstreamResponse>;
}

/** What a media call needs to start on a route. */
export interface MediaStart {
  readonly route: Route;
  readonly tools: UpstreamBodyTools;
  /**
   * Begins the attempt, at the moment when its request is sent: time before that does not count for
   * the route.
   */
  readonly begin: () => RouteAccess;
  readonly control: CallControl;
  readonly time: AttemptTime;
  readonly counter: GrowingCounter;
}

/**
 * Starts a media call on a route.
 *
 * @throws {GatewayError} before anything is sent, when the route cannot carry the call or the call was stopped
 */
export async function startMediaExchange<Value>(
  work: MediaWork<Value>,
  { route, tools, begin, control, time, counter }: MediaStart,
): Promise<MediaExchange> {
  const requestFor = await work.prepare(route, tools);
  if (control.stopped !== undefined) throw stopError(control.stopped);
  const access = begin();
  const exchange = access.transport.open(requestFor(access));
  const { onStatus, mayRepeat } = access;
  return {
    route,
    access,
    exchange,
    counter,
    mayRepeat,
    answered: () => answered({ exchange, onStatus, decodeError: decodeMediaRefusal }, time),
  };
}
