/**
 * Checks the names in URLs that customers give and that are fetched later, by a provider or by the gateway, by the rules
 * of the guarded fetcher: every address of a name must be public.
 *
 * The name is resolved again later, so this stops names of private addresses, not a name server that answers differently
 * each time.
 */
import { makeRoom } from "../../lib/base/make_room.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Deadlines } from "../../lib/time/deadlines.ts";
import { parseIpAddress } from "../addresses/ip_address.ts";
import { isPublicAddress, maxResolvedAddresses } from "./address.ts";
import type { Resolve } from "./guarded_connect.ts";

/** Time to resolve one name; name servers answer within tens of milliseconds. */
const resolveMs = 3_000;
/** Milliseconds for which a result is reused: agents send the same picture with every turn. */
const verdictMs = 60_000;
/** Results that are kept: about 100 KB. */
const maxVerdicts = 1_000;

/** Network in which the addresses of a name are. `unknown`: it has none, or no name server answered. */
type Reach = "public" | "private" | "unknown";

interface Verdict {
  readonly reach: Promise<Reach>;
  readonly untilMs: number;
}

/** Checks host names and remembers the results for a short time. */
export class PublicNames {
  readonly #resolve: Resolve;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #verdicts = new Map<string, Verdict>();

  constructor(
    world: { readonly resolve: Resolve; readonly clock: Clock; readonly deadlines: Deadlines },
  ) {
    this.#resolve = world.resolve;
    this.#clock = world.clock;
    this.#deadlines = world.deadlines;
  }

  /** Whether all addresses of a host (as `URL.hostname` gives it) are public. Never rejects. */
  async isPublic(host: string): Promise<boolean> {
    return await this.#reachOf(host) === "public";
  }

  /** Whether a host has an address that is not public. Never rejects. */
  async hasPrivateAddress(host: string): Promise<boolean> {
    return await this.#reachOf(host) === "private";
  }

  #reachOf(host: string): Promise<Reach> {
    const literal = host.startsWith("[") ? host.slice(1, -1) : host;
    if (parseIpAddress(literal) !== undefined) {
      return Promise.resolve(isPublicAddress(literal) ? "public" : "private");
    }
    const nowMs = this.#clock.monotonicMs();
    const known = this.#verdicts.get(host);
    if (known !== undefined && known.untilMs > nowMs) return known.reach;
    this.#verdicts.delete(host);
    const verdict = { reach: this.#lookUp(host), untilMs: nowMs + verdictMs };
    makeRoom(this.#verdicts, maxVerdicts);
    this.#verdicts.set(host, verdict);
    return verdict.reach;
  }

  async #lookUp(host: string): Promise<Reach> {
    const controller = new AbortController();
    const deadline = this.#deadlines.create(() => controller.abort());
    deadline.arm(resolveMs);
    try {
      const addresses = (await this.#resolve(host, controller.signal))
        .slice(0, maxResolvedAddresses);
      if (addresses.length === 0) return "unknown";
      return addresses.every(isPublicAddress) ? "public" : "private";
    } catch {
      // A failure is not kept: the next call resolves the name again.
      this.#verdicts.delete(host);
      return "unknown";
    } finally {
      deadline.disarm();
    }
  }
}
