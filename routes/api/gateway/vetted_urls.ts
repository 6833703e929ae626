/** Refuses URLs that would lead a provider into an internal network, by the addresses of their hosts. */
import { type FetchedUrl, refuseInternalNames } from "../../../core/net/remote/fetched_urls.ts";
import type { ProviderEntry } from "../../../core/catalog/schema.ts";
import type { Gateway } from "./gateway.ts";

/**
 * Resolves the hosts of the URLs; `undefined` if no name has to be resolved. The promise is rejected with a
 * {@linkcode GatewayError} `invalid_request` that names the place of a host that is not public.
 */
export function vetUrls(
  { media }: Pick<Gateway, "media">,
  urls: readonly FetchedUrl[],
  providers: readonly (ProviderEntry | undefined)[],
): Promise<void> | undefined {
  if (urls.length === 0) return undefined;
  const isVetted = providers.some((one) => one?.kind === "http" && !one.unresolvedNames);
  return isVetted ? refuseInternalNames(urls, (host) => media.names.isPublic(host)) : undefined;
}
