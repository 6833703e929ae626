/** Child processes of the benchmark: pinned to a core where the system can, and surely ended. */
import { fromFileUrl } from "./paths.ts";

/** Cores by part: what is measured has one for itself. */
export const cores = { measured: 0, around: navigator.hardwareConcurrency > 1 ? 1 : 0 } as const;

export interface ChildOptions {
  readonly command: readonly string[];
  readonly core: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
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

/** `deno run` of a file of this folder. */
export function denoCommand(file: string, ...args: readonly string[]): string[] {
  return [Deno.execPath(), "run", "--no-check", "--allow-all", fromFileUrl(file), ...args];
}

function spawn({ command, core, environment = {}, directory }: ChildOptions, stdout: "piped") {
  const [name = "", ...args] = canPin() ? ["taskset", "-c", String(core), ...command] : command;
  return new Deno.Command(name, {
    args,
    env: { ...environment },
    stdout,
    stderr: "inherit",
    ...(directory === undefined ? {} : { cwd: directory }),
  }).spawn();
}

/** A server of the benchmark. */
export class Server implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly port: number;
  /** From the start of the process to its `ready` line. */
  readonly readyMs: number;

  private constructor(child: Deno.ChildProcess, port: number, readyMs: number) {
    this.#child = child;
    this.port = port;
    this.readyMs = readyMs;
  }

  /** Starts it and waits for a line with its port, found by `portPattern`. */
  static async start(options: ChildOptions, portPattern = /ready (\d+)/): Promise<Server> {
    const startedMs = performance.now();
    const child = spawn(options, "piped");
    const lines = child.stdout.pipeThrough(new TextDecoderStream());
    const port = Promise.withResolvers<number>();
    (async () => {
      let text = "";
      for await (const piece of lines) {
        if (text.length > 100_000) continue;
        text += piece;
        const match = portPattern.exec(text);
        if (match) port.resolve(Number(match[1]));
      }
      port.reject(new Error(`Ended before it was ready: ${options.command.join(" ")}\n${text}`));
    })();
    return new Server(child, await port.promise, performance.now() - startedMs);
  }

  /** `taskset` replaces itself by the program, so this is the program's own id. */
  get pid(): number {
    return this.#child.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // Ended already.
    }
    await this.#child.status;
  }
}

/** Runs a program to its end and returns what it printed. */
export async function output(options: ChildOptions): Promise<string> {
  const child = spawn(options, "piped");
  const { success, stdout } = await child.output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`Failed: ${options.command.join(" ")}\n${text}`);
  return text;
}
