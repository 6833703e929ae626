/**
 * A PostgreSQL server of a test's own in a temporary folder, where the programs are installed (Debian's package
 * `postgresql`). It listens on the loopback address and ends with the test.
 */
import { freePort } from "./free_port.ts";

/** A running server. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** A new empty database of this server, or a copy of one that nobody has open. */
  makeDatabase(copied?: string): Promise<string>;
  /** Ends the server without a checkpoint, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again on the same folder and port. */
  start(): Promise<void>;
  /** Stops or continues all its processes: clients stay connected and hear nothing. */
  signal(signal: "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** Starts a standby that follows this server. */
  startStandby(): Promise<PostgresServer>;
  /** Copies the cluster as it is now, the base that a recovery to a later moment begins with. */
  copyBase(): Promise<BaseCopy>;
  /** Makes a standby the primary. */
  promote(): Promise<void>;
  /** Changes a setting of the running server. */
  set(setting: string, value: string): Promise<void>;
  /** What the server has logged so far. */
  log(): Promise<string>;
  /** The output of a query, a line a row. */
  query(text: string): Promise<string>;
}

/** A copy of a cluster that no server runs on yet. */
export interface BaseCopy {
  /**
   * Starts a server on it that takes the log of an archive up to a moment, and then takes writes.
   *
   * @param atTime as the primary's clock said it: what was committed later is not there
   */
  recover(archive: string, atTime: string): Promise<PostgresServer>;
}

const user = "gateway";

async function output(command: string, args: string[]): Promise<string> {
  // initdb and postgres refuse to run as root.
  const isRoot = Deno.uid() === 0;
  const { success, stdout, stderr } = await new Deno.Command(isRoot ? "runuser" : command, {
    args: isRoot ? ["-u", "postgres", "--", command, ...args] : args,
    stdout: "piped",
    stderr: "piped",
    cwd: "/",
  }).output();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** The folder of the newest server programs, or nothing where they are not installed. */
export async function postgresPrograms(): Promise<string | undefined> {
  const root = "/usr/lib/postgresql";
  try {
    const versions = await Array.fromAsync(Deno.readDir(root), ({ name }) => Number(name));
    return `${root}/${Math.max(...versions)}/bin`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Where a server lives. */
interface Place {
  readonly programs: string;
  /** Holds the cluster and the log; removed in the end. */
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
}

async function makeFolder(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-postgres-" });
  if (Deno.uid() === 0) await new Deno.Command("chown", { args: ["postgres", folder] }).output();
  return folder;
}

function signalIfAlive(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Starts the cluster in a folder. */
async function serve({ programs, folder, settings }: Place): Promise<PostgresServer> {
  const port = freePort();
  const cluster = `${folder}/cluster`;
  const given = { listen_addresses: "127.0.0.1", unix_socket_directories: folder, ...settings };
  const flags = Object.entries({ ...given, port }).map(([name, value]) => `-c ${name}='${value}'`);
  const control = (...args: string[]) => output(`${programs}/pg_ctl`, ["-D", cluster, ...args]);
  const start = async () => {
    await control("-w", "-l", `${folder}/log`, "-o", flags.join(" "), "start");
  };
  await start();
  const client = ["-h", "127.0.0.1", "-p", `${port}`, "-U", user];
  const query = (text: string) =>
    output(`${programs}/psql`, [...client, "-d", "postgres", "-At", "-c", text]);
  let databases = 0;
  const copyTo = async (how: readonly string[]) => {
    const copy = await makeFolder();
    const options = ["-D", `${copy}/cluster`, "--checkpoint=fast", ...how];
    await output(`${programs}/pg_basebackup`, [...client, ...options]);
    return copy;
  };
  return {
    port,
    url: `postgres://${user}@127.0.0.1:${port}/postgres`,
    start,
    async makeDatabase(copied) {
      const name = `gateway_${++databases}`;
      const template = copied === undefined ? [] : ["-T", new URL(copied).pathname.slice(1)];
      await output(`${programs}/createdb`, [...client, ...template, name]);
      return `postgres://${user}@127.0.0.1:${port}/${name}`;
    },
    async kill() {
      await control("-m", "immediate", "stop");
    },
    async signal(signal) {
      const first = (await Deno.readTextFile(`${cluster}/postmaster.pid`)).split("\n")[0]!;
      const children = await Deno.readTextFile(`/proc/${first}/task/${first}/children`);
      // The first process begins no new ones once it is stopped.
      for (const pid of [first, ...children.trim().split(" ")]) signalIfAlive(Number(pid), signal);
    },
    async startStandby() {
      return await serve({ programs, folder: await copyTo(["-R"]), settings: {} });
    },
    async copyBase() {
      const copy = await copyTo([]);
      return {
        async recover(archive, atTime) {
          await output("touch", [`${copy}/cluster/recovery.signal`]);
          const settings = {
            restore_command: `cp ${archive}/%f %p`,
            recovery_target_time: atTime,
            recovery_target_action: "promote",
          };
          return await serve({ programs, folder: copy, settings });
        },
      };
    },
    async promote() {
      await control("-w", "promote");
    },
    async set(setting, value) {
      await query(`alter system set ${setting} = '${value}'`);
      await query("select pg_reload_conf()");
    },
    query,
    log: () => Deno.readTextFile(`${folder}/log`),
    async [Symbol.asyncDispose]() {
      await control("-m", "immediate", "stop").catch(() => {});
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/**
 * Starts a server with an empty cluster.
 *
 * @param settings of `postgresql.conf`, in addition to those of a new server
 */
export async function startPostgres(
  programs: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const folder = await makeFolder();
  const cluster = `${folder}/cluster`;
  // The cluster of a test need not outlive a crash of the machine.
  const options = ["-A", "trust", "-U", user, "-E", "UTF8", "--no-sync"];
  await output(`${programs}/initdb`, ["-D", cluster, ...options]);
  return await serve({ programs, folder, settings });
}
