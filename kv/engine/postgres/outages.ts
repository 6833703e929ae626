/** Errors of the driver and of the server which mean that the store is away. */
import type { OutageKind } from "../store/store_unavailable.ts";
import { stateOf } from "./pool.ts";

/** Codes of the driver (https://github.com/porsager/postgres#error-handling) and of its sockets. */
const driverKinds: ReadonlyMap<string, OutageKind> = new Map([
  ["CONNECT_TIMEOUT", "unreachable"],
  ["ECONNREFUSED", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENETUNREACH", "unreachable"],
  ["ENOTFOUND", "unreachable"],
  ["EAI_AGAIN", "unreachable"],
  ["ETIMEDOUT", "unreachable"],
  ["CONNECTION_CLOSED", "connection_lost"],
  ["CONNECTION_DESTROYED", "connection_lost"],
  ["CONNECTION_ENDED", "connection_lost"],
  ["ECONNABORTED", "connection_lost"],
  ["ECONNRESET", "connection_lost"],
  ["EPIPE", "connection_lost"],
]);

/**
 * SQLSTATEs, or their first characters for a class
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html). PgBouncer reports its own troubles as class 08.
 */
const serverKinds: ReadonlyMap<string, OutageKind> = new Map([
  ["08", "connection_lost"],
  ["25006", "takes_no_writes"],
  ["28", "refused"],
  ["3D", "refused"],
  ["40001", "overloaded"],
  ["40P01", "overloaded"],
  ["53", "overloaded"],
  ["53100", "no_room"],
  ["53200", "no_room"],
  ["55P03", "overloaded"],
  ["57014", "no_answer"],
  ["57P", "stopping"],
  ["58", "engine_failed"],
  // Not `XX000`, an error of the server's program.
  ["XX001", "damaged"],
  ["XX002", "damaged"],
]);

function kindOfState(state: string): OutageKind | undefined {
  return serverKinds.get(state) ?? serverKinds.get(state.slice(0, 3)) ??
    serverKinds.get(state.slice(0, 2));
}

/** Returns the kind of an outage; `undefined` for an error of the statement. */
export function postgresOutage(error: unknown): OutageKind | undefined {
  const state = stateOf(error);
  if (state !== undefined) return kindOfState(state);
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? driverKinds.get(error.code) : undefined;
}
