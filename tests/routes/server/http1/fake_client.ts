/** A client of the server without a socket: the test decides what arrives, and when bytes are taken. */
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { type ServerBounds, serverBounds } from "../../../../routes/server/http1/request_body.ts";
import {
  ClientConnection,
  type ClientSocket,
  type RequestHandler,
} from "../../../../routes/server/http1/client_connection.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { nextTurn } from "../../../support/turns.ts";

export const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
export const textOf = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes);

/** Lets everything run that waits for nothing but other code. */
export function settled(): Promise<void> {
  return nextTurn();
}

interface PendingRead {
  readonly into: Uint8Array;
  readonly resolve: (byteCount: number | null) => void;
  readonly reject: (reason: unknown) => void;
}

/** The client's end of a connection. */
export class FakeClient implements ClientSocket {
  /** Everything that the server has written. */
  received = "";
  /** How many writes that were. */
  writes = 0;
  /** Whether the server has closed the connection, or its side of it. */
  isClosed = false;
  isHalfClosed = false;
  /** Bytes that one write takes at most. */
  maxTakenBytes = Infinity;
  #sent: Uint8Array[] = [];
  #hasEnded = false;
  #pending: PendingRead | undefined;
  #isTaking = true;
  #untaken: (() => void)[] = [];
  #rejects: ((reason: unknown) => void)[] = [];

  send(bytes: Uint8Array | string): void {
    const sent = typeof bytes === "string" ? latin1(bytes) : bytes;
    if (sent.length > 0) this.#sent.push(sent);
    this.#deliver();
  }

  /** Ends the client's side. */
  end(): void {
    this.#hasEnded = true;
    this.#deliver();
  }

  /** Breaks the connection: a reset arrives at the server. */
  break(): void {
    this.#pending?.reject(new Error("reset"));
    this.#pending = undefined;
  }

  /** Stops, or starts again, to take what the server writes. */
  take(isTaking: boolean): void {
    this.#isTaking = isTaking;
    if (!isTaking) return;
    for (const resolve of this.#untaken.splice(0)) resolve();
  }

  #deliver(): void {
    const pending = this.#pending;
    const next = this.#sent[0];
    if (pending === undefined) return;
    if (next !== undefined) {
      const taken = next.subarray(0, pending.into.length);
      pending.into.set(taken);
      if (taken.length === next.length) this.#sent.shift();
      else this.#sent[0] = next.subarray(taken.length);
      this.#pending = undefined;
      pending.resolve(taken.length);
    } else if (this.#hasEnded) {
      this.#pending = undefined;
      pending.resolve(null);
    }
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.isClosed) return Promise.reject(new Error("closed"));
    if (this.#pending !== undefined) throw new Error("two reads at a time");
    return new Promise((resolve, reject) => {
      this.#pending = { into, resolve, reject };
      this.#deliver();
    });
  }

  async write(bytes: Uint8Array): Promise<number> {
    if (this.isClosed || this.isHalfClosed) throw new Error("closed");
    this.writes++;
    const taken = bytes.subarray(0, this.maxTakenBytes);
    this.received += textOf(taken);
    if (!this.#isTaking) {
      await new Promise<void>((resolve, reject) => {
        this.#untaken.push(resolve);
        this.#rejects.push(reject);
      });
    }
    return taken.length;
  }

  closeWrite(): Promise<void> {
    this.isHalfClosed = true;
    return Promise.resolve();
  }

  close(): void {
    if (this.isClosed) throw new Error("closed twice");
    this.isClosed = true;
    this.#pending?.reject(new Error("closed"));
    for (const reject of this.#rejects.splice(0)) reject(new Error("closed"));
  }
}

export interface ServedClient {
  readonly client: FakeClient;
  readonly connection: ClientConnection;
  readonly time: ManualTime;
  /** Exceptions that were reported as defects. */
  readonly defects: unknown[];
  readonly over: Promise<void>;
}

/** Connects a client to a handler. */
export function serve(handler: RequestHandler, bounds: Partial<ServerBounds> = {}): ServedClient {
  const time = new ManualTime();
  const defects: unknown[] = [];
  const client = new FakeClient();
  const address = { transport: "tcp", hostname: "127.0.0.1", port: 1 } as const;
  const connection = new ClientConnection(
    {
      bounds: { ...serverBounds, ...bounds },
      deadlines: new Deadlines({ clock: time, timer: time }),
      handler,
      failed(status, error) {
        if (error !== undefined) defects.push(error);
        return new Reply(status, [], null);
      },
      date: () => "now",
    },
    client,
    address,
  );
  return { client, connection, time, defects, over: connection.run() };
}

/** Sends everything and ends; returns what came back. */
export async function exchange(
  handler: RequestHandler,
  sent: readonly (Uint8Array | string)[],
): Promise<string> {
  const { client, over } = serve(handler);
  for (const piece of sent) {
    client.send(piece);
    await settled();
  }
  client.end();
  await over;
  return client.received;
}
