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
import {
  type BegunAttempt,
  type CallControl,
  stopError,
} from "../../calls/attempts/attempt_loop.ts";
import type { RouteAccess } from "../../calls/exchange/chat_call.ts";
import { type GrowingCounter, maxErrorBodyBytes } from "../../net/transport/read_whole.ts";
import type { Route } from "../../catalog/catalog.ts";
import type {
  UpstreamExchange,
  UpstreamRequest,
  UpstreamResponse,
} from "../../net/transport/transport.ts";
import { decodeProviderError } from "../../wire/convert/provider_errors.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { ByteCounter } from "../../lib/bytes/byte_budget.ts";
import type { MediaType } from "../../net/remote/guarded_fetch.ts";

// Reads a provider's error answer to a media call.

/** Parses the JSON of a body; `undefined` if it is not JSON. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    return tryParseExactly(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/**
 * Converts a refusal into an error, by the same rules as for chat: media endpoints have the errors of the Chat style.
 *
 * @param waitSeconds the time for which the provider asks not to be called
 */
export function decodeMediaRefusal(
  status: number,
  text: string,
  waitSeconds: number | undefined,
): GatewayError {
  return decodeProviderError("chat", status, text, defined({ retryAfterSeconds: waitSeconds }));
}

/**
 * Returns the error of a success status whose body is no answer: the error that the body holds in any vendor's form, or
 * that there is no answer.
 *
 * @param missing what the client asked for and did not get, after "sent"
 */
export function readNoResult(bytes: Uint8Array, missing: string): GatewayError {
  // An answer that is large and yet none is not searched for an error.
  const body = bytes.length <= maxErrorBodyBytes ? parseJson(bytes) : undefined;
  if (isJsonObject(body)) {
    const said = readProviderError(body);
    const namesError = body["error"] !== undefined && body["error"] !== null;
    if (namesError || said.code !== "upstream_unreachable") return said;
  }
  return new GatewayError("upstream_unreachable", `The provider of this model sent ${missing}`);
}

// Request bodies for media providers, and what building one may need.

/** A request body for a provider, with its content type. */
export interface UpstreamBody {
  readonly contentType: string;
  readonly bytes: ByteParts;
}

/** Tools for building a body. */
export interface UpstreamBodyTools {
  /** Fetches a picture that is given by URL. */
  readonly fetchImage: (
    url: string,
    field: string,
    counter?: ByteCounter,
  ) => Promise<{ readonly mediaType: MediaType; readonly bytes: Uint8Array }>;
  /** Returns a random boundary of 24 characters or more, which occurs in no body. */
  readonly newBoundary: () => string;
}

/**
 * Replaces fetching by a stand-in that takes everything behind a URL for a picture, to find the
 * other mistakes of a request.
 */
export function withoutFetching(tools: UpstreamBodyTools): UpstreamBodyTools {
  const picture = { mediaType: "image/png", bytes: new Uint8Array(0) } as const;
  return { ...tools, fetchImage: () => Promise.resolve(picture) };
}

/**
 * Remembers for one call which pictures could not be fetched, so that the next route does not try
 * again. Fetched pictures are not kept, since ten may be 200 MB; `counter` counts them.
 */
export function toolsOfCall(tools: UpstreamBodyTools, counter: ByteCounter): UpstreamBodyTools {
  const failures = new Map<string, unknown>();
  return {
    ...tools,
    async fetchImage(url, field) {
      if (failures.has(url)) throw failures.get(url);
      try {
        return await tools.fetchImage(url, field, counter);
      } catch (failure) {
        failures.set(url, failure);
        throw failure;
      }
    },
  };
}

/** Exchange of an endpoint with a route: what it sends, and what it accepts as an answer. */
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

/** Needs of a media call to start on a route. */
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
