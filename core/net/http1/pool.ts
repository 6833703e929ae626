/** Idle connections, by origin. */
import type { Link, LinkOwner } from "./link.ts";
import type { Deadlines } from "../../lib/time/deadlines.ts";
import type { Connect } from "../transport/connection.ts";
import type { ChunkedLimits } from "./chunked.ts";
import type { Destination } from "./request_head.ts";
import type { WriteBuffers } from "./limits.ts";

/** The bounds of a {@linkcode Pool}. */
export interface PoolOptions {
  readonly idleConnectionsPerOrigin: number;
  readonly idleConnectionMs: number;
  /** Idle time after which a connection counts as one that its peer keeps open. */
  readonly provenRestMs: number;
}

/**
 * Keeps clean connections for the next exchange. The youngest is reused first: it is the least
 * likely to be stale, and the surplus of a busy hour ages and is closed.
 */
export class Pool implements LinkOwner {
  readonly #options: PoolOptions;
  /** Each list is in order of arrival, the oldest first. */
  readonly #idle = new Map<string, Link[]>();
  readonly #onDisturbed = (link: Link) => this.#drop(link);
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get idleCount(): number {
    let count = 0;
    for (const links of this.#idle.values()) count += links.length;
    return count;
  }

  take(origin: string): Link | undefined {
    const links = this.#idle.get(origin);
    const link = links?.pop();
    if (links?.length === 0) this.#idle.delete(origin);
    return link;
  }

  /**
   * Whether {@linkcode takeProven} would return a connection.
   */
  hasProven(origin: string): boolean {
    const link = this.#idle.get(origin)?.[0];
    return link !== undefined && link.restedMs >= this.#options.provenRestMs;
  }

  /**
   * Takes the connection that has been idle longest, if its peer had time to close it and did not.
   * For a request that must not meet the end of a connection, since it would be unknown whether the
   * peer acted on it.
   */
  takeProven(origin: string): Link | undefined {
    if (!this.hasProven(origin)) return undefined;
    const links = this.#idle.get(origin);
    const link = links?.shift();
    if (links?.length === 0) this.#idle.delete(origin);
    return link;
  }

  /**
   * Keeps a link that {@linkcode Link.isClean}; `peerIdleMs` is how long the peer announced to
   * wait.
   */
  put(link: Link, peerIdleMs: number | undefined): void {
    // One second less than the peer: a request must not meet its closing.
    const idleMs = Math.min(this.#options.idleConnectionMs, (peerIdleMs ?? Infinity) - 1_000);
    if (this.#closed || idleMs <= 0) return link.close();
    let links = this.#idle.get(link.origin);
    if (links === undefined) this.#idle.set(link.origin, links = []);
    links.push(link);
    if (links.length > this.#options.idleConnectionsPerOrigin) links.shift()?.close();
    if (link.closed) return;
    link.rest(this, this.#onDisturbed, idleMs);
  }

  onLinkDue(link: Link): void {
    this.#drop(link);
  }

  #drop(link: Link): void {
    link.close();
    const links = this.#idle.get(link.origin);
    const index = links?.indexOf(link) ?? -1;
    if (index !== -1) links?.splice(index, 1);
    if (links?.length === 0) this.#idle.delete(link.origin);
  }

  /** Closes idle connections; those in use are closed when they come back. */
  close(): void {
    this.#closed = true;
    for (const links of this.#idle.values()) for (const link of links) link.close();
    this.#idle.clear();
  }
}

// The configuration and state that all exchanges of a transport share.

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
