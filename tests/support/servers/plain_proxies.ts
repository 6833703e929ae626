/**
 * Proxies of a test's own in front of one server, without TLS: Caddy, nginx and HAProxy, where they are installed
 * (Debian's packages of these names). Each answers 403 for paths that begin with `/smuggled`, keeps connections to the
 * server, and passes bodies on as they come.
 */
import { freePort } from "./free_port.ts";
import { until } from "../until.ts";

interface ProxyKind {
  readonly name: string;
  /** Makes the command, after it has written its configuration. */
  readonly command: (folder: string, port: number, serverPort: number) => Promise<string[]>;
}

async function written(path: string, text: string): Promise<string> {
  await Deno.writeTextFile(path, text);
  return path;
}

const caddy: ProxyKind = {
  name: "caddy",
  async command(folder, port, serverPort) {
    const file = await written(
      `${folder}/Caddyfile`,
      `{
  admin off
  auto_https off
}
http://:${port} {
  bind 127.0.0.1
  @denied path /smuggled*
  respond @denied 403
  reverse_proxy 127.0.0.1:${serverPort}
}
`,
    );
    return ["caddy", "run", "--config", file, "--adapter", "caddyfile"];
  },
};

const nginx: ProxyKind = {
  name: "nginx",
  async command(folder, port, serverPort) {
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ");
    const file = await written(
      `${folder}/nginx.conf`,
      `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/log;
events {}
http {
  access_log off; ${temporary}
  upstream server { server 127.0.0.1:${serverPort}; keepalive 4; }
  server {
    listen 127.0.0.1:${port};
    location /smuggled { return 403; }
    location / {
      proxy_pass http://server; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_request_buffering off;
    }
  }
}
`,
    );
    return ["nginx", "-c", file, "-e", `${folder}/log`];
  },
};

const haproxy: ProxyKind = {
  name: "haproxy",
  async command(folder, port, serverPort) {
    const file = await written(
      `${folder}/haproxy.cfg`,
      `defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend clients
  bind 127.0.0.1:${port}
  http-request deny deny_status 403 if { path_beg /smuggled }
  default_backend servers
backend servers
  http-reuse always
  server server 127.0.0.1:${serverPort}
`,
    );
    return ["haproxy", "-f", file, "-db"];
  },
};

/** The proxies that can be tried. */
export const proxyKinds: readonly ProxyKind[] = [caddy, nginx, haproxy];

/** Whether the program is installed, here or where Debian puts servers. */
export function hasProxy({ name }: ProxyKind): boolean {
  return ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"].some((folder) => {
    try {
      return Deno.statSync(`${folder}/${name}`).isFile;
    } catch {
      return false;
    }
  });
}

/** A running proxy. */
export interface PlainProxy extends AsyncDisposable {
  readonly port: number;
}

/** Starts a proxy in front of a server on this machine. */
export async function startProxy(kind: ProxyKind, serverPort: number): Promise<PlainProxy> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-proxy-" });
  const port = freePort();
  const [program = "", ...args] = await kind.command(folder, port, serverPort);
  const path = `${Deno.env.get("PATH") ?? ""}:/usr/sbin:/usr/local/sbin`;
  const child = new Deno.Command(program, {
    args,
    env: { PATH: path, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const end = async () => {
    child.kill("SIGTERM");
    await child.status;
    await Deno.remove(folder, { recursive: true });
  };
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => {});
    await answer?.body?.cancel();
    return answer?.ok === true;
  }, `${kind.name} reaches the server`).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return { port, [Symbol.asyncDispose]: end };
}
