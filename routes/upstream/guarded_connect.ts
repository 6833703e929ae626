/** DNS and sockets of Deno for fetching URLs of callers; the rules are in `core/media`. */
import {
  createGuardedConnect,
  type Dial,
  type Resolve,
} from "../../core/net/remote/guarded_connect.ts";
import type { Connect } from "../../core/net/transport/connection.ts";
import { startTls } from "./deno_connect.ts";

/** Resolves a name in both address families; a family without records is not a failure. */
export const resolveWithDeno: Resolve = async (hostname, signal) => {
  const lookups = await Promise.allSettled([
    Deno.resolveDns(hostname, "A", { signal }),
    Deno.resolveDns(hostname, "AAAA", { signal }),
  ]);
  return lookups.flatMap((lookup) => lookup.status === "fulfilled" ? lookup.value : []);
};

/** Connects to the address; TLS sends and verifies the name. */
const dialWithDeno: Dial = async ({ address, port, serverName }, signal) => {
  const tcp = await Deno.connect({ hostname: address, port, signal });
  tcp.setNoDelay(true);
  return serverName === undefined ? tcp : await startTls(tcp, { hostname: serverName }, signal);
};

/** The guarded {@linkcode Connect} of this runtime; `world` is for tests. */
export function guardedConnect(
  world: { readonly resolve?: Resolve; readonly dial?: Dial } = {},
): Connect {
  return createGuardedConnect({
    resolve: world.resolve ?? resolveWithDeno,
    dial: world.dial ?? dialWithDeno,
  });
}
