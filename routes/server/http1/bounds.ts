/** What the server bounds, and why so. */
import type { ChunkedLimits } from "../../../core/net/http1/chunked.ts";

/** The bounds of a server; times in milliseconds. */
export interface ServerBounds extends ChunkedLimits {
  /** Connections at the same time. */
  readonly connections: number;
  /** Bytes of the buffer through which a connection is read while nothing large arrives. */
  readonly readBytes: number;
  /** The same while the body of a large request arrives. */
  readonly readMaxBytes: number;
  /** Bytes of the head of a request. */
  readonly headBytes: number;
  /** From the opening of a connection, or the first byte of a head, to the end of the head. */
  readonly headMs: number;
  /** Between two requests. */
  readonly idleMs: number;
  /** A body of which fewer than `bodyWindowBytes` come in two windows in a row is given up. */
  readonly bodyWindowMs: number;
  readonly bodyWindowBytes: number;
  /** Without a byte of a whole answer taken by its client. */
  readonly unreadMs: number;
  /** The same for an answer that is still being produced. */
  readonly unreadStreamMs: number;
  /** For which a connection is still read after its last answer, when the client has not ended its request. */
  readonly lingerMs: number;
}

/** The bounds of the gateway's server. */
export const serverBounds: ServerBounds = {
  // Each costs about 12 KB of the heap and its buffers. The number of files that the process may open is usually lower.
  connections: 16_384,
  // A head of usual size with a prompt of 1 to 3 KB behind it.
  readBytes: 4 * 1024,
  // What a socket brings at once.
  readMaxBytes: 64 * 1024,
  // Browsers send cookies of a few KB; other servers take 8 to 32 KB.
  headBytes: 32 * 1024,
  // A lost packet of a mobile client is sent again after up to 10 s.
  headMs: 30_000,
  // Longer than load balancers keep idle connections, the longest of which is 600 s. If both ended them after the
  // same time, requests would meet connections that are being closed.
  idleMs: 620_000,
  // 70 bytes per second: only what has stalled, or is kept slow on purpose, comes more slowly. Endpoints have bounds of
  // their own, which are closer.
  bodyWindowMs: 15_000,
  bodyWindowBytes: 1_024,
  chunkExtensionBytes: 256,
  trailerBytes: 8 * 1024,
  isStrict: true,
  // As in `unreadAnswerMs`.
  unreadMs: 120_000,
  // Longer than any call runs: the call ends itself then, and is paid for.
  unreadStreamMs: 960_000,
  // A few round trips, in which the client reads the answer.
  lingerMs: 2_000,
};
