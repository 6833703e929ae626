/**
 * The programs of a cluster that elects its primary itself, and how a test runs them as the user of the server.
 *
 * - Folder `tests/support/servers/patroni/`: PostgreSQL under Patroni and etcd, and a proxy that follows the leader.
 * - In: where PostgreSQL is installed.
 * - Out: running processes on the loopback address, which end with the test.
 * - Never: touches a cluster or a service of the machine.
 */
import { postgresPrograms } from "../postgres_server.ts";

/** What a cluster needs, by Debian's package. */
const paths: Readonly<Record<string, string>> = {
  "patroni": "/usr/bin/patroni",
  "etcd-server": "/usr/bin/etcd",
  "haproxy": "/usr/sbin/haproxy",
};

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then((found) => found.isFile, () => false);
}

/** The packages that are not installed here. */
export async function missingPackages(): Promise<readonly string[]> {
  const missing = (await postgresPrograms()) === undefined ? ["postgresql"] : [];
  for (const [name, path] of Object.entries(paths)) if (!await isFile(path)) missing.push(name);
  return missing;
}

/** Starts a program as the user of the server: PostgreSQL refuses to run as root. Its output goes to a file. */
export function startAsServer(
  program: keyof typeof paths,
  args: readonly string[],
  logPath: string,
): Deno.ChildProcess {
  const command = [paths[program] ?? program, ...args];
  const user = Deno.uid() === 0
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    : [];
  // The shell gives its place to the program: a signal reaches the program itself.
  return new Deno.Command("sh", {
    args: ["-c", `exec "$@" >>"$LOG" 2>&1`, "sh", ...user, ...command],
    env: { LOG: logPath, PYTHONUNBUFFERED: "1" },
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

/** Sends a signal to a process that may have ended. */
export function signalProcess(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
