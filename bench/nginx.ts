/** nginx that passes bodies through with kept connections on both sides, if it is installed. */
import { freePort } from "../tests/support/servers/free_port.ts";
import { cores, Server, untilAccepts } from "./child.ts";
import type { StartedPeer } from "./started_peer.ts";

function configuration(directory: string, port: number, upstreamPort: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${directory}/${kind};`).join(" ");
  return `${Deno.uid() === 0 ? "user root;" : ""}
daemon off; master_process off; worker_processes 1;
pid ${directory}/pid; error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off; ${temporary}
  upstream provider { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    keepalive_requests 100000000; client_max_body_size 32m; client_body_buffer_size 1m;
    location / {
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header connection "";
      proxy_buffering off;
    }
  }
}
`;
}

/**
 * Starts one process of nginx.
 *
 * @returns undefined where it is absent
 */
export async function startNginx(upstreamPort: number): Promise<StartedPeer | undefined> {
  const directory = await Deno.makeTempDir({ prefix: "bench" });
  const port = freePort();
  const file = `${directory}/nginx.conf`;
  await Deno.writeTextFile(file, configuration(directory, port, upstreamPort));
  try {
    const server = await Server.start({
      command: ["sh", "-c", `command -v nginx && echo ready ${port} && exec nginx -c ${file}`],
      core: cores.measured,
      isQuiet: true,
    });
    await untilAccepts(port);
    return { server, target: { url: `http://127.0.0.1:${port}`, pid: server.pid, headers: [] } };
  } catch {
    return undefined;
  }
}
