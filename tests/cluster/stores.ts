/** The real servers that several gateways may share; where a program is missing, its tests say so. */
import { readStoreLocation } from "../../core/config/platform.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { openStore, type Store } from "../../kv/engine/opening/store.ts";
import { denokvProgram, startDenokv } from "../support/servers/denokv_server.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";

/** A running server with an empty store. */
export interface ClusterStore extends AsyncDisposable {
  readonly port: number;
  /** For a gateway that reaches the server on this port: its own, or that of a proxy. */
  env(port: number): Readonly<Record<string, string>>;
  /** Ends the server as a crash does. */
  kill(): Promise<void>;
  start(): Promise<void>;
  signal(signal: "SIGSTOP" | "SIGCONT"): Promise<void>;
}

/** An engine, and how to start it. */
export interface ClusterEngine {
  readonly name: "PostgreSQL" | "denokv";
  /** What to install where the program is missing. */
  readonly missing: string | undefined;
  start(): Promise<ClusterStore>;
}

const postgres = await postgresPrograms();
const denokv = await denokvProgram();

async function startOnPostgres(): Promise<ClusterStore> {
  const server = await startPostgres(postgres ?? "");
  return {
    port: server.port,
    env: (port) => ({ GATEWAY_KV: `postgres://gateway@127.0.0.1:${port}/postgres` }),
    kill: () => server.kill(),
    start: () => server.start(),
    signal: (signal) => server.signal(signal),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function startOnDenokv(): Promise<ClusterStore> {
  const server = await startDenokv(denokv ?? "");
  // This process opens the store too.
  Deno.env.set("DENO_KV_ACCESS_TOKEN", server.accessToken);
  return {
    port: server.port,
    env: (port) => ({
      GATEWAY_KV: `http://127.0.0.1:${port}`,
      DENO_KV_ACCESS_TOKEN: server.accessToken,
    }),
    kill: () => server.kill(),
    start: () => server.start(),
    signal: (signal) => Promise.resolve(server.signal(signal)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The engines that instances on several machines can share. */
export const clusterEngines: readonly ClusterEngine[] = [
  {
    name: "PostgreSQL",
    missing: postgres === undefined ? "apt-get install postgresql" : undefined,
    start: startOnPostgres,
  },
  {
    name: "denokv",
    missing: denokv === undefined ? "cargo install denokv" : undefined,
    start: startOnDenokv,
  },
];

/** Opens the store in this process, beside the gateways. */
export async function openClusterStore(env: Readonly<Record<string, string>>): Promise<Store> {
  const location = readStoreLocation(env["GATEWAY_KV"] ?? "");
  if (!location.ok) throw new Error(location.problem);
  const opened = await openStore(location.store, systemClock);
  if (!opened.ok) throw new Error(JSON.stringify(opened));
  return opened.store;
}
