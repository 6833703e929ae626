/**
 * Opens one transport per provider, so that a failing provider cannot use up the connections of
 * another.
 */
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { invariant } from "../../core/lib/assert.ts";
import { validateRequest } from "../../sandbox/vendor_validators/mod.ts";
import { maxCallMs } from "../../core/limits.ts";
import { createFetchTransport } from "../../core/upstream/fetch_transport.ts";
import { createHttp1Transport } from "../../core/lib/http1/transport.ts";
import { timerDelay } from "../../sandbox/provider/delay.ts";
import { createSandboxTransport } from "../../sandbox/provider/transport.ts";
import type { Transport } from "../../core/upstream/transport.ts";
import { denoConnect } from "../upstream/deno_connect.ts";
import { MeasuredConnect } from "./measured_connect.ts";

/** The transports of all providers. */
export interface Transports {
  of(provider: string): Transport;
  /** Milliseconds that a connection to a provider takes to open; `undefined` if never measured. */
  connectMsOf(provider: string): number | undefined;
  /** Opens a connection to each provider that is reached by the HTTP/1.1 driver, and closes it: measures how far it is. */
  measure(): Promise<void>;
  close(): void;
}

/** Opens the transports of all providers of a catalogue. */
export function openTransports(catalog: Catalog, clock: Clock, deadlines: Deadlines): Transports {
  const transports = new Map<string, Transport>();
  const closers: (() => void)[] = [];
  const distances = new Map<string, MeasuredConnect>();
  for (const [name, provider] of Object.entries(catalog.providers)) {
    if (provider.kind === "sandbox") {
      transports.set(
        name,
        createSandboxTransport({
          clock,
          delay: timerDelay(),
          ...(provider.strict ? { validate: validateRequest } : {}),
        }),
      );
    } else if (provider.driver === "fetch") {
      const client = Deno.createHttpClient({});
      const onceClient = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      transports.set(
        name,
        createFetchTransport({
          fetch: (url, init) => fetch(url, { ...init, client }),
          fetchOnce: (url, init) => fetch(url, { ...init, client: onceClient }),
          deadlines,
          idleMs: provider.timeouts.idleMs ?? maxCallMs,
        }),
      );
      closers.push(() => client.close(), () => onceClient.close());
    } else {
      const measured = new MeasuredConnect(denoConnect(), clock, provider.baseUrl);
      distances.set(name, measured);
      const transport = createHttp1Transport({
        connect: measured.connect,
        deadlines,
        connectMs: provider.timeouts.connectMs,
        idleMs: provider.timeouts.idleMs ?? maxCallMs,
      });
      transports.set(name, transport);
      closers.push(() => transport.close());
    }
  }
  return {
    of(provider) {
      const transport = transports.get(provider);
      invariant(transport !== undefined, `No transport for provider ${provider}`);
      return transport;
    },
    connectMsOf: (provider) => distances.get(provider)?.connectMs,
    async measure() {
      await Promise.all([...distances.values()].map((distance) => distance.measure()));
    },
    close() {
      for (const close of closers) close();
    },
  };
}
