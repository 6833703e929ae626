/**
 * Starts a gateway as a user does, in a process with a store of its own and a free port, and reads the demo key from
 * the banner.
 */
import { readConfig } from "../../../core/config/config.ts";
import { setVariables } from "../../../core/lib/environment/environment.ts";
import { runCommand } from "./admin_command.ts";
import { testEnvironment } from "./gateway_in_process.ts";
import { TextLineStream } from "../text_lines.ts";

export interface StartedGateway extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly address: string;
  /** The demo key; empty in production mode. */
  readonly key: string;
  readonly storePath: string;
  /** JSON lines of the log so far. */
  readonly log: readonly string[];
  readonly pid: number;
  /**
   * Runs `admin …` on the same store, in this process, and returns what it printed. A process of its own costs more than
   * most commands; {@linkcode adminOn} starts one, as an operator does.
   */
  admin(...args: string[]): Promise<{ readonly code: number; readonly output: string }>;
  /** Runs `admin …` on another store, in a process of its own. */
  adminOn(
    kv: string,
    ...args: string[]
  ): Promise<{ readonly code: number; readonly output: string }>;
  /** Sends a signal and waits for the end; returns the exit code. */
  end(signal: Deno.Signal): Promise<number>;
}

export interface StartOptions {
  /** Where to keep the store; a new temporary folder by default, removed at the end. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A free port for `LiveHeap`, which measures the live objects of the process. */
  readonly inspectorPort?: number;
  /** How the reader of its log fails, after the line with the address. */
  readonly logReader?: "gone" | "stuck";
  /** The folder of another release to start; this one's by default. */
  readonly root?: URL;
  /** Lets {@linkcode limitFileSize} act on it: a write beyond the limit is an error, not the end of the process. */
  readonly outlivesFileLimit?: boolean;
}

const root = new URL("../../../", import.meta.url);

/** The permissions and flags of the README's command. */
function startFlags(inspectorPort?: number, from = root): string[] {
  const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", from)));
  const command: string = tasks.start;
  const [, run, ...rest] = command.split(" ");
  const inspect = inspectorPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectorPort}`];
  return [run!, ...inspect, ...rest];
}

function environment(folder: string, options: StartOptions): Record<string, string> {
  return {
    GATEWAY_KV: `${folder}/gateway.sqlite3`,
    PORT: "0",
    // The same on every machine. With GATEWAY_WORKERS set, the tests run on so many threads.
    GATEWAY_WORKERS: Deno.env.get("GATEWAY_WORKERS") ?? "1",
    NO_COLOR: "1",
    ...testEnvironment,
    ...options.env,
  };
}

async function runAdminHere(
  env: Record<string, string>,
  args: readonly string[],
) {
  const file = await Deno.readTextFile(env["GATEWAY_CONFIG"] ?? new URL("gateway.json", root));
  const read = readConfig(setVariables(env), file);
  if (!read.ok) return { code: 1, output: read.problems.join("\n") };
  // The runtime reads it when it opens a store, and only there; all servers of tests have the same.
  const token = env["DENO_KV_ACCESS_TOKEN"];
  if (token !== undefined) Deno.env.set("DENO_KV_ACCESS_TOKEN", token);
  const { code, written, errors } = await runCommand(read.config, args);
  return { code, output: written + errors };
}

async function runAdmin(env: Record<string, string>, args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...startFlags(), "admin", ...args],
    cwd: root,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Starts a gateway and waits until it listens. */
export async function startGateway(options: StartOptions = {}): Promise<StartedGateway> {
  const folder = options.folder ?? await Deno.makeTempDir({ prefix: "gateway-test-" });
  const env = environment(folder, options);
  const from = options.root ?? root;
  const command = [Deno.execPath(), ...startFlags(options.inspectorPort, from)];
  const [program, ...args] = options.outlivesFileLimit === true
    ? ["sh", "-c", `trap '' XFSZ; exec "$0" "$@"`, ...command]
    : command;
  const child = new Deno.Command(program!, {
    args,
    cwd: from,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const log: string[] = [];
  const banner = Promise.withResolvers<{ address: string; key: string }>();
  const ending = Promise.withResolvers<void>();
  let address: string | undefined;
  let key = "";
  const reading = (async () => {
    for await (
      const line of child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(
        new TextLineStream(),
      )
    ) {
      log.push(line);
      const listening = /listening on (http:\S+) \((\w+) mode\)/.exec(line);
      if (listening !== null) {
        address = listening[1]!;
        if (listening[2] === "production") banner.resolve({ address, key });
      }
      const demo = /: (sk-\S+)$/.exec(line);
      if (demo !== null && key === "") {
        key = demo[1]!;
        if (address !== undefined) banner.resolve({ address, key });
      }
      if (options.logReader !== undefined && line === "Try it:") {
        if (options.logReader === "stuck") await ending.promise;
        return;
      }
    }
    banner.reject(new Error(`The gateway ended before it listened:\n${log.join("\n")}`));
  })();
  banner.promise.catch(() => {});
  const { address: listeningOn, key: demoKey } = await banner.promise;
  let ended: Promise<number> | undefined;

  function end(signal: Deno.Signal): Promise<number> {
    ended ??= (async () => {
      try {
        child.kill(signal);
      } catch {
        // It has already ended.
      }
      const { code } = await child.status;
      ending.resolve();
      await reading;
      return code;
    })();
    return ended;
  }

  return {
    address: listeningOn,
    key: demoKey,
    storePath: env["GATEWAY_KV"]!,
    log,
    pid: child.pid,
    admin: (...args) => runAdminHere(env, args),
    adminOn: (kv, ...args) => runAdmin({ ...env, GATEWAY_KV: kv }, args),
    end,
    async [Symbol.asyncDispose]() {
      await end("SIGTERM");
      if (options.folder === undefined) await Deno.remove(folder, { recursive: true });
    },
  };
}

async function setLimit({ pid }: StartedGateway, limit: string): Promise<void> {
  const args = ["--pid", String(pid), limit];
  const { success } = await new Deno.Command("prlimit", { args }).output();
  if (!success) throw new Error("prlimit failed");
}

/** Limits the size of files that the process writes from now on: `0` is a full disk. Needs `prlimit` of util-linux. */
export async function limitFileSize(
  gateway: StartedGateway,
  bytes: number | "unlimited",
): Promise<void> {
  await setLimit(gateway, `--fsize=${bytes}:unlimited`);
}

/** Limits how many more files and connections the process can open. Needs `prlimit` too. */
export async function limitOpenFiles(
  gateway: StartedGateway,
  more: number | "none",
): Promise<void> {
  const open = await Array.fromAsync(Deno.readDir(`/proc/${gateway.pid}/fd`));
  await setLimit(gateway, `--nofile=${more === "none" ? 0 : open.length + more}:`);
}

/** Whether this machine has what {@linkcode limitFileSize} and {@linkcode limitOpenFiles} need. */
export function canLimit(): boolean {
  try {
    return new Deno.Command("prlimit", { args: ["--version"] }).outputSync().success;
  } catch {
    return false;
  }
}
