/** A Caddy of a test's own with the Caddyfile of `deploy/docker`, where the program is installed (Debian's package `caddy`). */
import { freePort } from "./free_port.ts";
import { until } from "../until.ts";

const caddyfile = new URL("../../../deploy/docker/Caddyfile", import.meta.url).pathname;

/** A running proxy. */
export interface CaddyServer extends AsyncDisposable {
  readonly address: string;
  /** The certificate of its own authority, as PEM. */
  readonly authority: string;
}

/** Whether the program is installed. */
export function hasCaddy(): boolean {
  try {
    return new Deno.Command("caddy", { args: ["version"], stdout: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Starts the proxy in front of servers.
 *
 * @param upstreams their hosts and ports
 */
export async function startCaddy(upstreams: readonly string[]): Promise<CaddyServer> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-caddy-" });
  const port = freePort();
  const child = new Deno.Command("caddy", {
    args: ["run", "--config", caddyfile, "--adapter", "caddyfile"],
    env: {
      GATEWAY_SITE: "localhost",
      GATEWAY_UPSTREAMS: upstreams.join(" "),
      CADDY_HTTP_PORT: String(freePort()),
      CADDY_HTTPS_PORT: String(port),
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
    },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let authority: string | undefined;
  await until(async () => {
    authority = await readIfThere(`${folder}/caddy/pki/authorities/local/root.crt`);
    if (authority === undefined) return false;
    using client = Deno.createHttpClient({ caCerts: [authority] });
    const answer = await fetch(`https://localhost:${port}/readyz`, { client }).catch(() => {});
    await answer?.body?.cancel();
    return answer?.ok === true;
  }, "the proxy reaches a gateway");
  return {
    address: `https://localhost:${port}`,
    authority: authority!,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
