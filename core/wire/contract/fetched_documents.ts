/** Documents and images that the gateway fetched for a route that does not take URLs. */
import type { RemoteKind } from "../../net/remote/guarded_fetch.ts";

/** The content of a URL. */
export interface FetchedDocument {
  readonly mediaType: string;
  readonly base64: string;
}

/** The fetched content, by URL. */
export interface FetchedDocuments {
  readonly get: (url: string, kind: RemoteKind) => FetchedDocument | undefined;
}
