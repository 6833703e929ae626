/** The configuration and state that all exchanges of a transport share. */
import type { Deadlines } from "../../lib/time/deadlines.ts";
import type { Connect } from "../transport/connection.ts";
import type { ChunkedLimits } from "./chunked.ts";
import type { Pool } from "./pool.ts";
import type { Destination } from "./request_head.ts";
import type { WriteBuffers } from "./write_buffers.ts";

/** The bounds of the driver; the defaults in `transport.ts` say why they are what they are. */
export interface Http1Bounds extends ChunkedLimits {
  readonly connectMs: number;
  /** Silence between the request and the head of the answer. */
  readonly headMs: number;
  /** Silence between two pieces of a body. */
  readonly idleMs: number;
  readonly headBytes: number;
  readonly readBytes: number;
  readonly readMaxBytes: number;
  readonly singleWriteBytes: number;
  readonly interimResponses: number;
}

/** What all exchanges of a transport share: bounds, pool, deadlines, counters. */
export interface ExchangeSetting {
  readonly connect: Connect;
  readonly deadlines: Deadlines;
  readonly bounds: Http1Bounds;
  readonly pool: Pool;
  readonly buffers: WriteBuffers;
  readonly destination: (url: string) => Destination;
  readonly counts: { opened: number; reused: number; retried: number };
}
