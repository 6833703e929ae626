/** LiteLLM, by `BENCH_LITELLM_CMD`. */
import { cores, freePort, lastDescendant, Server, untilAccepts } from "./child.ts";
import type { StartedPeer } from "./started_peer.ts";

/**
 * Starts LiteLLM by `BENCH_LITELLM_CMD`, in which `{port}` and `{upstream}` (the base address of the provider) are
 * replaced. Its configuration has to map the models `bench-…` to that provider.
 *
 * @returns undefined without the variable, or if it does not start
 */
export async function startLiteLlm(upstreamPort: number): Promise<StartedPeer | undefined> {
  const given = Deno.env.get("BENCH_LITELLM_CMD");
  if (given === undefined || given === "") return undefined;
  const port = freePort();
  const command = given
    .replaceAll("{port}", String(port))
    .replaceAll("{upstream}", `http://127.0.0.1:${upstreamPort}/v1`);
  try {
    const server = await Server.start({
      command: ["sh", "-c", `echo ready ${port}; exec ${command}`],
      core: cores.measured,
      isQuiet: true,
    });
    await untilAccepts(port);
    const url = `http://127.0.0.1:${port}`;
    const headers = [["authorization", "Bearer bench"]] as const;
    return { server, target: { url, pid: lastDescendant(server.pid), headers } };
  } catch {
    return undefined;
  }
}
