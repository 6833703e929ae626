/** The gateway under test: the real `main.ts` with a configuration and a store of its own. */
import { cores, output, Server } from "./child.ts";
import type { Target } from "./load_job.ts";
import { fromFileUrl } from "./paths.ts";
import { scenarios } from "./scenarios.ts";

/**
 * The command of `deno task start` or `deno task admin` from deno.json, so that the process under test has the
 * permissions and V8 flags of production.
 */
export function gatewayCommand(task: "start" | "admin" = "start", ...args: string[]): string[] {
  const config = fromFileUrl("../deno.json");
  const { tasks } = JSON.parse(Deno.readTextFileSync(config));
  const [, run, ...rest] = String(tasks[task]).split(" ");
  if (run !== "run") throw new Error(`deno.json: the task ${task} is no deno run`);
  const main = fromFileUrl("../main.ts");
  const words = rest.map((word) => word === "main.ts" ? main : word);
  return [Deno.execPath(), "run", "--config", config, ...words, ...args];
}

/** Runs a gateway with traces of its operations (`.ops`) and, in its output (`.output`), of its collections. */
function traced(command: readonly string[], trace: string): string[] {
  const [deno = "", run = "", ...words] = command;
  const flagged = words.map((word) => word.startsWith("--v8-flags=") ? `${word},--trace-gc` : word);
  const redirected = 'exec stdbuf -oL "$@" 2>"$0.ops" > >(exec tee "$0.output")';
  return ["bash", "-c", redirected, trace, deno, run, "--trace-ops", ...flagged];
}

/** Files that measure from within the thread of the gateway, into the file that `BENCH_WATCH` names. */
export type Watch = "stop_watch.ts" | "promise_watch.ts";

function watched([deno = "", run = "", ...words]: readonly string[], watch: Watch): string[] {
  return [deno, run, `--preload=${fromFileUrl(`./${watch}`)}`, ...words];
}

function inspected([deno = "", run = "", ...words]: readonly string[], port?: number): string[] {
  const inspect = port === undefined ? [] : [`--inspect=127.0.0.1:${port}`];
  return [deno, run, ...inspect, ...words];
}

/** Kind and style of the models that are no Chat ones. */
const otherModels: Partial<Record<string, { readonly kind: string; readonly style: string }>> = {
  "bench-gemini": { kind: "chat", style: "gemini" },
  "bench-embeddings": { kind: "embedding", style: "embeddings" },
};

/** Every scenario as a model; routes use the Chat style where they can, so that the Messages style is converted. */
export function configuration(upstreamPort: number): string {
  const price = { unit: "token", vndPerMtok: 8_300 };
  return JSON.stringify({
    defaultModel: "bench-json",
    providers: {
      mock: {
        kind: "http",
        baseUrl: `http://127.0.0.1:${upstreamPort}`,
        apiKeyEnv: "BENCH_PROVIDER_KEY",
      },
    },
    models: Object.keys(scenarios).map((id) => {
      const { kind, style } = otherModels[id] ?? { kind: "chat", style: "chat" };
      return {
        id,
        kind,
        family: "bench",
        contextWindow: 1_000_000,
        ...(kind === "chat" ? { maxOutputTokens: 4_096 } : {}),
        price,
        routes: [{ provider: "mock", style }],
      };
    }),
  });
}

/** The address of the account that calls. */
export const benchEmail = "bench@example.invalid";

export interface BenchGatewayOptions {
  /** Processor that it runs on; a core of its own by default. */
  readonly core?: number | string;
  /** Threads that serve. */
  readonly workers?: number;
  /** Watch that measures from within its thread. */
  readonly watch?: Watch;
  /** Traces operations and collections, to files whose names begin with this. */
  readonly trace?: string;
  /** A free port for the inspector of its runtime. */
  readonly inspectorPort?: number;
}

export class BenchGateway implements AsyncDisposable {
  readonly #directory: string;
  readonly #core: number | string;
  readonly #trace: string | undefined;
  readonly #watch: Watch | undefined;
  readonly #inspectorPort: number | undefined;
  readonly #environment: Readonly<Record<string, string>>;
  #server: Server | undefined;
  #secret = "";

  private constructor(
    directory: string,
    upstreamPort: number,
    { core = cores.measured, workers = 1, trace, watch, inspectorPort }: BenchGatewayOptions,
  ) {
    this.#directory = directory;
    this.#core = core;
    this.#trace = trace;
    this.#watch = watch;
    this.#inspectorPort = inspectorPort;
    this.#environment = {
      GATEWAY_WORKERS: String(workers),
      PORT: "0",
      GATEWAY_CONFIG: `${directory}/gateway.json`,
      GATEWAY_KV: `${directory}/gateway.sqlite3`,
      GATEWAY_DRAIN_MS: "0",
      BENCH_PROVIDER_KEY: "bench",
      ...(watch === undefined ? {} : { BENCH_WATCH: `${directory}/watch.jsonl` }),
    };
    Deno.writeTextFileSync(`${directory}/gateway.json`, configuration(upstreamPort));
  }

  /** Creates the store with an account, a key and money, without starting the gateway. */
  static async prepare(
    upstreamPort: number,
    options: BenchGatewayOptions = {},
  ): Promise<BenchGateway> {
    await using stack = new AsyncDisposableStack();
    const directory = await Deno.makeTempDir({ prefix: "bench" });
    const gateway = stack.use(new BenchGateway(directory, upstreamPort, options));
    await gateway.#admin("account", "create", "--email", benchEmail);
    await gateway.#admin("credit", benchEmail, "1000000000", "--reason", "bench");
    const key = await gateway.#admin("key", "create", benchEmail);
    gateway.#secret = /sk-[A-Za-z0-9]+/.exec(key)?.[0] ?? "";
    if (gateway.#secret === "") throw new Error(`No key in: ${key}`);
    stack.move();
    return gateway;
  }

  #admin(...args: readonly string[]): Promise<string> {
    return output({
      command: gatewayCommand("admin", ...args),
      core: cores.measured,
      environment: this.#environment,
      directory: this.#directory,
    });
  }

  get storePath(): string {
    return `${this.#directory}/gateway.sqlite3`;
  }

  /** Lines of its watch since the start: a value of JSON for each. */
  watched(): readonly unknown[] {
    const lines = Deno.readTextFileSync(`${this.#directory}/watch.jsonl`).trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line));
  }

  async start(): Promise<void> {
    const watch = this.#watch;
    const plain = inspected(gatewayCommand(), this.#inspectorPort);
    const command = watch === undefined ? plain : watched(plain, watch);
    this.#server = await Server.start({
      command: this.#trace === undefined ? command : traced(command, this.#trace),
      core: this.#core,
      environment: this.#environment,
      directory: this.#directory,
    }, /listening on \S+:(\d+)/);
  }

  get target(): Target {
    if (this.#server === undefined) throw new Error("not started");
    return {
      url: `http://127.0.0.1:${this.#server.port}`,
      headers: [["authorization", `Bearer ${this.#secret}`]],
      pid: this.#server.pid,
    };
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await Deno.remove(this.#directory, { recursive: true });
  }
}
