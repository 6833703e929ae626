/** The engine for PostgreSQL behind PgBouncer, which gives the statements of one client to several connections. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { openPostgres } from "../../../../kv/engine/postgres/open_postgres.ts";
import {
  postgresPrograms,
  type PostgresServer,
  startPostgres,
} from "../../../support/servers/postgres_server.ts";
import { testEngine } from "./conformance.ts";
import { until } from "../../../support/until.ts";
import { freePort } from "../../../support/servers/free_port.ts";

/** When a client gives its connection to the server back: after each transaction, or when it leaves. */
type PoolMode = "transaction" | "session";

/** A running pooler. */
interface PgBouncer extends AsyncDisposable {
  /** The address of a database of the server through the pooler. */
  through(url: string): string;
}

const program = "/usr/sbin/pgbouncer";

/** Whether the program is installed here. */
async function hasPgBouncer(): Promise<boolean> {
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
async function startPgBouncer(server: PostgresServer, mode: PoolMode): Promise<PgBouncer> {
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

/** Reads at once, and commits at once beside them: many for each connection of the pooler. */
const callsAtOnce = 200;

// The driver's timers outlive a connection by some milliseconds.
const processes = { sanitizeOps: false, sanitizeResources: false };
const programs = await hasPgBouncer() ? await postgresPrograms() : undefined;

if (programs === undefined) {
  Deno.test({
    name: "PostgreSQL or PgBouncer is not installed here: they are not tested together",
    ignore: true,
    fn() {},
  });
} else {
  const server = await startPostgres(programs, { max_connections: "120" });
  Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());
  const openOn = async (url: string) => {
    const opened = await Promise.all(
      [1, 2, 3].map(() => openPostgres({ url, clock: systemClock, announcedKinds: new Set() })),
    );
    const clients = opened.map(({ kv }) => kv);
    return {
      opened,
      clients,
      async [Symbol.asyncDispose]() {
        for (const kv of clients) await kv.end();
      },
    };
  };

  for (const mode of ["transaction", "session"] as const) {
    Deno.test({
      name: `PgBouncer in ${mode} mode: ${callsAtOnce} reads and commits at once are all right`,
      ...processes,
      async fn() {
        await using pooler = await startPgBouncer(server, mode);
        await using store = await openOn(pooler.through(await server.makeDatabase()));
        const { clients, opened } = store;
        const client = (at: number) => clients[at % clients.length]!;
        const numbers = Array.from({ length: callsAtOnce }, (_, at) => at);
        await Promise.all(numbers.map((at) => client(at).set(["row", at], `value ${at}`)));
        const versions = await Promise.all(
          numbers.map(async (at) => (await client(at).get(["row", at])).versionstamp),
        );
        const reads = numbers.map(async (at) => {
          const one = await client(at).get(["row", at]);
          const [many, none] = await client(at).getMany([["row", at], ["none", at]]);
          const rows = client(at).list({ start: ["row", at], end: ["row", at + 1] });
          const listed = await Array.fromAsync(rows, ({ value }) => value);
          return [one.value, one.versionstamp, many.value, none.value, ...listed];
        });
        const commits = numbers.map(async (at) => {
          const key = ["written", at];
          const { ok } = await client(at).atomic().check({ key, versionstamp: null })
            .set(key, at).commit();
          const again = await client(at + 1).atomic().check({ key, versionstamp: null })
            .set(key, -1).commit();
          return [ok, again.ok, (await client(at + 2).get(key)).value];
        });
        const expected = numbers.map((at) => {
          const value = `value ${at}`;
          return [value, versions[at], value, null, value];
        });
        assertEquals(await Promise.all(reads), expected);
        assertEquals(await Promise.all(commits), numbers.map((at) => [true, false, at]));
        for (const { kv, warnings } of opened) {
          assertEquals(kv.notices(), undefined, "a pooler passes no notices on");
          assert(warnings.some((line) => line.includes("pooler")), warnings.join("\n"));
        }
      },
    });

    const open = async () => {
      const pooler = await startPgBouncer(server, mode);
      const { clients, ...store } = await openOn(pooler.through(await server.makeDatabase()));
      return {
        clients,
        async [Symbol.asyncDispose]() {
          await store[Symbol.asyncDispose]();
          await pooler[Symbol.asyncDispose]();
        },
      };
    };
    testEngine(`PostgreSQL behind PgBouncer in ${mode} mode`, open, processes);
  }

  Deno.test({
    name: "without a pooler statements are prepared, and notices are listened for",
    ...processes,
    async fn() {
      await using store = await openOn(await server.makeDatabase());
      for (const { kv, warnings } of store.opened) {
        assertEquals(warnings, []);
        assert(kv.notices() !== undefined);
      }
    },
  });
}
