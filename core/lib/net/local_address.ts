/** Hosts that mean every address of the machine: nobody can type them into a browser. */
import { parseUrl } from "../runtime/mod.ts";

const everyAddress: readonly string[] = ["0.0.0.0", "[::]"];

/**
 * The address under which programs of this machine reach a server that listens on `host` and `port`, without a trailing
 * slash. `undefined` if no URL can be made of the host.
 *
 * @param host as it is listened on: a name, IPv4, IPv6 with or without brackets
 *
 * @example
 * ```ts
 * import { localAddress } from "./local_address.ts";
 * const cases = {
 *   "127.0.0.1": "http://127.0.0.1:8787",
 *   "::1": "http://[::1]:8787",
 *   "0.0.0.0": "http://localhost:8787",
 *   "::": "http://localhost:8787",
 *   "fe80::1%eth0": undefined,
 * };
 * for (const [host, expected] of Object.entries(cases)) {
 *   if (localAddress(host, 8787) !== expected) throw new Error(host);
 * }
 * ```
 */
export function localAddress(host: string, port: number): string | undefined {
  const isIpv6 = host.includes(":") && !host.startsWith("[");
  const url = parseUrl(`http://${isIpv6 ? `[${host}]` : host}:${port}`);
  // A host with a slash or an @ in it would be something else to the URL.
  if (url === null || url.href !== `http://${url.host}/`) return undefined;
  if (everyAddress.includes(url.hostname)) url.hostname = "localhost";
  return url.origin;
}
