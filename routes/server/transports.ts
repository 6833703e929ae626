/**
 * Opens one transport per provider, so that a failing provider cannot use up the connections of
 * another.
 */
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { defined } from "../../core/lib/defined.ts";
import { invariant } from "../../core/lib/assert.ts";
import { maxCallMs } from "../../core/limits.ts";
import { createFetchTransport } from "../../core/upstream/fetch_transport.ts";
import { createHttp1Transport } from "../../core/lib/http1/transport.ts";
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

/** Opens the sandbox, which is loaded only where it is configured. */
async function openSandbox(clock: Clock, isStrict: boolean): Promise<Transport> {
  const [{ createSandboxTransport }, { timerDelay }, validators] = await Promise.all([
    import("../../sandbox/provider/transport.ts"),
    import("../../sandbox/provider/delay.ts"),
    isStrict ? import("../../sandbox/vendor_validators/mod.ts") : undefined,
  ]);
  const validate = validators?.validateRequest;
  return createSandboxTransport({ clock, delay: timerDelay(), ...defined({ validate }) });
}

/** Opens the transports of all providers of a catalogue. */
export async function openTransports(
  catalog: Catalog,
  clock: Clock,
  deadlines: Deadlines,
): Promise<Transports> {
  const transports = new Map<string, Transport>();
  const closers: (() => void)[] = [];
  const distances = new Map<string, MeasuredConnect>();
  for (const [name, provider] of Object.entries(catalog.providers)) {
    if (provider.kind === "sandbox") {
      transports.set(name, await openSandbox(clock, provider.strict));
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
