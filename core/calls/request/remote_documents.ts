/** Fetches the documents and pictures that a chat request names by URL, for routes that take only their data. */
import { encodeBase64 } from "../../lib/runtime/built_ins.ts";
import type { ByteCounter } from "../../lib/bytes/byte_budget.ts";
import type { Route } from "../../catalog/catalog.ts";
import type { FetchedDocument, FetchedDocuments } from "../../wire/contract/contract.ts";
import { type DocumentUrl, documentUrls, takesData } from "../../wire/convert/document_urls.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { maxRemoteMediaBytes } from "../../net/remote/address.ts";
import type { RemoteKind, RemoteMedia } from "../../net/remote/guarded_fetch.ts";
import type { ChatRequest } from "./chat_request.ts";
import type { JsonBody } from "../body/json_body.ts";

/** Most documents that are fetched for one call: each needs a connection, and all are fetched at once. */
const documentsPerCall = 8;

/** Most bytes of all documents of one call: as many as the client could have sent itself. */
const documentBytes = maxRemoteMediaBytes;

/** Fetches a PDF, or throws a {@linkcode GatewayError} that names `field`. */
export type FetchDocument = (
  url: string,
  bounds: {
    readonly kind: RemoteKind;
    readonly field: string;
    readonly maxBytes: number;
    readonly counter: ByteCounter;
  },
) => Promise<RemoteMedia>;

/** A placeholder for every document, to check the rest of a request without fetching. */
export const anyDocument: FetchedDocuments = {
  get: (_url, kind) => ({
    mediaType: kind === "picture" ? "image/png" : "application/pdf",
    base64: "",
  }),
};

/**
 * Fetches the documents of one call. A failure is remembered, so that no second route fetches in vain; fetched
 * documents are not kept, since they are part of their route's request.
 */
export class RemoteDocuments {
  readonly #request: ChatRequest;
  readonly #body: Pick<JsonBody, "value">;
  readonly #fetch: FetchDocument;
  readonly #counter: ByteCounter;
  #urls: readonly DocumentUrl[] | undefined;
  #failure: GatewayError | undefined;
  /** Pending fetches are no longer needed. */
  #isOver = false;

  /** @param counter counts what is fetched, until {@linkcode release} */
  constructor(
    request: ChatRequest,
    body: Pick<JsonBody, "value">,
    fetch: FetchDocument,
    counter: ByteCounter,
  ) {
    this.#request = request;
    this.#body = body;
    this.#fetch = fetch;
    this.#counter = counter;
  }

  /** Fetches what a route needs; `undefined` where there is nothing to fetch. */
  for({ style, capabilities }: Route): Promise<FetchedDocuments> | undefined {
    if (style === this.#request.style) return undefined;
    if (
      style !== "chat" && style !== "messages" && style !== "gemini" && style !== "converse"
    ) return undefined;
    const named = this.#urls ??= documentUrls(this.#request.style, this.#body.value);
    const urls = named.filter((one) => takesData(style, capabilities, one));
    return urls.length === 0 ? undefined : this.#fetchAll(urls);
  }

  /** Releases the bytes of the documents: their requests were sent, or will not be. */
  release(): void {
    this.#isOver = true;
    this.#counter.release();
  }

  async #fetchAll(urls: readonly DocumentUrl[]): Promise<FetchedDocuments> {
    if (this.#failure !== undefined) throw this.#failure;
    const beyond = urls[documentsPerCall];
    if (beyond !== undefined) throw tooMany(beyond);
    const maxBytes = Math.floor(documentBytes / urls.length);
    const fetches = urls.map((one) => this.#fetchOne(one, maxBytes));
    // The result may never be awaited: a route may be given up meanwhile, and one failure ends the wait for all.
    void Promise.allSettled(fetches).then(() => {
      if (this.#isOver) this.#counter.release();
    });
    try {
      return new Map(await Promise.all(fetches));
    } catch (error) {
      // Only errors of the request are remembered: a lack of memory may be over for the next route.
      if (error instanceof GatewayError && error.status === 400) this.#failure = error;
      throw error;
    }
  }

  async #fetchOne(
    { kind, url, path }: DocumentUrl,
    maxBytes: number,
  ): Promise<readonly [string, FetchedDocument]> {
    const counter = this.#counter;
    const { mediaType, bytes } = await this.#fetch(url, { kind, field: path, maxBytes, counter });
    const base64 = encodeBase64(bytes);
    counter.take(base64.length);
    return [url, { mediaType, base64 }];
  }
}

function tooMany({ path }: DocumentUrl): GatewayError {
  const message =
    `${path}: this model takes files as data; at most ${documentsPerCall} are fetched`;
  return new GatewayError("invalid_request", message, { param: path });
}
