/** Isolates of the entry under the constraints of Deno Deploy, on one store, as far as one machine can have them. */
import { TextLineStream } from "../../text_lines.ts";
import { until } from "../../until.ts";
import type { SharedStore } from "../kv_connect/server.ts";

const root = new URL("../../../../", import.meta.url);

/** An instance of the platform. */
export interface Isolate extends AsyncDisposable {
  readonly address: string;
  readonly pid: number;
  /** Lines of the log and of the platform so far. */
  readonly lines: readonly string[];
  /** Stops the process between requests. */
  freeze(): void;
  /** Lets it run on, two minutes later by the wall clock. */
  thaw(): Promise<void>;
  /** Lets it run on at once. */
  wake(): void;
  kill(): Promise<void>;
  /** Ends it as the platform does; returns the exit code and the milliseconds that it took. */
  stop(): Promise<number>;
  /** Runs every schedule of cron once. */
  cron(): Promise<void>;
}

/** The environment of an isolate whose platform opens `store`. */
export function deployEnvironment({ env }: SharedStore): Record<string, string> {
  return {
    DENO_DEPLOYMENT_ID: "deployment-of-tests",
    DENO_KV_DEFAULT_PATH: env.GATEWAY_KV,
    DENO_KV_ACCESS_TOKEN: env.DENO_KV_ACCESS_TOKEN ?? "",
    DENO_V8_FLAGS: "--max-old-space-size=256",
    GATEWAY_MASTER_KEYS: env.GATEWAY_MASTER_KEYS,
    NO_COLOR: "1",
    PORT: "0",
  };
}

/** The platform passes no flags; files can be read and not written. */
const flags = [
  "run",
  "--no-prompt",
  "--preload=tests/support/servers/deno_deploy/platform.ts",
  "--allow-net",
  "--allow-env",
  "--allow-read",
  "--allow-sys",
  "main.ts",
];

/**
 * Starts an isolate and waits until it listens.
 *
 * @param program the runtime of the platform; the one of the tests by default
 */
export async function startIsolate(
  env: Record<string, string>,
  program = Deno.execPath(),
): Promise<Isolate> {
  const child = new Deno.Command(program, {
    args: flags,
    cwd: root,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const lines: string[] = [];
  const reading = [child.stdout, child.stderr].map(async (stream) => {
    for await (
      const line of stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    ) lines.push(line);
  });
  let isOver = false;
  const status = child.status.finally(() => isOver = true);
  const banner = await until(
    () => {
      if (isOver) throw new Error(`It ended before it listened:\n${lines.join("\n")}`);
      return Promise.resolve(
        lines.map((line) => /listening on (\S+)/.exec(line)?.[1]).find(Boolean),
      );
    },
    "the isolate listens",
    30_000,
  );
  const count = (text: string) => lines.filter((line) => line === `platform: ${text}`).length;

  async function signalled(signal: Deno.Signal, text: string): Promise<void> {
    const before = count(text);
    child.kill(signal);
    child.kill("SIGCONT");
    await until(() => Promise.resolve(count(text) > before), text, 30_000);
  }

  async function end(signal: Deno.Signal): Promise<number> {
    if (!isOver) {
      child.kill(signal);
      child.kill("SIGCONT");
    }
    const { code } = await status;
    await Promise.all(reading);
    return code;
  }

  return {
    address: banner,
    pid: child.pid,
    lines,
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => signalled("SIGUSR1", "thawed"),
    wake: () => child.kill("SIGCONT"),
    cron: () => signalled("SIGUSR2", "cron has run"),
    kill: async () => void await end("SIGKILL"),
    stop: () => end("SIGINT"),
    async [Symbol.asyncDispose]() {
      await end("SIGKILL");
    },
  };
}

/** Runs a command of the entry as an isolate would, to its end. */
export async function commandUnderPlatform(
  store: SharedStore,
  args: readonly string[],
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...flags, ...args],
    cwd: root,
    env: deployEnvironment(store),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
