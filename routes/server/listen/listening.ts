/** What the two kinds of server have in common: the gateway's own, and the runtime's. */
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import type { ServedRequest } from "../http1/served_request.ts";

/** Answers one request of a connection: of the gateway's own server, or of the runtime's. */
export type Answer = (
  request: ServedRequest | Request,
  remoteAddress: Deno.NetAddr,
) => Reply | Response | Promise<Reply | Response>;

/** Where the server listens. */
export type ListeningAddress = Pick<Deno.NetAddr, "hostname" | "port">;

/** A listening server. */
export interface Listening {
  readonly address: ListeningAddress;
  /** Stops accepting at once and resolves when all answers are out. */
  shutdown(): Promise<void>;
}

/** What each kind of server needs beside the handler. */
export interface ListenOptions extends ListeningAddress {
  /** Whether other threads of this process listen at the same address. */
  readonly isShared: boolean;
  /** Makes the answer to a request that no handler could answer; `error` is a defect. */
  readonly failed: (status: number, error?: unknown) => Reply;
  /** Called when no connection can be accepted. */
  readonly onTrouble: (error: unknown) => void;
}
