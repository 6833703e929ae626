/** A request body for a provider, and what making one may need. */
import type { ByteParts } from "../lib/bytes/byte_parts.ts";
import type { ByteCounter } from "../lib/bytes/byte_budget.ts";
import type { MediaType } from "./sniff.ts";

export interface UpstreamBody {
  readonly contentType: string;
  readonly bytes: ByteParts;
}

/** What the body of a provider needs of the world. */
export interface UpstreamBodyTools {
  /** Fetches a picture that is given by URL. */
  readonly fetchImage: (
    url: string,
    field: string,
    counter?: ByteCounter,
  ) => Promise<{ readonly mediaType: MediaType; readonly bytes: Uint8Array }>;
  /** Random, unlike anything in a body: 24 characters or more. */
  readonly newBoundary: () => string;
}

/** Tools that fetch nothing: whatever is behind a URL counts as a picture. For finding out what else is wrong. */
export function withoutFetching(tools: UpstreamBodyTools): UpstreamBodyTools {
  const picture = { mediaType: "image/png", bytes: new Uint8Array(0) } as const;
  return { ...tools, fetchImage: () => Promise.resolve(picture) };
}

/**
 * The same tools for one call: a picture that could not be fetched for one route is not fetched again for the next.
 * What was fetched is not kept, since ten pictures may be 200 MB; `counter` counts it.
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
