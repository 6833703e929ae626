/** Child processes of the benchmark: pinned to a core if the system can, and always ended. */
import { fromFileUrl } from "./paths.ts";

/** Cores by part: the process under test has one to itself. */
export const cores = {
  measured: 0,
  around: navigator.hardwareConcurrency > 1 ? 1 : 0,
  all: `0-${navigator.hardwareConcurrency - 1}`,
} as const;

export interface ChildOptions {
  readonly command: readonly string[];
  /** A core, or a list of them as `taskset` takes it. */
  readonly core: number | string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
  /** Discards its error output. */
  readonly isQuiet?: boolean;
}

let pinning: boolean | undefined;

function canPin(): boolean {
  if (pinning === undefined) {
    try {
      pinning = new Deno.Command("taskset", { args: ["-V"], stdout: "null" }).outputSync().success;
    } catch {
      pinning = false;
    }
  }
  return pinning;
}

/** The command that runs a file of this folder. */
export function denoCommand(file: string, ...args: readonly string[]): string[] {
  return [Deno.execPath(), "run", "--no-check", "--allow-all", fromFileUrl(file), ...args];
}

function spawn({ command, core, environment = {}, directory, isQuiet }: ChildOptions) {
  const [name = "", ...args] = canPin() ? ["taskset", "-c", String(core), ...command] : command;
  return new Deno.Command(name, {
    args,
    env: { ...environment },
    stdout: "piped",
    stderr: isQuiet === true ? "null" : "inherit",
    ...(directory === undefined ? {} : { cwd: directory }),
  }).spawn();
}

/** A server of the benchmark. */
export class Server implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  /** The match of its `ready` pattern. */
  readonly match: readonly string[];
  /** From the start of the process to its `ready` line. */
  readonly readyMs: number;

  private constructor(child: Deno.ChildProcess, match: readonly string[], readyMs: number) {
    this.#child = child;
    this.match = match;
    this.readyMs = readyMs;
  }

  /** Starts it and waits until its output matches `pattern`, whose first group is the port. */
  static async start(options: ChildOptions, pattern = /ready (\d+)/): Promise<Server> {
    const startedMs = performance.now();
    const child = spawn(options);
    const ready = Promise.withResolvers<readonly string[]>();
    (async () => {
      let text = "";
      for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
        // Read to the end, or the child would block; kept only until it is ready.
        if (text.length < 100_000) text += piece;
        const match = pattern.exec(text);
        if (match) ready.resolve(match);
      }
      ready.reject(new Error(`Ended before it was ready: ${options.command.join(" ")}\n${text}`));
    })();
    return new Server(child, await ready.promise, performance.now() - startedMs);
  }

  get port(): number {
    return Number(this.match[1]);
  }

  /** `taskset` replaces itself with the program, so this is the id of the program. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Asks it to stop, and kills it after five seconds. */
  async stop(): Promise<void> {
    this.#kill("SIGTERM");
    const timer = setTimeout(() => this.#kill("SIGKILL"), 5_000);
    await this.#child.status;
    clearTimeout(timer);
  }

  #kill(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch {
      // Ended already.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill("SIGKILL");
    await this.#child.status;
  }
}

/** The program at the end of a chain of shells and launchers that begins with `pid`. */
export function lastDescendant(pid: number): number {
  const children = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).trim().split(" ");
  const child = Number(children.at(-1));
  return child > 0 ? lastDescendant(child) : pid;
}

/**
 * Waits until a server accepts connections.
 *
 * @throws {Error} when it has not after a minute
 */
export async function untilAccepts(port: number): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(`Nothing accepts connections at port ${port}`);
}

/** Runs a program to its end and returns what it printed. */
export async function output(options: ChildOptions): Promise<string> {
  const child = spawn(options);
  const { success, stdout } = await child.output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`Failed: ${options.command.join(" ")}\n${text}`);
  return text;
}
