/** Measures how long connections to a provider take to open. */
import { parseDestination } from "../../../core/net/http1/request_head.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { NetworkDistance } from "../../../core/routing/network_distance.ts";
import type { Connect } from "../../../core/net/transport/connection.ts";

/** Milliseconds after which a measurement is given up. */
const measureMs = 5_000;

/** A {@linkcode Connect} that notes its times. */
export class MeasuredConnect {
  readonly #connect: Connect;
  readonly #clock: Clock;
  readonly #url: string;
  readonly #distance = new NetworkDistance();

  /** @param url an address of the provider */
  constructor(connect: Connect, clock: Clock, url: string) {
    this.#connect = connect;
    this.#clock = clock;
    this.#url = url;
  }

  /** Milliseconds that a connection takes to open; `undefined` before the first one. */
  get connectMs(): number | undefined {
    return this.#distance.connectMs;
  }

  readonly connect: Connect = async (target, signal) => {
    const beganMs = this.#clock.monotonicMs();
    const connection = await this.#connect(target, signal);
    this.#distance.note(this.#clock.monotonicMs() - beganMs);
    return connection;
  };

  /** Opens a connection and closes it. A provider that cannot be reached keeps its distance; its calls show the rest. */
  async measure(): Promise<void> {
    try {
      const { target } = parseDestination(this.#url);
      const connection = await this.connect(target, AbortSignal.timeout(measureMs));
      connection.close();
    } catch {
      // Health of routes is what calls say of them.
    }
  }
}
