/**
 * Bodies of refused requests. They are read and thrown away, so that their clients get to read the answer: with an
 * unread body the server would close the connection under them. Bounded in time for each, and in number for each
 * address: beyond that the answer goes out at once, with `connection: close`. The runtime itself keeps the socket of a
 * client that never ends its body; the proxy in front closes it.
 */
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { addressBlock } from "../../core/lib/net/ip_address.ts";
import { discardRequestBody } from "./discard_body.ts";

/**
 * Bodies of one address (IPv6: of one /64) that are thrown away at the same time: a program with a wrong key sends some
 * calls at once.
 */
export const refusedBodiesPerAddress = 32;

/** Of all addresses together; a connection each. */
const inAll = 512;

export class RefusedBodies {
  readonly #deadlines: Deadlines;
  readonly #ofAddresses = new Map<string, number>();
  #count = 0;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** Bodies that are thrown away now, of one address. */
  of(address: string): number {
    return this.#ofAddresses.get(address) ?? 0;
  }

  /** Throws a body away, or lets it be where the address has too many of them. Never throws. */
  async discard(request: Request, clientAddress: string): Promise<void> {
    if (request.body === null) return;
    const address = addressBlock(clientAddress);
    const own = this.of(address);
    if (own >= refusedBodiesPerAddress || this.#count >= inAll) {
      await request.body.cancel().catch(() => {});
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
