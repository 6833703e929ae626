/** Documents and pictures that were fetched for a route which takes only their data. */
import type { RemoteKind } from "../media/guarded_fetch.ts";

/** What was behind a URL. */
export interface FetchedDocument {
  readonly mediaType: string;
  readonly base64: string;
}

/** What was fetched for a route, by URL. */
export interface FetchedDocuments {
  readonly get: (url: string, kind: RemoteKind) => FetchedDocument | undefined;
}
