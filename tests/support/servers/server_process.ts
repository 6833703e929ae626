/** Processes that a test runs as the user of the database server. */

/** Starts a program as the user of PostgreSQL, which refuses to run as root. Its output goes to a file. */
export function startAsServer(
  program: string,
  args: readonly string[],
  { logPath, env = {} }: {
    readonly logPath: string;
    readonly env?: Readonly<Record<string, string>>;
  },
): Deno.ChildProcess {
  const user = Deno.uid() === 0
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    : [];
  // The shell gives its place to the program: a signal reaches the program itself.
  return new Deno.Command("sh", {
    args: ["-c", `exec "$@" >>"$LOG" 2>&1`, "sh", ...user, program, ...args],
    env: { ...env, LOG: logPath, PYTHONUNBUFFERED: "1" },
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

/** Gives a folder of the test to that user. */
export async function giveToServer(folder: string): Promise<void> {
  if (Deno.uid() !== 0) return;
  const { success } = await new Deno.Command("chown", { args: ["-R", "postgres", folder] })
    .output();
  if (!success) throw new Error(`cannot give ${folder} to the user of the server`);
}

/** Sends a signal to a process that may have ended. */
export function signalProcess(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The first process of a PostgreSQL server; its children end with it. */
export async function postmasterPid(cluster: string): Promise<number | undefined> {
  try {
    return Number((await Deno.readTextFile(`${cluster}/postmaster.pid`)).split("\n")[0]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
