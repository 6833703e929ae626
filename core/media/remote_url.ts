/** What a URL from a client must look like before anybody, we or a provider, is asked to fetch it. */
import { parseIpAddress } from "../lib/net/ip_address.ts";
import { isPublicAddress } from "./address.ts";

/** Characters of a URL that a client may give: what browsers and CDNs agree on. */
const maxMediaUrlChars = 8_192;

/** Why a URL was refused, in words for the client. They name nothing the client did not send. */
export type RemoteUrlProblem =
  | "is not a URL"
  | "is too long"
  | "must begin with http:// or https://"
  | "must not carry a user name or password"
  | "must use port 80, 443, 8080 or 8443"
  | "must point to a public address";

/** Web servers live here. Everything else inside a network (databases, caches, mail) lives elsewhere. */
const allowedPorts: ReadonlySet<string> = new Set(["", "80", "443", "8080", "8443"]);

/**
 * Checks all that can be told without asking a name server.
 *
 * The URL parser has turned decimal, octal, hexadecimal and full-width forms of an address into the plain one by now
 * (WHATWG URL, host parsing), so one check of the plain form sees them all.
 *
 * @example
 * ```ts
 * import { parseRemoteUrl } from "./remote_url.ts";
 * if (typeof parseRemoteUrl("https://example.com/cat.png") === "string") throw new Error("refused");
 * if (parseRemoteUrl("http://0x7f000001/") !== "must point to a public address") throw new Error("accepted");
 * ```
 */
export function parseRemoteUrl(text: string): URL | RemoteUrlProblem {
  if (text.length > maxMediaUrlChars) return "is too long";
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return "must begin with http:// or https://";
  }
  if (url.username !== "" || url.password !== "") return "must not carry a user name or password";
  if (!allowedPorts.has(url.port)) return "must use port 80, 443, 8080 or 8443";
  const host = hostOf(url);
  if (parseIpAddress(host) !== undefined && !isPublicAddress(host)) {
    return "must point to a public address";
  }
  if (host === "" || host === "localhost" || host.endsWith(".localhost")) {
    return "must point to a public address";
  }
  return url;
}

/** The host without the brackets of IPv6 and without the dot of a fully qualified name. */
function hostOf(url: URL): string {
  const { hostname } = url;
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}
