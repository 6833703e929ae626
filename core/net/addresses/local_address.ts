/** The URL of a server on this machine. */
import { parseUrl } from "../../lib/runtime/built_ins.ts";

/** Hosts that mean every address of the machine, which a browser cannot open. */
const everyAddress: readonly string[] = ["0.0.0.0", "[::]"];

/**
 * Returns the URL under which programs of this machine reach a server that listens on `host` and
 * `port`, without a trailing slash. `undefined` if the host cannot be part of a URL.
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
  // A host with a slash or an @ would be another part of the URL.
  if (url === null || url.href !== `http://${url.host}/`) return undefined;
  if (everyAddress.includes(url.hostname)) url.hostname = "localhost";
  return url.origin;
}

/**
 * Whether a URL leads to this machine only.
 *
 * @example
 * ```ts
 * import { isLoopbackUrl } from "./local_address.ts";
 * for (const url of ["http://localhost:8787", "http://127.0.0.1", "http://[::1]:1"]) {
 *   if (!isLoopbackUrl(url)) throw new Error(url);
 * }
 * if (isLoopbackUrl("https://localhost.example.com")) throw new Error("another machine");
 * ```
 */
export function isLoopbackUrl(url: string): boolean {
  const hostname = parseUrl(url)?.hostname ?? "";
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
