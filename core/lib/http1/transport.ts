/**
 * The HTTP/1.1 driver: a small client made for proxying, several times cheaper than `fetch`.
 *
 * - Folder `core/lib/http1/`: an HTTP/1.1 client for proxying (RFC 9112): heads, framing, kept
 *   connections.
 * - In: an `UpstreamRequest`, and a function that connects.
 * - Out: an `UpstreamExchange`: response head and body, or a failure as a value.
 * - Never: opens a socket itself (`routes/upstream/` does), or guesses at a response head that is
 *   in doubt.
 */
import type { Deadlines } from "../time/deadlines.ts";
import { limits } from "../../limits.ts";
import type { Connect } from "../../upstream/connection.ts";
import type { Transport, UpstreamRequest } from "../../upstream/transport.ts";
import { Http1Exchange } from "./exchange.ts";
import { Pool, type PoolOptions } from "./pool.ts";
import { type Destination, parseDestination } from "./request_head.ts";
import type { ExchangeSetting, Http1Bounds } from "./setting.ts";

export interface Http1TransportOptions extends Partial<Http1Bounds>, Partial<PoolOptions> {
  readonly connect: Connect;
  readonly deadlines: Deadlines;
}

export interface Http1Counts {
  /** Connections opened. */
  readonly opened: number;
  /** Exchanges that began on a pooled connection. */
  readonly reused: number;
  /** Exchanges that were sent again because that connection was stale. */
  readonly retried: number;
  /** Connections at rest now. */
  readonly idle: number;
}

export interface Http1Transport extends Transport {
  counts(): Http1Counts;
  /** Closes connections at rest, and those in use when their exchange ends. */
  close(): void;
}

/** URLs are those of the configured routes, and a few with ids in them. */
const destinationsKept = 512;

/**
 * A {@linkcode Transport} over connections of its own.
 *
 * Redirects are not followed. Bodies come as they were sent: a `content-encoding` is not undone.
 */
export function createHttp1Transport(options: Http1TransportOptions): Http1Transport {
  const { connect, deadlines, ...overrides } = options;
  const pool = new Pool({
    idleConnectionsPerOrigin: limits.upstreamIdleConnections,
    idleConnectionMs: limits.upstreamIdleConnectionMs,
    provenRestMs: limits.upstreamProvenRestMs,
    ...overrides,
  });
  const counts = { opened: 0, reused: 0, retried: 0 };
  const setting: ExchangeSetting = {
    connect,
    deadlines,
    bounds: { ...defaultBounds, ...overrides },
    pool,
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
  connectMs: limits.connectMs,
  headMs: limits.callMs,
  idleMs: limits.upstreamIdleMs,
  headBytes: limits.upstreamHeadBytes,
  readBytes: limits.upstreamReadBytes,
  readMaxBytes: limits.upstreamReadMaxBytes,
  singleWriteBytes: limits.upstreamSingleWriteBytes,
  chunkExtensionBytes: limits.upstreamChunkExtensionBytes,
  trailerBytes: limits.upstreamTrailerBytes,
  interimResponses: limits.upstreamInterimResponses,
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
