/** The Unix socket through which `deno task admin` reaches a running server. Its file mode is the access control. */
import type { Config } from "../../../core/config/config.ts";
import { keepServing } from "../../server/keep_serving.ts";

/** Where the socket of a gateway with this configuration lies: beside its store. */
export function adminSocketPath(config: Config): string {
  return config.store.kind === "file" ? `${config.store.path}.admin.sock` : "";
}

/** Serves the admin app on the socket. Returns what stops it. */
export async function serveAdminSocket(
  path: string,
  handle: (request: Request) => Response | Promise<Response>,
): Promise<{ stop(): Promise<void> }> {
  async function listen(): Promise<Deno.HttpServer<Deno.UnixAddr>> {
    // A socket file left by a killed process; nobody else can be behind it, since we hold the store's lock.
    await Deno.remove(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    const server = Deno.serve({ path, transport: "unix", onListen: () => {} }, handle);
    await Deno.chmod(path, 0o600);
    return server;
  }
  // Whatever keeps connections away here keeps them from the service too, whose log tells of it.
  const { shutdown } = keepServing(await listen(), { listenAgain: listen, onTrouble() {} });
  return {
    async stop() {
      await shutdown();
      await Deno.remove(path).catch(() => {});
    },
  };
}

/** A call of the admin app; disposing of it closes its connection, so read the answer first. */
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
