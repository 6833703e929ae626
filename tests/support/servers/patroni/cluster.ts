/**
 * PostgreSQL on two nodes under Patroni, which elects the leader through etcd, with synchronous replication: the
 * configuration that `docs/operations/high-availability.md` recommends, on one machine.
 *
 * Others reach a node through proxies, as do its agent and etcd, so that a test can cut it off. Gateways and queries
 * of a test reach its PostgreSQL directly: the clients of a node that is cut off may still be on its side.
 */
import { until } from "../../until.ts";
import { freePort } from "../free_port.ts";
import { postgresPrograms } from "../postgres_server.ts";
import { startTcpProxy, type TcpProxy } from "../tcp_proxy.ts";
import { giveToServer, postmasterPid, signalProcess, startAsServer } from "../server_process.ts";
import { programPaths } from "./programs.ts";

/** What a node is, as its agent says. */
export type Role = "leader" | "sync_standby" | "replica";

/** One PostgreSQL server with its agent. */
export interface PatroniNode {
  readonly name: string;
  readonly port: number;
  /** Where its agent tells a balancer whether it leads: `GET /primary`. */
  readonly agentPort: number;
  /** Ends the agent and the server at once, as a machine that loses its power. */
  kill(): Promise<void>;
  /** Starts the agent again, which starts the server. */
  start(): void;
  /** Cuts the agent off from etcd, and the other node from this one, or ends that. */
  cutOff(isCutOff: boolean): void;
  /** The output of a query, a line a row; `undefined` if the server does not answer it within a few seconds. */
  query(text: string): Promise<string | undefined>;
}

/** A running cluster. */
export interface PatroniCluster extends AsyncDisposable {
  readonly nodes: readonly PatroniNode[];
  /** The address with both nodes, for a gateway. */
  readonly url: string;
  /** The role of each running node, as a node other than `askedNot` knows it. */
  roles(askedNot?: PatroniNode): Promise<ReadonlyMap<string, Role>>;
  /** The node that leads. */
  leader(askedNot?: PatroniNode): Promise<PatroniNode | undefined>;
  /** Waits until a node has this role. */
  untilRole(node: PatroniNode, role: Role): Promise<void>;
  /** Hands the lead over from one node to another. */
  switchOver(from: PatroniNode, to: PatroniNode): Promise<void>;
}

const user = "gateway";

/**
 * Seconds: how long a leader keeps its place without renewing it (20 is the least that Patroni allows), between two
 * looks, and how long a request to etcd is repeated. `loop_wait + 2 × retry_timeout` must not exceed `ttl`.
 */
const timing = { ttl: 20, loop_wait: 3, retry_timeout: 5 };

/** Seconds for a query: one to a server that is stopped, or that waits for a standby, does not end. */
const querySeconds = 4;

interface NodePlace {
  readonly name: string;
  readonly folder: string;
  readonly programs: string;
  readonly etcdPort: number;
}

/** The file of a node's agent. JSON is YAML. */
function agentConfig(
  { name, folder, programs }: NodePlace,
  ports: Readonly<Record<"postgres" | "agent", { readonly own: number; readonly shown: number }>>,
  etcd: number,
): string {
  const at = (port: number) => `127.0.0.1:${port}`;
  return JSON.stringify({
    scope: "gateway",
    name,
    restapi: { listen: at(ports.agent.own), connect_address: at(ports.agent.shown) },
    // Otherwise the agent goes past the proxy, to the addresses that etcd tells.
    etcd3: { hosts: [at(etcd)], use_proxies: true },
    bootstrap: {
      dcs: {
        ...timing,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: { wal_log_hints: "on", synchronous_commit: "on" },
        },
      },
      initdb: [{ encoding: "UTF8" }, "data-checksums"],
    },
    postgresql: {
      listen: at(ports.postgres.own),
      connect_address: at(ports.postgres.shown),
      data_dir: `${folder}/${name}`,
      bin_dir: programs,
      pgpass: `${folder}/${name}.pgpass`,
      authentication: { superuser: { username: user }, replication: { username: "replicator" } },
      pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
      parameters: { unix_socket_directories: folder },
    },
  });
}

async function queryAt(programs: string, port: number, text: string): Promise<string | undefined> {
  const address = `postgres://${user}@127.0.0.1:${port}/postgres?connect_timeout=${querySeconds}`;
  const { success, stdout } = await new Deno.Command("timeout", {
    args: [String(querySeconds), `${programs}/psql`, address, "-Atc", text],
    stderr: "null",
  }).output();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}

async function startNode(
  place: NodePlace,
): Promise<PatroniNode & AsyncDisposable> {
  const { name, folder, programs } = place;
  const own = { postgres: freePort(), agent: freePort() };
  const proxies: Record<"postgres" | "agent" | "etcd", TcpProxy> = {
    postgres: startTcpProxy(own.postgres),
    agent: startTcpProxy(own.agent),
    etcd: startTcpProxy(place.etcdPort),
  };
  const ports = {
    postgres: { own: own.postgres, shown: proxies.postgres.port },
    agent: { own: own.agent, shown: proxies.agent.port },
  };
  const file = `${folder}/${name}.json`;
  await Deno.writeTextFile(file, agentConfig(place, ports, proxies.etcd.port));
  let agent: Deno.ChildProcess | undefined;
  const start = () => {
    agent = startAsServer(programPaths.patroni, [file], { logPath: `${folder}/${name}.log` });
  };
  const kill = async () => {
    const ending = agent;
    agent = undefined;
    if (ending !== undefined) signalProcess(ending.pid, "SIGKILL");
    await ending?.status;
    const server = await postmasterPid(`${folder}/${name}`);
    if (server === undefined) return;
    signalProcess(server, "SIGKILL");
    await until(
      async () => await queryAt(programs, own.postgres, "select 1") === undefined,
      `${name} has ended`,
    );
  };
  start();
  return {
    name,
    port: own.postgres,
    agentPort: own.agent,
    kill,
    start,
    cutOff(isCutOff) {
      for (const proxy of Object.values(proxies)) proxy.passesNothing = isCutOff;
    },
    query: (text) => queryAt(programs, own.postgres, text),
    async [Symbol.asyncDispose]() {
      agent?.kill("SIGCONT");
      await kill();
      for (const proxy of Object.values(proxies)) await proxy[Symbol.asyncDispose]();
    },
  };
}

/** What an agent answers to `GET /cluster`. */
interface ClusterAnswer {
  readonly members: readonly {
    readonly name: string;
    readonly role: Role;
    readonly state: string;
  }[];
}

async function rolesKnownBy({ agentPort }: PatroniNode): Promise<Map<string, Role>> {
  try {
    const response = await fetch(`http://127.0.0.1:${agentPort}/cluster`, {
      signal: AbortSignal.timeout(querySeconds * 1_000),
    });
    const { members }: ClusterAnswer = await response.json();
    const running = members.filter(({ state }) => state === "running" || state === "streaming");
    return new Map(running.map(({ name, role }) => [name, role]));
  } catch {
    // It is stopped, cut off, or on its way up.
    return new Map();
  }
}

async function startEtcd(folder: string): Promise<{ port: number; child: Deno.ChildProcess }> {
  const port = freePort();
  const client = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${freePort()}`;
  const options = {
    "name": "one",
    "data-dir": `${folder}/etcd`,
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `one=${peer}`,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const child = startAsServer(programPaths["etcd-server"], flags, {
    logPath: `${folder}/etcd.log`,
  });
  await until(async () => {
    const answer = await fetch(`${client}/health`).catch(() => undefined);
    return (await answer?.text())?.includes("true");
  }, "etcd answers");
  return { port, child };
}

/** Starts both nodes and waits until one leads and the other one is its synchronous standby. */
export async function startPatroni(): Promise<PatroniCluster> {
  const programs = await postgresPrograms() ?? "";
  const folder = await Deno.makeTempDir({ prefix: "gateway-patroni-" });
  await giveToServer(folder);
  const etcd = await startEtcd(folder);
  const nodes: (PatroniNode & AsyncDisposable)[] = [];
  for (const name of ["one", "two"]) {
    nodes.push(await startNode({ name, folder, programs, etcdPort: etcd.port }));
  }
  const cluster: PatroniCluster = {
    nodes,
    url: `postgres://${user}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}/postgres`,
    async roles(askedNot) {
      for (const node of nodes) {
        const roles = node === askedNot ? new Map<string, Role>() : await rolesKnownBy(node);
        if (roles.size > 0) return roles;
      }
      return new Map();
    },
    async leader(askedNot) {
      const roles = await cluster.roles(askedNot);
      return nodes.find(({ name }) => roles.get(name) === "leader");
    },
    async untilRole(node, role) {
      await until(
        async () => (await cluster.roles()).get(node.name) === role,
        `${node.name} is ${role}`,
      );
    },
    async switchOver(from, to) {
      const response = await fetch(`http://127.0.0.1:${from.agentPort}/switchover`, {
        method: "POST",
        body: JSON.stringify({ leader: from.name, candidate: to.name }),
      });
      const said = await response.text();
      if (!response.ok) throw new Error(`The agent refuses to switch over: ${said}`);
    },
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node[Symbol.asyncDispose]();
      signalProcess(etcd.child.pid, "SIGKILL");
      await etcd.child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
  await until(async () => {
    const roles = [...(await cluster.roles()).values()];
    return roles.includes("leader") && roles.includes("sync_standby");
  }, "one node leads and the other one follows it synchronously");
  return cluster;
}
