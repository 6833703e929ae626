/** Request bodies for media providers, and what building one may need. */
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { ByteCounter } from "../../lib/bytes/byte_budget.ts";
import type { MediaType } from "../../net/remote/sniff.ts";

/** A request body for a provider, with its content type. */
export interface UpstreamBody {
  readonly contentType: string;
  readonly bytes: ByteParts;
}

/** What building a body needs from outside. */
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
