/** Checks the form of a URL from a client before the gateway or a provider fetches it. */
import { parseIpAddress } from "../addresses/ip_address.ts";
import { isPublicAddress } from "./address.ts";

/** Characters of a URL from a client: what browsers and CDNs accept. */
const maxMediaUrlChars = 8_192;

/**
 * Why a URL was refused, as a message for the client. It repeats nothing that the client did not
 * send.
 */
export type RemoteUrlProblem =
  | "is not a URL"
  | "is too long"
  | "must begin with http:// or https://"
  | "must not carry a user name or password"
  | "must use port 80, 443, 8080 or 8443"
  | "must point to a public address";

/**
 * The ports of web servers. Everything else inside a network (databases, caches, mail) uses others.
 */
const allowedPorts: ReadonlySet<string> = new Set(["", "80", "443", "8080", "8443"]);

/**
 * Checks everything that needs no name server.
 *
 * The URL parser has normalised decimal, octal, hexadecimal and full-width forms of an address
 * (WHATWG URL, host parsing), so one check of the plain form covers them all.
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

/** Returns the host without the brackets of IPv6 and without the dot of a fully qualified name. */
function hostOf(url: URL): string {
  const { hostname } = url;
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}
