/** The scripts of compose.standby.yaml with real servers: they copy, follow, take over, and stay off afterwards. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { openPostgres } from "../../kv/engine/postgres/open_postgres.ts";
import { composeServices } from "../repository/deploy_files.ts";
import { root } from "../repository/source_files.ts";
import { freePort } from "../support/servers/free_port.ts";
import { postgresPrograms } from "../support/servers/postgres_server.ts";
import {
  giveToServer,
  postmasterPid,
  signalProcess,
  startAsServer,
} from "../support/servers/server_process.ts";
import { until } from "../support/until.ts";

const programs = await postgresPrograms();

/** What the image has at this place, as far as the scripts need it. */
const entrypoint = `#!/usr/bin/env bash
set -euo pipefail
settings=(-c "listen_addresses=$POSTGRES_NAME" -c "unix_socket_directories=$(dirname "$PGDATA")")
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile=<(echo "$POSTGRES_PASSWORD")
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  export PGHOST; PGHOST=$(dirname "$PGDATA")
  pg_ctl -D "$PGDATA" -w -o "-c listen_addresses='' -c unix_socket_directories=$PGHOST" start
  createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  "$SCRIPTS/first_start.sh"
  pg_ctl -D "$PGDATA" -w stop
fi
exec "$@" "\${settings[@]}"
`;

/** Addresses of this machine, in place of the names of the services. */
const names = ["127.0.1.1", "127.0.1.2", "127.0.1.3"];

/** The three servers of the compose file, on one port of three addresses. */
class Servers implements AsyncDisposable {
  readonly #folder: string;
  readonly #port = freePort();
  readonly #children = new Map<string, Deno.ChildProcess>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async prepare(): Promise<Servers> {
    const folder = await Deno.makeTempDir({ prefix: "gateway-standby-" });
    for (const name of ["server.sh", "first_start.sh"]) {
      await Deno.copyFile(new URL(`deploy/docker/postgres/${name}`, root), `${folder}/${name}`);
    }
    await Deno.writeTextFile(`${folder}/docker-entrypoint.sh`, entrypoint, { mode: 0o755 });
    for (const name of names) await Deno.mkdir(`${folder}/${name}`);
    await giveToServer(folder);
    return new Servers(folder);
  }

  get url(): string {
    const hosts = names.map((name) => `${name}:${this.#port}`).join();
    return `postgres://gateway:secret@${hosts}/gateway`;
  }

  start(name: string): Deno.ChildProcess {
    const service = composeServices("deploy/docker/compose.standby.yaml")["postgres-1"];
    const own = {
      POSTGRES_PASSWORD: "secret",
      REPLICATION_PASSWORD: "other",
      POSTGRES_NAME: name,
      POSTGRES_SERVERS: names.join(" "),
      PGDATA: `${this.#folder}/${name}/server`,
    };
    assert(Object.keys(own).every((key) => Object.hasOwn(service?.environment ?? {}, key)));
    const child = startAsServer("bash", [`${this.#folder}/server.sh`], {
      logPath: `${this.#folder}/${name}/log`,
      env: {
        ...service?.environment,
        ...own,
        PATH: `${this.#folder}:${programs}:/usr/bin:/bin`,
        PGPORT: String(this.#port),
        SCRIPTS: this.#folder,
        REFUSED_SECONDS: "0",
      },
    });
    this.#children.set(name, child);
    return child;
  }

  /** Ends a server as a crash does. */
  async kill(name: string): Promise<void> {
    const pid = await postmasterPid(`${this.#folder}/${name}/server`);
    if (pid !== undefined) signalProcess(pid, "SIGKILL");
    const child = this.#children.get(name);
    if (child !== undefined) signalProcess(child.pid, "SIGKILL");
    await child?.status;
  }

  /** Removes what a server has, as its volume is removed. */
  async empty(name: string): Promise<void> {
    await Deno.remove(`${this.#folder}/${name}/server`, { recursive: true });
  }

  log(name: string): Promise<string> {
    return Deno.readTextFile(`${this.#folder}/${name}/log`);
  }

  /** The output of a query; empty if the server does not answer. */
  async query(name: string, text: string): Promise<string> {
    const url = `postgres://gateway:secret@${name}:${this.#port}/gateway`;
    const psql = new Deno.Command(`${programs}/psql`, {
      args: [url, "-Atc", text],
      stderr: "null",
    });
    return new TextDecoder().decode((await psql.output()).stdout).trim();
  }

  /** Waits until a server has so many standbys of which commits wait for any, and sends its log to nobody else. */
  async untilFollowed(name: string, count: number): Promise<void> {
    const followers =
      "select count(*) filter (where sync_state = 'quorum'), count(*) from pg_stat_replication";
    await until(
      async () => await this.query(name, followers) === `${count}|${count}`,
      `${count} follow ${name}`,
    );
  }

  /** Two standbys, the one with more of the primary's log first: a commit may have reached only one of them. */
  async byReceived([one, other]: readonly [string, string]): Promise<[string, string]> {
    const received = "select pg_last_wal_receive_lsn() - '0/0'";
    const [of, ofOther] = await Promise.all([one, other].map((it) => this.query(it, received)));
    return BigInt(of ?? "") >= BigInt(ofOther ?? "") ? [one, other] : [other, one];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of names) await this.kill(name);
    await Deno.remove(this.#folder, { recursive: true });
  }
}

Deno.test({
  name:
    "the servers of compose.standby.yaml follow, take over without loss, and an old primary stays off",
  ignore: programs === undefined,
  // The driver's timers outlive a connection by some milliseconds.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using servers = await Servers.prepare();
    const [first = "", second = "", third = ""] = names;
    for (const name of names) servers.start(name);
    await servers.untilFollowed(first, 2);
    const { kv, warnings } = await openPostgres({
      url: servers.url,
      clock: systemClock,
      announcedKinds: new Set(),
    });
    assertEquals(warnings, []);
    await kv.set(["row", 1], "with both");

    await servers.kill(third);
    await kv.set(["row", 2], "with either");
    await servers.kill(second);
    const waiting = kv.set(["row", 3], "after one is back");
    const waits = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    await until(async () => await servers.query(first, waits) === "1", "the commit waits");
    for (const name of [second, third]) servers.start(name);
    await waiting;
    await servers.untilFollowed(first, 2);

    await servers.kill(first);
    const [ahead, behind] = await servers.byReceived([second, third]);
    assertEquals(await servers.query(ahead, "select pg_promote()"), "t");
    await servers.kill(behind);
    servers.start(behind);
    await servers.untilFollowed(ahead, 1);
    await until(
      () => kv.set(["row", 4], "at the new one").then(() => true, () => false),
      "commits",
    );
    const rows = await Array.fromAsync(kv.list({ prefix: ["row"] }), ({ key }) => key[1]);
    assertEquals(rows, [1, 2, 3, 4]);

    const { code } = await servers.start(first).status;
    assertEquals(code, 1);
    assertStringIncludes(await servers.log(first), `${ahead} takes writes`);
    await servers.empty(first);
    servers.start(first);
    await servers.untilFollowed(ahead, 2);
    await kv.end();
  },
});
