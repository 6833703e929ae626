/** Bounds how many pages are rendered for an address without a session, so that paid calls keep the processor. */
import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { addressBlock } from "../../../core/net/addresses/ip_address.ts";
import type { DashboardEnv } from "../page/visitor.ts";

/** Pages at once: a crawler of the whole site and its languages, some 1.5 s of a processor. */
const maxPages = 600;

/** Pages per second after that: a page costs 2.5 ms, so an address has a fortieth of a processor. */
const pagesPerSecond = 10;

/** Addresses that are remembered; the one that asked longest ago is forgotten. */
const maxAddresses = 10_000;

interface Account {
  readonly pages: number;
  readonly atMs: number;
}

/** Budget that each address has left. */
export class RenderBudget {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #left = new Map<string, Account>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Number of addresses that are remembered. */
  get addresses(): number {
    return this.#left.size;
  }

  /** Takes one page; `false` if the address has none left. */
  take(address: string): boolean {
    const block = addressBlock(address);
    const atMs = this.#clock.monotonicMs();
    const known = this.#left.get(block);
    const earned = known === undefined ? 0 : (atMs - known.atMs) * pagesPerSecond / 1000;
    const pages = known === undefined ? maxPages : Math.min(maxPages, known.pages + earned);
    const isEnough = pages >= 1;
    this.#left.delete(block);
    this.#left.set(block, { pages: isEnough ? pages - 1 : pages, atMs });
    if (this.#left.size > maxAddresses) {
      const [oldest] = this.#left.keys();
      if (oldest !== undefined) this.#left.delete(oldest);
    }
    return isEnough;
  }
}

/** Answers visitors without a session with 429 when their address has had its pages. */
export function boundRendering(
  clock: Pick<Clock, "monotonicMs">,
): MiddlewareHandler<DashboardEnv> {
  const budget = new RenderBudget(clock);
  return async (c, next) => {
    // Without a socket, as in tests, the environment is absent.
    const address: string | undefined = c.env?.clientAddress;
    if (
      c.get("visitor").signedIn !== undefined || address === undefined || budget.take(address)
    ) return await next();
    return c.text("Too many pages were requested from your address. Try again in a second.", 429, {
      "retry-after": "1",
    });
  };
}
