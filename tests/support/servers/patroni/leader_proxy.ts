/**
 * A HAProxy of a test's own that leads to the node whose agent says that it leads, as
 * `docs/operations/high-availability.md` has it. It ends connections to a node as soon as its agent says otherwise, or
 * nothing.
 */
import { freePort } from "../free_port.ts";
import { giveToServer, startAsServer } from "../server_process.ts";
import { programPaths } from "./programs.ts";
import type { PatroniCluster } from "./cluster.ts";

/** A running proxy. */
export interface LeaderProxy extends AsyncDisposable {
  /** For a gateway. */
  readonly url: string;
}

/** Starts the proxy. */
export async function startLeaderProxy({ nodes, url }: PatroniCluster): Promise<LeaderProxy> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-leader-" });
  const port = freePort();
  const servers = nodes.map(({ name, port, agentPort }) =>
    `  server ${name} 127.0.0.1:${port} check port ${agentPort}`
  );
  const file = `${folder}/haproxy.cfg`;
  await Deno.writeTextFile(
    file,
    `defaults
  mode tcp
  timeout connect 3s
  timeout client 1h
  timeout server 1h
  timeout check 2s
listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 3 rise 2 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
  );
  await giveToServer(folder);
  const args = ["-f", file, "-db"];
  const child = startAsServer(programPaths.haproxy, args, { logPath: `${folder}/log` });
  const address = new URL(url.replace(/@[^/]+/, `@127.0.0.1:${port}`));
  return {
    url: address.href,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
