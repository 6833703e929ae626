/** Computes how long a call waits for a route, from the configuration of its provider and model. */
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import { defaultIdleMs } from "../net/http1/limits.ts";
import { defaultFirstOutputMs } from "../catalog/entries/model.ts";

/**
 * Milliseconds after which a video task that was not accepted is sent to the next route. Accepting one takes
 * seconds, uploads of pictures included; with too short a time a slow provider makes a video that nobody asks
 * for.
 */
export const videoSubmitMs = 60_000;

/**
 * Time to wait for what commits a call to a route: the first picture of a stream, a whole answer, the first bytes of
 * audio, an accepted video task. Chat streams have {@linkcode slowAfterMs} and {@linkcode ownFirstOutputMs} instead.
 * `undefined`: as long as the call may take, since a slow model cannot be distinguished from one that hangs.
 */
export function answerTimeoutMs(
  catalog: Catalog,
  model: Model,
  route: Route,
  stream: boolean,
): number | undefined {
  const ownMs = ownFirstOutputMs(catalog, route);
  // A whole answer or picture arrives only when it is complete, so `slowAfterMs` of the model, meant for first
  // output, does not apply; the provider's own timeout does.
  const beginsSoon = stream || model.kind === "speech" || model.kind === "video";
  const writtenMs = Math.min(
    ownMs ?? Infinity,
    (beginsSoon ? model.slowAfterMs : undefined) ?? Infinity,
  );
  if (writtenMs !== Infinity) return writtenMs;
  return model.kind === "video" ? videoSubmitMs : undefined;
}

/** Time without output after which a second route starts beside this one for a chat stream; this one continues. */
export function slowAfterMs(catalog: Catalog, model: Model, route: Route): number {
  return Math.min(
    ownFirstOutputMs(catalog, route) ?? Infinity,
    model.slowAfterMs ?? defaultFirstOutputMs,
  );
}

/**
 * The provider's own timeout for the first output, after which a chat stream is given up, even on the last route.
 * `undefined` unless configured: a model that reasons may take as long as a call.
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
