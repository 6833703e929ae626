/**
 * Reads and discards the bodies of refused requests, so that their clients get to read the answer: with an unread
 * body the server would reset the connection. Bounded in time for each body, and in number for each address; beyond
 * that the answer is sent at once, with `connection: close`. The runtime keeps the socket of a client that never ends
 * its body; the proxy in front closes it.
 */
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { addressBlock } from "../../../core/net/addresses/ip_address.ts";
import type { HttpRequest } from "./http_request.ts";
import { discardRequestBody, piecesOf } from "./body_pieces.ts";

/**
 * Bodies of one address (IPv6: of one /64) that are discarded at the same time: a program with a wrong key sends
 * several calls at once.
 */
export const refusedBodiesPerAddress = 32;

/** Bodies of all addresses that are discarded at the same time; each keeps a connection. */
const inAll = 512;

/** Discards bodies within the bounds of all and of each address. */
export class RefusedBodies {
  readonly #deadlines: Deadlines;
  readonly #ofAddresses = new Map<string, number>();
  #count = 0;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** Number of bodies of one address that are being discarded. */
  of(address: string): number {
    return this.#ofAddresses.get(address) ?? 0;
  }

  /** Discards a body, or cancels it if its address has too many of them. Never throws. */
  async discard(request: HttpRequest, clientAddress: string): Promise<void> {
    if (request.arrivedBody?.() !== undefined) return;
    if (request.pieces === undefined && request.body === null) return;
    const address = addressBlock(clientAddress);
    const own = this.of(address);
    if (own >= refusedBodiesPerAddress || this.#count >= inAll) {
      await piecesOf(request)?.cancel().catch(() => {});
      return;
    }
    this.#ofAddresses.set(address, own + 1);
    this.#count++;
    try {
      await discardRequestBody(request, this.#deadlines);
    } finally {
      this.#count--;
      const left = this.of(address) - 1;
      if (left > 0) this.#ofAddresses.set(address, left);
      else this.#ofAddresses.delete(address);
    }
  }
}
