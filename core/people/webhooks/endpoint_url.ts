/** Checks the address of an endpoint of webhooks. */
import { isLoopbackUrl } from "../../net/addresses/local_address.ts";
import { parseRemoteUrl, type RemoteUrlProblem } from "../../net/remote/remote_url.ts";

/** Characters of an address: all endpoints of an account are in one row. */
export const maxEndpointUrlChars = 1_024;

/** Whether webhooks may be sent to this machine: only by a sandbox whose public address is a loopback one. */
export function allowsLocalEndpoints(
  { mode }: { readonly mode: "sandbox" | "production" },
  baseUrl: string,
): boolean {
  return mode === "sandbox" && isLoopbackUrl(baseUrl);
}

/** Why an address was refused. */
export type EndpointUrlProblem = RemoteUrlProblem | "must begin with https://";

/**
 * Reads the address of an endpoint: `https:`, on a port of web servers, not of a private network by its own text. What
 * its name resolves to is checked with every connection.
 *
 * @param options.isLocalAllowed a developer's sandbox on this machine may also send to this machine
 *
 * @example
 * ```ts
 * import { parseEndpointUrl } from "./endpoint_url.ts";
 * const onInternet = { isLocalAllowed: false };
 * if (typeof parseEndpointUrl("https://example.com/hook", onInternet) === "string") throw new Error("refused");
 * for (const url of ["http://example.com/", "https://10.0.0.1/", "http://localhost:3000/", "https://[::1]/"]) {
 *   if (typeof parseEndpointUrl(url, onInternet) !== "string") throw new Error(url);
 * }
 * const local = parseEndpointUrl("http://localhost:3000/", { isLocalAllowed: true });
 * if (typeof local === "string") throw new Error(local);
 * ```
 */
export function parseEndpointUrl(
  text: string,
  { isLocalAllowed }: { readonly isLocalAllowed: boolean },
): URL | EndpointUrlProblem {
  if (text.length > maxEndpointUrlChars) return "is too long";
  if (isLocalAllowed && /^https?:/i.test(text) && isLoopbackUrl(text)) {
    const url = new URL(text);
    return url.username === "" && url.password === ""
      ? withoutFragment(url)
      : "must not carry a user name or password";
  }
  const url = parseRemoteUrl(text);
  if (typeof url === "string") return url;
  return url.protocol === "https:" ? withoutFragment(url) : "must begin with https://";
}

/** The fragment is never sent. */
function withoutFragment(url: URL): URL {
  url.hash = "";
  return url;
}
