/** Runs the gateway until it is told to stop. */
import type { Config } from "../../core/config.ts";
import { localAddress } from "../../core/local_address.ts";
import { openStore } from "../../kv/store.ts";
import { createAdminApp } from "../admin/app.ts";
import { whyNoMail } from "../mail/mailer.ts";
import { serveHotPath } from "../v1/app.ts";
import { adminSocketPath, serveAdminSocket } from "../admin/socket.ts";
import { createApp } from "../app.ts";
import type { Gateway } from "../v1/gateway.ts";
import { assemble } from "./assemble.ts";
import { clientAddressOf } from "./client_address.ts";
import { ensureDemoAccount, retireDemoAccount } from "./demo_account.ts";
import { loadMasterKeys } from "./master_keys.ts";
import { registerVideoCron, startVideoWorker } from "../v1/video_worker.ts";
import { startJobs } from "./jobs.ts";
import { openSite } from "./site.ts";

export interface ServeOptions {
  /** Gets whole lines: the banner and the log. */
  readonly write: (line: string) => void;
  /** Aborted when the process should stop. */
  readonly signal: AbortSignal;
}

interface Listening {
  readonly address: string;
  /** An address that a program of this machine can use. */
  readonly nearby: string;
  /** A key of the demo account. */
  readonly secret: string | undefined;
}

function banner(mode: Config["mode"], { address, nearby, secret }: Listening): string[] {
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

type Answer = (request: Request, info: Deno.ServeHandlerInfo) => Response | Promise<Response>;

/** Starts to listen. `undefined`: the address is taken, or is not this machine's. */
function listen(
  { config, log }: Gateway,
  answer: Answer,
): Deno.HttpServer<Deno.NetAddr> | undefined {
  try {
    return Deno.serve({
      port: config.port,
      hostname: config.host,
      onListen() {},
      onError(error) {
        // Handlers answer every error themselves; here only broken bodies and bugs arrive.
        log.event("error", "response failed", {
          error: error instanceof Error ? `${error.name}: ${error.message}` : "unknown",
        });
        return new Response(null, { status: 500 });
      },
    }, answer);
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse || error instanceof Deno.errors.AddrNotAvailable) {
      return undefined;
    }
    throw error;
  }
}

/** The path of every request: the hot one first, then all of the application. */
function answerWith(gateway: Gateway, app: ReturnType<typeof createApp>): Answer {
  const { clientAddressHeader } = gateway.config;
  return (request, { remoteAddr }) => {
    const clientAddress = clientAddressOf(request, remoteAddr, clientAddressHeader);
    return serveHotPath(gateway, request, clientAddress) ??
      // A `host` header that makes no URL would fail wherever the path is looked at.
      (URL.canParse(request.url)
        ? app.fetch(request, { clientAddress })
        : new Response(null, { status: 400 }));
  };
}

/**
 * Serves until `signal` fires; then stops accepting, lets streams end up to the deadline, settles, flushes.
 *
 * @returns the exit code of the process
 */
export async function serve(config: Config, options: ServeOptions): Promise<number> {
  const { write, signal } = options;
  const opened = await openStore(config.store);
  if (!opened.ok) {
    write(
      "Cannot start: another process has the store open. Stop it, or set GATEWAY_KV to another file",
    );
    return 1;
  }
  using store = opened.store;
  const masterKeys = await loadMasterKeys(config);
  const assembled = await assemble(config, store.kv, masterKeys, write);
  const { gateway } = assembled;
  const demo = config.mode === "sandbox"
    ? await ensureDemoAccount(store.kv, masterKeys, gateway.clock.nowMs())
    : undefined;
  if (config.mode === "production") await retireDemoAccount(store.kv, gateway.clock.nowMs());
  const admin = config.store.kind === "file"
    ? await serveAdminSocket(
      adminSocketPath(config),
      createAdminApp({ ...gateway, masterKeys }).fetch,
    )
    : undefined;
  // Pages and links carry the port, which with port 0 is known only now. No request is read before this turn ends.
  let answer: Answer = () => new Response(null, { status: 503 });
  const server = listen(gateway, (request, info) => answer(request, info));
  if (server === undefined) {
    write(`Cannot listen on ${config.host}:${config.port}: set PORT and HOST to a free address`);
    await assembled.close();
    await admin?.stop();
    return 1;
  }
  const { hostname, port } = server.addr;
  const address = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  const nearby = localAddress(config.host, port) ?? address;
  const baseUrl = config.baseUrl ?? nearby;
  const site = openSite(gateway, { masterKeys, baseUrl, write });
  const app = createApp(gateway, { stopping: () => signal.aborted, site });
  answer = answerWith(gateway, app);
  for (const line of banner(config.mode, { address, nearby, secret: demo?.secret })) write(line);
  const noMail = whyNoMail(config);
  if (noMail !== undefined) gateway.log.event("warn", "mail is off", { reason: noMail });
  const jobs = startJobs(gateway, site.jobs);
  const workers = site.startWorkers();
  const videoWorker = startVideoWorker(gateway);
  registerVideoCron(gateway, signal);
  // Resolves when the store is closed; until then hints of other tasks of this store arrive here.
  gateway.media.wakeUp.listen();

  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  gateway.log.event("info", "stopping", { calls_in_flight: gateway.calls.count });
  // shutdown() stops accepting at once and resolves when all responses are out; assembled.close() makes them end.
  const stopped = server.shutdown();
  await Promise.all([jobs.stop(), workers.stop()]);
  await videoWorker.stop();
  await assembled.close();
  let patience: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([
    stopped,
    new Promise((resolve) => patience = setTimeout(resolve, 1_000)),
  ]);
  clearTimeout(patience);
  await admin?.stop();
  gateway.log.event("info", "stopped");
  return 0;
}
