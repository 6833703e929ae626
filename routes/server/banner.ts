/** Composes the lines that the start prints. */
import type { Config } from "../../core/config/config.ts";
import { localAddress } from "../../core/lib/net/local_address.ts";
import type { ListeningAddress } from "./listening.ts";

/** Where a gateway is reached. */
export interface Listening {
  readonly address: string;
  /** An address at which programs on this machine reach the gateway. */
  readonly nearby: string;
}

/** Writes the addresses of a listening socket as URLs. */
export function listeningOn(config: Config, { hostname, port }: ListeningAddress): Listening {
  const address = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  return { address, nearby: localAddress(config.host, port) ?? address };
}

/** Composes the lines that the start prints. `secret` is a key of the demo account. */
export function banner(
  mode: Config["mode"],
  { address, nearby }: Listening,
  secret?: string,
): string[] {
  const lines = [`Gateway listening on ${address} (${mode} mode)`];
  if (secret === undefined) return lines;
  return [
    ...lines,
    "",
    "No provider is configured: the built-in sandbox answers, and money is play money.",
    `Demo key with 100,000 VND of sandbox money: ${secret}`,
    "",
    "Try it:",
    `  curl ${nearby}/v1/chat/completions \\`,
    `    -H "authorization: Bearer ${secret}" -H "content-type: application/json" \\`,
    `    -d '{"model":"premium-1","messages":[{"role":"user","content":"Hello!"}],"max_tokens":100}'`,
    "",
  ];
}
