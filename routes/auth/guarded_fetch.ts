/**
 * A `fetch` for addresses that customers name, such as that of their OpenID provider: it goes through a transport that
 * reaches public addresses only, follows no redirect, and reads a bounded answer.
 */
import { joined } from "../../core/lib/bytes/byte_parts.ts";
import type { Transport, UpstreamResponse } from "../../core/net/transport/transport.ts";
import { parseRemoteUrl } from "../../core/net/remote/remote_url.ts";

/** Bytes of an answer: the metadata and keys of large providers have some ten thousand. */
const maxAnswerBytes = 256 * 1024;

/** The headers of answers that OpenID clients look at. */
const keptHeaders = ["content-type", "www-authenticate", "dpop-nonce"] as const;

async function readBounded({ body }: UpstreamResponse): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let piece = await body.read(); piece !== null; piece = await body.read()) {
    length += piece.length;
    if (length > maxAnswerBytes) throw new TypeError("The answer is too long");
    pieces.push(piece.slice());
  }
  return new Uint8Array(joined(pieces));
}

/**
 * Builds the `fetch`.
 *
 * @param transport must use a guarded connect: this function checks URLs, that one checks addresses
 */
export function createGuardedFetch(transport: Transport): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const url = parseRemoteUrl(request.url);
    if (typeof url === "string" || url.protocol !== "https:") {
      throw new TypeError("Only public https addresses are fetched");
    }
    if (request.method !== "GET" && request.method !== "POST") {
      throw new TypeError("Only GET and POST are sent");
    }
    const body = request.method === "POST" ? new Uint8Array(await request.arrayBuffer()) : null;
    const headers = new Headers(request.headers);
    headers.set("accept-encoding", "identity");
    const exchange = transport.open({
      method: request.method,
      url: url.href,
      headers: [...headers],
      body: body === null ? null : [body],
    });
    const stop = () => exchange.cancel();
    init?.signal?.addEventListener("abort", stop);
    try {
      const response = await exchange.response;
      const bytes = await readBounded(response);
      const kept = keptHeaders.flatMap((name): [string, string][] => {
        const value = response.header(name);
        return value === undefined ? [] : [[name, value]];
      });
      return new Response(bytes, { status: response.status, headers: kept });
    } finally {
      init?.signal?.removeEventListener("abort", stop);
      exchange.cancel();
    }
  };
}
