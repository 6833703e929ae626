/** Registers a scenario as a test on each engine. */
import { ClientLedger } from "./client_ledger.ts";
import { assertExactBooks } from "./books.ts";
import { Cluster } from "./cluster.ts";
import { clusterEngines, type ClusterStore } from "./stores.ts";

/** Kills of gateways; the other scenarios have their short form below {@linkcode longRounds}. */
export const rounds = Number(Deno.env.get("CLUSTER_ROUNDS") ?? 6);

const longRounds = 50;

export const isLong = rounds >= longRounds;

/** Gateways of a cluster. */
const instances = 3;

export interface Scenario {
  readonly store: ClusterStore;
  readonly cluster: Cluster;
  readonly ledger: ClientLedger;
}

/** A way from the gateways to the store. */
export interface StorePath extends AsyncDisposable {
  readonly port: number;
}

export interface ScenarioOptions<Path extends StorePath> {
  /** The only engine that the scenario is for; all by default. */
  readonly engine?: "PostgreSQL" | "denokv";
  /** A proxy that all gateways use. */
  readonly path?: (store: ClusterStore) => Path;
  readonly run: (scenario: Scenario, path: Path | undefined) => Promise<void>;
}

/** A test on each engine: three gateways, the scenario, then exact books. */
export function clusterTest<Path extends StorePath>(
  name: string,
  { engine: only, path, run }: ScenarioOptions<Path>,
): void {
  for (const engine of clusterEngines) {
    if (only !== undefined && engine.name !== only) continue;
    const { missing } = engine;
    Deno.test({
      name: `${engine.name}: ${name}${missing === undefined ? "" : ` (needs: ${missing})`}`,
      ignore: missing !== undefined,
      sanitizeOps: false,
      sanitizeResources: false,
      async fn() {
        await using store = await engine.start();
        const between = path?.(store);
        try {
          const env = store.env(between?.port ?? store.port);
          await using cluster = await Cluster.start(Array.from({ length: instances }, () => env));
          const ledger = new ClientLedger();
          ledger.creditedVnd += await cluster.demoVnd();
          await run({ store, cluster, ledger }, between);
          await assertExactBooks(`${engine.name}, ${name}`, cluster, ledger);
        } finally {
          await between?.[Symbol.asyncDispose]();
        }
      },
    });
  }
}
