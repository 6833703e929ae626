/** Portkey, if it is installed. */
import { cores, freePort, lastDescendant, Server } from "./child.ts";
import type { StartedPeer } from "./started_peer.ts";

/**
 * Starts Portkey by `BENCH_PORTKEY_CMD` (`{port}` in it is replaced), or by `npx` if a package is there.
 *
 * @returns undefined where it is absent
 */
export async function startPortkey(upstreamPort: number): Promise<StartedPeer | undefined> {
  const port = freePort();
  const given = Deno.env.get("BENCH_PORTKEY_CMD");
  const command = (given ?? "npx --no-install @portkey-ai/gateway --headless --port={port}")
    .replaceAll("{port}", String(port)).split(" ");
  let server: Server;
  try {
    server = await Server.start(
      { command, core: cores.measured, isQuiet: true },
      /running at[^]*?:(\d+)/,
    );
  } catch {
    return undefined;
  }
  return {
    server,
    target: {
      url: `http://127.0.0.1:${port}`,
      pid: lastDescendant(server.pid),
      headers: [
        ["x-portkey-provider", "openai"],
        ["x-portkey-custom-host", `http://127.0.0.1:${upstreamPort}/v1`],
        ["authorization", "Bearer bench"],
      ],
    },
  };
}
