/**
 * A real KV Connect server of a test's own in a temporary folder, where the program is installed
 * (`cargo install denokv`). It listens on the loopback address and ends with the test.
 */
import { until } from "../until.ts";
import { freePort } from "./free_port.ts";

/** A running server. */
export interface DenokvServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly accessToken: string;
  /** Its file, a database of SQLite. */
  readonly path: string;
  /** Ends the server as a crash does. */
  kill(): Promise<void>;
  /** Starts it again on the same file and port. */
  start(): Promise<void>;
  /** Stops or continues its process. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
}

/** The token of every server that a test starts. */
export const denokvAccessToken = "shared-store-of-tests";

/** The program: `DENOKV`, or where cargo installs it; `undefined` where it is not installed. */
export async function denokvProgram(): Promise<string | undefined> {
  const named = Deno.env.get("DENOKV");
  if (named !== undefined && named !== "") return named;
  const path = `${Deno.env.get("CARGO_HOME") ?? `${Deno.env.get("HOME")}/.cargo`}/bin/denokv`;
  try {
    await Deno.stat(path);
    return path;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Starts a server on a file of its own. */
export async function startDenokv(program: string): Promise<DenokvServer> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-denokv-" });
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const path = `${folder}/shared.sqlite3`;
  let child: Deno.ChildProcess | undefined;

  async function start(): Promise<void> {
    child = new Deno.Command(program, {
      args: ["--sqlite-path", path, "serve", "--addr", `127.0.0.1:${port}`],
      env: { DENO_KV_ACCESS_TOKEN: denokvAccessToken },
      stdout: "null",
      stderr: "null",
    }).spawn();
    await until(async () => {
      const answer = await fetch(url).catch(() => undefined);
      await answer?.body?.cancel();
      return answer !== undefined;
    }, "denokv answers");
  }

  async function end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const ending = child;
    child = undefined;
    ending?.kill(signal);
    await ending?.status;
  }

  await start();
  return {
    url,
    port,
    accessToken: denokvAccessToken,
    path,
    start,
    kill: () => end("SIGKILL"),
    signal: (signal) => child?.kill(signal),
    async [Symbol.asyncDispose]() {
      await end("SIGTERM");
      await Deno.remove(folder, { recursive: true });
    },
  };
}
