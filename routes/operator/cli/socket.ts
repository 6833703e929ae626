/**
 * The Unix socket on which a running server takes commands of `deno task admin`. The file mode is its access control.
 */
import type { Config } from "../../../core/config/config.ts";
import { keepServing } from "../../process/keep_serving.ts";

/** Returns the path of the socket: beside the store of this configuration. */
export function adminSocketPath(config: Config): string {
  return config.store.kind === "file" ? `${config.store.path}.admin.sock` : "";
}

/** Serves the admin app on the socket and returns a function that stops it. */
export async function serveAdminSocket(
  path: string,
  handle: (request: Request) => Response | Promise<Response>,
): Promise<{ stop(): Promise<void> }> {
  async function listen(): Promise<Deno.HttpServer<Deno.UnixAddr>> {
    // The file was left by a killed process: this process holds the lock of the store, so no other one serves it.
    await Deno.remove(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    const server = Deno.serve({ path, transport: "unix", onListen: () => {} }, handle);
    await Deno.chmod(path, 0o600);
    return server;
  }
  // What stops connections here stops those of the service, too, which logs it.
  const { shutdown } = keepServing(await listen(), { listenAgain: listen, onTrouble() {} });
  return {
    async stop() {
      await shutdown();
      await Deno.remove(path).catch(() => {});
    },
  };
}

/** The answer of the admin app. Read it before disposing of it, which closes its connection. */
export interface AdminCall extends Disposable {
  readonly response: Response;
}

/**
 * Calls the admin app of a running server.
 *
 * @throws if no server answers there
 */
export async function callAdminSocket(
  path: string,
  pathAndQuery: string,
  init: RequestInit,
): Promise<AdminCall> {
  const client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
  try {
    const response = await fetch(`http://admin.invalid${pathAndQuery}`, { ...init, client });
    return { response, [Symbol.dispose]: () => client.close() };
  } catch (error) {
    client.close();
    throw error;
  }
}
