/**
 * Checks the proxies that the environment names.
 *
 * The runtime reads them itself (for `fetch`: provider driver, mail service, OpenID, bank
 * movements) and silently skips one that it cannot parse: calls would then bypass the proxy.
 */
import { parseUrl } from "../lib/runtime/mod.ts";

const names = ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

function proxyProblem(text: string): string | undefined {
  const address = text.includes("://") ? text : `http://${text}`;
  if (!/^(?:https?|socks5h?):\/\//i.test(address)) {
    return "must start with http://, https://, socks5:// or socks5h://";
  }
  const url = /\s/.test(address) ? null : parseUrl(address);
  if (url === null || url.hostname === "" || url.hash !== "" || url.search !== "") {
    return "is not an address of a proxy; %, #, /, ? and @ in user and password must be percent-encoded";
  }
  // The runtime does not accept a user without a password.
  return url.username !== "" && !/:.*@/.test(address.slice(address.indexOf("://") + 3))
    ? "has a user but no password"
    : undefined;
}

/** Lists the proxies that would be skipped, one line each, without their text. */
export function proxyProblems(
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  return names.flatMap((name) => {
    const text = environment[name];
    const problem = text === undefined || text === "" ? undefined : proxyProblem(text);
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });
}
