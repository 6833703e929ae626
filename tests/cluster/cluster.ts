/** Gateway processes over one store, each on a port that it keeps when it is started again. */
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { type AdminPayer, newAdminPayer } from "../support/gateways/admin_payer.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import { freePort } from "../support/servers/free_port.ts";
import { startMoneyGateway } from "../support/worlds/money_process.ts";
import type { ClientLedger } from "./client_ledger.ts";

const operatorKey = "operator-key-of-the-cluster-tests-0001";

const demoEmail = "demo@sandbox.invalid";

/** Milliseconds that a stopped gateway keeps answering while `/readyz` says 503. */
export const stopDelayMs = 1_500;

export class Cluster implements AsyncDisposable {
  /** At the same place after a new start. */
  readonly gateways: StartedGateway[] = [];
  readonly #env: Readonly<Record<string, string>>[];
  readonly #folder: string;
  /** The folder of the release that {@linkcode startOne} starts; this one's by default. */
  root: URL | undefined;

  private constructor(
    folder: string,
    env: Readonly<Record<string, string>>[],
    root: URL | undefined,
  ) {
    this.#folder = folder;
    this.#env = env;
    this.root = root;
  }

  /** Starts a gateway for each environment, which names its store. */
  static async start(
    stores: readonly Readonly<Record<string, string>>[],
    root?: URL,
  ): Promise<Cluster> {
    const masterKey = newMasterKey();
    const cluster = new Cluster(
      await Deno.makeTempDir({ prefix: "gateway-cluster-" }),
      stores.map((store) => ({
        ...store,
        PORT: String(freePort()),
        GATEWAY_MASTER_KEYS: masterKey,
        GATEWAY_OPERATOR_KEY: operatorKey,
        GATEWAY_STOP_DELAY_MS: String(stopDelayMs),
      })),
      root,
    );
    // The first one creates the tables.
    await cluster.startOne(0);
    await Promise.all(stores.slice(1).map((_, at) => cluster.startOne(at + 1)));
    return cluster;
  }

  /** Starts the gateway at this place. */
  async startOne(at: number): Promise<void> {
    this.gateways[at] = await startMoneyGateway(
      this.#folder,
      { ...this.#env[at] },
      this.root === undefined ? {} : { root: this.root },
    );
  }

  /** Gives the gateway at this place other variables from its next start on. */
  change(at: number, variables: Readonly<Record<string, string>>): void {
    this.#env[at] = { ...this.env(at), ...variables };
  }

  address(at: number): string {
    return `http://127.0.0.1:${this.#env[at]?.["PORT"]}`;
  }

  env(at: number): Readonly<Record<string, string>> {
    return this.#env[at] ?? {};
  }

  admin(...args: string[]): Promise<{ readonly code: number; readonly output: string }> {
    return this.gateways[0]!.admin(...args);
  }

  /** The play money that the first start gave to the demo account. */
  async demoVnd(): Promise<number> {
    return Number(JSON.parse((await this.admin("account", "show", demoEmail)).output).balanceVnd);
  }

  /** Makes an account with a key and money, which the clients' ledger knows. */
  async newPayer(ledger: ClientLedger, vnd: number): Promise<AdminPayer> {
    ledger.creditedVnd += vnd;
    return await newAdminPayer(this.gateways[0]!, vnd);
  }

  /** Asks the operator's API of one gateway; with a body it posts. */
  async operate(
    at: number,
    path: string,
    body?: unknown,
    method = body === undefined ? "GET" : "POST",
  ): Promise<string> {
    const response = await fetch(`${this.address(at)}${path}`, {
      method,
      headers: { authorization: `Bearer ${operatorKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  }

  /** Disables or enables every route of a model at one gateway. */
  async switchModel(at: number, model: string, action: "disable" | "enable"): Promise<void> {
    const listed: { data: { id: string; model: string }[] } = JSON.parse(
      await this.operate(at, "/operator/routes"),
    );
    for (const route of listed.data.filter((one) => one.model === model)) {
      await this.operate(at, `/operator/routes/${encodeURIComponent(route.id)}/${action}`, {});
    }
  }

  /** Ends all gateways, which settle what they began and give their leases back. */
  async end(): Promise<number[]> {
    return await Promise.all(this.gateways.map((gateway) => gateway.end("SIGTERM")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await Deno.remove(this.#folder, { recursive: true });
  }
}
