/** How long a call waits for a route, by what the operator wrote of its provider and its model. */
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import { defaultIdleMs } from "../lib/http1/limits.ts";
import { defaultFirstOutputMs } from "./limits.ts";

/**
 * Milliseconds after which a video task that was not accepted is sent to the next route. Accepting one takes
 * seconds, uploads of pictures included; with too short a time a slow provider makes a video that nobody asks
 * for.
 */
export const videoSubmitMs = 60_000;

/**
 * Time for what commits a call to a route: the first picture of a stream, a whole answer, the first bytes of audio, an
 * accepted video task. Streams of chat have {@linkcode slowAfterMs} and {@linkcode ownFirstOutputMs} instead. `undefined`: as long as the call may take, since a whole answer or a picture of a slow model
 * cannot be told from a hanging one.
 */
export function answerTimeoutMs(
  catalog: Catalog,
  model: Model,
  route: Route,
  stream: boolean,
): number | undefined {
  const ownMs = ownFirstOutputMs(catalog, route);
  // A whole answer or picture is not begun before it is done: the provider's own time must know how long that takes.
  const beginsSoon = stream || model.kind === "speech" || model.kind === "video";
  const writtenMs = Math.min(
    ownMs ?? Infinity,
    (beginsSoon ? model.slowAfterMs : undefined) ?? Infinity,
  );
  if (writtenMs !== Infinity) return writtenMs;
  return model.kind === "video" ? videoSubmitMs : undefined;
}

/** Time without output after which a stream of chat gets a second route beside this one, which goes on. */
export function slowAfterMs(catalog: Catalog, model: Model, route: Route): number {
  return Math.min(
    ownFirstOutputMs(catalog, route) ?? Infinity,
    model.slowAfterMs ?? defaultFirstOutputMs,
  );
}

/**
 * The provider's own time for a first output, after which a stream of chat is given up, even on the last route.
 * `undefined` unless the operator wrote one: a model that thinks may take as long as a call.
 */
export function ownFirstOutputMs(catalog: Catalog, route: Route): number | undefined {
  const provider = catalog.providers[route.provider];
  return provider?.kind === "http" ? provider.timeouts.firstOutputMs : undefined;
}

/** Longest silence within the answer of a route, once its output has begun. */
export function idleMs(catalog: Catalog, route: Route): number {
  const provider = catalog.providers[route.provider];
  const ownMs = provider?.kind === "http" ? provider.timeouts.idleMs : undefined;
  return ownMs ?? defaultIdleMs;
}
