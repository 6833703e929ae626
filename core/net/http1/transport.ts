/**
 * The HTTP/1.1 driver: a small client made for proxying, several times cheaper than `fetch`.
 *
 * - Folder `core/net/http1/`: an HTTP/1.1 client for proxying (RFC 9112): heads, framing, kept
 *   connections.
 * - In: an `UpstreamRequest`, and a function that connects.
 * - Out: an `UpstreamExchange`: response head and body, or a failure as a value.
 * - Never: opens a socket itself (`routes/upstream/` does), or guesses at a response head that is
 *   in doubt.
 */
import type { Deadlines } from "../../lib/time/deadlines.ts";
import { defaultConnectMs, defaultIdleMs, singleWriteBytes, WriteBuffers } from "./limits.ts";
import type { Connect } from "../transport/connection.ts";
import type { Transport, UpstreamRequest } from "../transport/transport.ts";
import { Http1Exchange } from "./exchange.ts";
import { type ExchangeSetting, type Http1Bounds, Pool, type PoolOptions } from "./pool.ts";
import { type Destination, parseDestination } from "./request_head.ts";

/** Bytes of a response head. Common servers stop at 8–16 KiB. */
const maxHeadBytes = 32 * 1024;

/** Idle connections kept per origin: as many as calls usually run at once. The surplus is closed. */
const maxIdleConnections = 256;

/**
 * Milliseconds of idle time after which a connection counts as kept open by its peer. Peers that
 * close after an answer without announcing it have done so by then, as a round trip takes under 1
 * s.
 */
export const provenRestMs = 1_000;

/**
 * Milliseconds that a connection may be idle. Most load balancers close after 60 s, and this side should
 * close first.
 */
const maxIdleConnectionMs = 50_000;

/**
 * Milliseconds of silence between a request and the head of its answer: as long as the longest call, since a
 * whole answer starts only when it is complete. The caller's own deadline usually comes first.
 */
const maxHeadMs = 15 * 60_000;

/**
 * Bytes of a connection's read buffer at first: fits ten events of a stream, and a thousand streams
 * cost 4 MB.
 */
const readBytes = 4 * 1024;

/** Bytes to which the read buffer grows during a large body: larger reads save nothing. */
const readMaxBytes = 64 * 1024;

/** Bytes of extensions of one chunk; real ones have none. */
const maxChunkExtensionBytes = 1024;

/** Bytes of the trailers of a body; real ones have none or a checksum. */
const maxTrailerBytes = 8 * 1024;

/** Heads with a status of 1xx before the final one: a server sends one or two. */
const maxInterimResponses = 8;

/** What the HTTP/1.1 driver needs, and bounds that differ from its defaults. */
export interface Http1TransportOptions extends Partial<Http1Bounds>, Partial<PoolOptions> {
  readonly connect: Connect;
  readonly deadlines: Deadlines;
}

/** Counts of a transport's connections and exchanges. */
export interface Http1Counts {
  /** Connections opened. */
  readonly opened: number;
  /** Exchanges that began on a pooled connection. */
  readonly reused: number;
  /** Exchanges that were sent again because that connection was stale. */
  readonly retried: number;
  /** Idle connections now. */
  readonly idle: number;
}

/** A transport over HTTP/1.1 that can be counted and closed. */
export interface Http1Transport extends Transport {
  counts(): Http1Counts;
  /** Closes idle connections, and those in use when their exchange ends. */
  close(): void;
}

/** URLs are those of the configured routes, and a few with ids in them. */
const destinationsKept = 512;

/**
 * Creates a {@linkcode Transport} over HTTP/1.1. Redirects are not followed, and a
 * `content-encoding` is not decoded.
 */
export function createHttp1Transport(options: Http1TransportOptions): Http1Transport {
  const { connect, deadlines, ...overrides } = options;
  const pool = new Pool({
    idleConnectionsPerOrigin: maxIdleConnections,
    idleConnectionMs: maxIdleConnectionMs,
    provenRestMs,
    ...overrides,
  });
  const counts = { opened: 0, reused: 0, retried: 0 };
  const setting: ExchangeSetting = {
    connect,
    deadlines,
    bounds: { ...defaultBounds, ...overrides },
    pool,
    buffers: new WriteBuffers(),
    destination: cachedDestinations(),
    counts,
  };
  return {
    open: (request: UpstreamRequest) => new Http1Exchange(setting, request),
    counts: () => ({ ...counts, idle: pool.idleCount }),
    close: () => pool.close(),
  };
}

const defaultBounds: Http1Bounds = {
  connectMs: defaultConnectMs,
  headMs: maxHeadMs,
  idleMs: defaultIdleMs,
  headBytes: maxHeadBytes,
  readBytes,
  readMaxBytes,
  singleWriteBytes,
  chunkExtensionBytes: maxChunkExtensionBytes,
  trailerBytes: maxTrailerBytes,
  interimResponses: maxInterimResponses,
};

function cachedDestinations(): (url: string) => Destination {
  const known = new Map<string, Destination>();
  return (url) => {
    const found = known.get(url);
    if (found !== undefined) return found;
    const destination = parseDestination(url);
    if (known.size >= destinationsKept) known.clear();
    known.set(url, destination);
    return destination;
  };
}
