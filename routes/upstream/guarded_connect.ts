/** DNS and sockets of Deno for fetching URLs of callers; the rules are in `core/media`. */
import { createGuardedConnect, type Dial, type Resolve } from "../../core/media/guarded_connect.ts";
import type { Connect } from "../../core/upstream/connection.ts";

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
  if (serverName === undefined) return tcp;
  const tls = await Deno.startTls(tcp, { hostname: serverName, alpnProtocols: ["http/1.1"] });
  const close = () => tls.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    await tls.handshake();
    return tls;
  } catch (error) {
    if (!signal.aborted) tls.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
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
