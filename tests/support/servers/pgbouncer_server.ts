/**
 * A PgBouncer of a test's own before a PostgreSQL server, where it is installed (Debian's package `pgbouncer`). It
 * listens on the loopback address and ends with the test.
 */
import { until } from "../until.ts";
import { freePort } from "./free_port.ts";
import type { PostgresServer } from "./postgres_server.ts";

/** When a client gives its connection to the server back: after each transaction, or when it leaves. */
export type PoolMode = "transaction" | "session";

/** A running pooler. */
export interface PgBouncer extends AsyncDisposable {
  /** The address of a database of the server through the pooler. */
  through(url: string): string;
}

const program = "/usr/sbin/pgbouncer";

/** Whether the program is installed here. */
export async function hasPgBouncer(): Promise<boolean> {
  try {
    return (await Deno.stat(program)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function isListening(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

/** Starts a pooler. In transaction mode its clients share four connections to the server. */
export async function startPgBouncer(server: PostgresServer, mode: PoolMode): Promise<PgBouncer> {
  const { username } = new URL(server.url);
  const port = freePort();
  const folder = await Deno.makeTempDir({ prefix: "gateway-pgbouncer-" });
  await Deno.writeTextFile(`${folder}/users`, `"${username}" ""\n`);
  await Deno.writeTextFile(
    `${folder}/ini`,
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
logfile = ${folder}/log
pool_mode = ${mode}
default_pool_size = ${mode === "session" ? 40 : 4}
max_client_conn = 200
`,
  );
  // It refuses to run as root.
  const isRoot = Deno.uid() === 0;
  if (isRoot) {
    const { success } = await new Deno.Command("chown", { args: ["-R", "postgres", folder] })
      .output();
    if (!success) throw new Error(`cannot give ${folder} to the user of the server`);
  }
  const args = ["-q", `${folder}/ini`];
  const process = new Deno.Command(isRoot ? "setpriv" : program, {
    args: isRoot
      ? ["--reuid=postgres", "--regid=postgres", "--clear-groups", program, ...args]
      : args,
    stdout: "null",
    stderr: "null",
  }).spawn();
  await until(() => isListening(port), "the pooler listens");
  return {
    through(url) {
      const address = new URL(url);
      address.port = String(port);
      return address.href;
    },
    async [Symbol.asyncDispose]() {
      process.kill("SIGKILL");
      await process.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
