/** Connections without sockets and a manual clock, for the tests of the HTTP/1.1 driver. */
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import type {
  Connect,
  Connection,
  ConnectTarget,
} from "../../../../core/net/transport/connection.ts";
import {
  createHttp1Transport,
  type Http1TransportOptions,
} from "../../../../core/net/http1/transport.ts";
import { UpstreamFailure } from "../../../../core/net/transport/transport.ts";
import { assertEquals } from "../../../support/assert.ts";
import { concat } from "./bytes.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A connection whose peer is the test, which pushes what reads return. */
export class FakeConnection implements Connection {
  readonly #incoming: (Uint8Array | null | Error)[] = [];
  readonly #sent: Uint8Array[] = [];
  #wake: (() => void) | undefined;
  closed = false;
  /** Bytes taken per write; the default takes all. */
  writeBytes = Infinity;
  writeError: Error | undefined;
  /** Writes wait for it, if set. */
  writeGate: Promise<void> | undefined;
  writeCount = 0;

  /** Queues pieces; each is the result of one read. */
  push(...pieces: (string | Uint8Array | null | Error)[]): void {
    for (const piece of pieces) {
      this.#incoming.push(typeof piece === "string" ? encoder.encode(piece) : piece);
    }
    this.#wake?.();
  }

  get sent(): string {
    return decoder.decode(concat(this.#sent));
  }

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#incoming.length === 0 && !this.closed) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.closed) throw new Error("closed");
    const piece = this.#incoming.shift();
    if (piece instanceof Error) throw piece;
    if (piece === null || piece === undefined) return null;
    const count = Math.min(piece.length, into.length);
    into.set(piece.subarray(0, count));
    if (count < piece.length) this.#incoming.unshift(piece.subarray(count));
    return count;
  }

  async write(bytes: Uint8Array): Promise<number> {
    this.writeCount++;
    await this.writeGate;
    if (this.closed) throw new Error("closed");
    if (this.writeError) throw this.writeError;
    const count = Math.min(bytes.length, this.writeBytes);
    this.#sent.push(bytes.slice(0, count));
    return count;
  }

  close(): void {
    assertEquals(this.closed, false, "closed once only");
    this.closed = true;
    this.#wake?.();
  }
}

/** Runs everything that waits only for promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** A transport whose connections and clock the test controls. */
export function fakeNetwork(options: Partial<Http1TransportOptions> = {}) {
  const connections: FakeConnection[] = [];
  const targets: ConnectTarget[] = [];
  const prepared: FakeConnection[] = [];
  let nowMs = 0;
  let tick: (() => void) | undefined;
  const deadlines = new Deadlines({
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    timer: {
      start(run) {
        tick = run;
        return () => tick = undefined;
      },
    },
  });
  const connect: Connect = (target) => {
    targets.push(target);
    const connection = prepared.shift() ?? new FakeConnection();
    connections.push(connection);
    return Promise.resolve(connection);
  };
  return {
    connections,
    targets,
    /** Queues the next connections, with what their peers send. */
    prepare(...pieces: (string | Uint8Array | null | Error)[]): FakeConnection {
      const connection = new FakeConnection();
      connection.push(...pieces);
      prepared.push(connection);
      return connection;
    },
    async passMs(durationMs: number): Promise<void> {
      nowMs += durationMs;
      const run = tick;
      tick = undefined;
      run?.();
      await settle();
    },
    transport: createHttp1Transport({ connect, deadlines, ...options }),
  };
}

/** Returns the code with which a promise rejects, or `fulfilled`. */
export async function failureCode(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "fulfilled";
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.code;
    throw error;
  }
}
