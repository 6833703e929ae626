/** The peer of goal 2, if it is installed; the benchmark installs nothing. */
import { cores, Server } from "./child.ts";
import type { Target } from "./load_job.ts";

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** `npx` starts a shell that starts the program; the id of the program is needed. */
function lastDescendant(pid: number): number {
  const children = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).trim().split(" ");
  const child = Number(children.at(-1));
  return child > 0 ? lastDescendant(child) : pid;
}

/**
 * Starts Portkey by `BENCH_PORTKEY_CMD` (`{port}` in it is replaced), or by `npx` if a package is there.
 *
 * @returns undefined where it is absent
 */
export async function startPortkey(
  upstreamPort: number,
): Promise<{ readonly server: Server; readonly target: Target } | undefined> {
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
