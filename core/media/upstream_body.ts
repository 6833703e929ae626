/** A request body for a provider, and what making one may need. */
import type { MediaType } from "./sniff.ts";

export interface UpstreamBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** What the body of a provider needs of the world. */
export interface UpstreamBodyTools {
  /** Fetches a picture that is given by URL. */
  readonly fetchImage: (
    url: string,
    field: string,
  ) => Promise<{ readonly mediaType: MediaType; readonly bytes: Uint8Array }>;
  /** Random, unlike anything in a body: 24 characters or more. */
  readonly newBoundary: () => string;
}
