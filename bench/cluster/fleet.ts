/** Gateways over one real store for the cluster benchmark, directly or through a proxy that delays. */
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import type { ClusterEngine } from "../../tests/cluster/stores.ts";
import { startTcpProxy, type TcpProxy } from "../../tests/support/servers/tcp_proxy.ts";
import { output, Server } from "../child.ts";
import { configuration, gatewayCommand } from "../gateway.ts";
import type { Target } from "../load_job.ts";

/** Gateways are spread over the cores that there are. */
const coreOf = (instance: number) => instance % navigator.hardwareConcurrency;

/** One store with an account that pays for all calls. */
export class Fleet implements AsyncDisposable {
  readonly proxy: TcpProxy;
  readonly #stack: AsyncDisposableStack;
  readonly #directory: string;
  readonly #environment: (port: number) => Record<string, string>;
  readonly #storePort: number;
  #secret = "";

  private constructor(
    stack: AsyncDisposableStack,
    directory: string,
    storePort: number,
    environment: (port: number) => Record<string, string>,
  ) {
    this.#stack = stack;
    this.#directory = directory;
    this.#storePort = storePort;
    this.#environment = environment;
    this.proxy = stack.use(startTcpProxy(storePort));
  }

  static async open(engine: ClusterEngine, upstreamPort: number): Promise<Fleet> {
    await using stack = new AsyncDisposableStack();
    const directory = await Deno.makeTempDir({ prefix: "bench-cluster" });
    stack.defer(() => Deno.remove(directory, { recursive: true }));
    await Deno.writeTextFile(`${directory}/gateway.json`, configuration(upstreamPort));
    const store = stack.use(await engine.start());
    const masterKeys = newMasterKey();
    const environment = (port: number) => ({
      ...store.env(port),
      PORT: "0",
      GATEWAY_WORKERS: "1",
      GATEWAY_CONFIG: `${directory}/gateway.json`,
      GATEWAY_MASTER_KEYS: masterKeys,
      GATEWAY_DRAIN_MS: "0",
      BENCH_PROVIDER_KEY: "bench",
    });
    const fleet = new Fleet(stack.move(), directory, store.port, environment);
    await fleet.#admin("account", "create", "--email", "bench@example.invalid");
    await fleet.#admin("credit", "bench@example.invalid", "1000000000", "--reason", "bench");
    const made = await fleet.#admin("key", "create", "bench@example.invalid");
    fleet.#secret = /sk-[A-Za-z0-9]+/.exec(made)?.[0] ?? "";
    return fleet;
  }

  #admin(...args: readonly string[]): Promise<string> {
    return output({
      command: gatewayCommand("admin", ...args),
      core: coreOf(0),
      environment: this.#environment(this.#storePort),
      directory: this.#directory,
    });
  }

  /** Starts gateways whose store is `near`, or behind the proxy. */
  async start(count: number, isNear: boolean): Promise<Gateways> {
    const port = isNear ? this.#storePort : this.proxy.port;
    const servers: Server[] = [];
    for (let instance = 0; instance < count; instance++) {
      servers.push(
        await Server.start({
          command: gatewayCommand(),
          core: coreOf(instance),
          environment: this.#environment(port),
          directory: this.#directory,
        }, /listening on \S+:(\d+)/),
      );
    }
    return {
      targets: servers.map((server) => ({
        url: `http://127.0.0.1:${server.port}`,
        headers: [["authorization", `Bearer ${this.#secret}`]],
        pid: server.pid,
      })),
      async [Symbol.asyncDispose]() {
        await Promise.all(servers.map((server) => server.stop()));
      },
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Running gateways. */
export interface Gateways extends AsyncDisposable {
  readonly targets: readonly Target[];
}
