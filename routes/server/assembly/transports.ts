/**
 * Opens one transport per provider, so that a failing provider cannot use up the connections of
 * another.
 */
import type { Catalog } from "../../../core/catalog/catalog.ts";
import type { ProviderEntry } from "../../../core/catalog/schema.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Deadlines, Timer } from "../../../core/lib/time/deadlines.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import type { Driver, Transport } from "../../../core/net/transport/transport.ts";
import { denoConnect, openFetchTransport } from "../../process/deno_connect.ts";
import { parseDestination } from "../../../core/net/http1/heads.ts";
import { NetworkDistance } from "../../../core/routing/live_router.ts";
import type { Connect } from "../../../core/net/transport/connection.ts";

// Measures how long connections to a provider take to open.

/** Milliseconds after which a measurement is given up. */
const measureMs = 5_000;

/** A {@linkcode Connect} that notes its times. */
class MeasuredConnect {
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

/**
 * Milliseconds for which the transport of a removed provider stays open: the longest that a call may take, and a minute
 * for one that was being admitted.
 */
const retiredMs = maxCallMs + 60_000;

/** The transports of all providers of the catalogue in force. */
export interface Transports {
  /** The transport of a provider, from the moment its catalogue is put in force. */
  of(provider: string): Transport;
  /** Milliseconds that a connection to a provider takes to open; `undefined` if never measured. */
  connectMsOf(provider: string): number | undefined;
  /** Opens a connection to each provider that is reached by the HTTP/1.1 driver, and closes it: measures how far it is. */
  measure(): Promise<void>;
  /**
   * Opens the transports of another catalogue. The returned function puts them in force; those of removed providers close
   * once no call can use them. What was prepared and not put in force is closed by the next one.
   */
  prepare(catalog: Catalog): Promise<() => void>;
  close(): void;
}

interface OpenTransport {
  readonly entry: ProviderEntry;
  readonly transport: Transport;
  readonly distance?: MeasuredConnect;
  close(): void;
}

type OpenTransports = ReadonlyMap<string, OpenTransport>;

/** The time of all transports, and the driver of providers that name none. */
interface TransportWorld {
  readonly driver: Driver;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly deadlines: Deadlines;
}

/** Opens the sandbox, which is loaded only where it is configured. */
async function openSandbox(
  { clock, timer }: TransportWorld,
  isStrict: boolean,
): Promise<Transport> {
  const [{ createSandboxTransport }, { timerDelay }, validators] = await Promise.all([
    import("../../../sandbox/provider/transport.ts"),
    import("../../../sandbox/provider/base/reply.ts"),
    isStrict ? import("../../../sandbox/vendor_validators/validators.ts") : undefined,
  ]);
  const validate = validators?.validateRequest;
  return createSandboxTransport({ clock, delay: timerDelay(timer), ...defined({ validate }) });
}

/** Opens the transport of one provider. */
async function openTransport(
  provider: ProviderEntry,
  world: TransportWorld,
): Promise<OpenTransport> {
  const { clock, deadlines } = world;
  if (provider.kind === "sandbox") {
    const transport = await openSandbox(world, provider.strict);
    return { entry: provider, transport, close() {} };
  }
  if ((provider.driver ?? world.driver) === "fetch") {
    const idleMs = provider.timeouts.idleMs ?? maxCallMs;
    return { entry: provider, ...openFetchTransport({ deadlines, idleMs }) };
  }
  const distance = new MeasuredConnect(denoConnect(), clock, provider.baseUrl);
  const transport = createHttp1Transport({
    connect: distance.connect,
    deadlines,
    connectMs: provider.timeouts.connectMs,
    idleMs: provider.timeouts.idleMs ?? maxCallMs,
  });
  return { entry: provider, transport, distance, close: () => transport.close() };
}

/** Holds the open transports, and closes them when no call needs them. */
class ProviderTransports implements Transports {
  readonly #world: TransportWorld;
  #open: OpenTransports = new Map();
  #prepared: OpenTransports | undefined;
  /** Transports of removed providers, which calls may still use. Bounded by the changes of a quarter of an hour. */
  readonly #retired = new Set<OpenTransport>();

  constructor(world: TransportWorld) {
    this.#world = world;
  }

  of(provider: string): Transport {
    const found = this.#open.get(provider)?.transport;
    invariant(found !== undefined, `No transport for provider ${provider}`);
    return found;
  }

  connectMsOf(provider: string): number | undefined {
    return this.#open.get(provider)?.distance?.connectMs;
  }

  async measure(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ distance }) => distance?.measure()));
  }

  async prepare({ providers }: Catalog): Promise<() => void> {
    const next = new Map<string, OpenTransport>();
    for (const [name, entry] of Object.entries(providers)) {
      const open = this.#open.get(name);
      const kept = open?.entry === entry ? open : await openTransport(entry, this.#world);
      next.set(name, kept);
    }
    this.#drop(this.#prepared);
    this.#prepared = next;
    return () => this.#putInForce(next);
  }

  #putInForce(next: OpenTransports): void {
    const former = this.#open;
    this.#open = next;
    if (this.#prepared === next) this.#prepared = undefined;
    for (const [name, one] of former) if (next.get(name) !== one) this.#retire(one);
  }

  #retire(one: OpenTransport): void {
    this.#retired.add(one);
    this.#world.deadlines.create(() => {
      this.#retired.delete(one);
      one.close();
    }).arm(retiredMs);
  }

  /** Closes what was opened for a catalogue that is not put in force. */
  #drop(prepared: OpenTransports | undefined): void {
    for (const [name, one] of prepared ?? []) if (this.#open.get(name) !== one) one.close();
  }

  close(): void {
    this.#drop(this.#prepared);
    this.#prepared = undefined;
    for (const one of [...this.#open.values(), ...this.#retired]) one.close();
    this.#retired.clear();
  }
}

/** Opens the transports of all providers of a catalogue. */
export async function openTransports(
  catalog: Catalog,
  world: TransportWorld,
): Promise<Transports> {
  const transports = new ProviderTransports(world);
  (await transports.prepare(catalog))();
  return transports;
}
