/** Opens the listening socket and passes each request to the application. */
import { errorLine, unforeseen } from "../../core/lib/error_line.ts";
import { newId } from "../../core/lib/ids.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { createApp } from "../app.ts";
import { withCommonHeaders } from "../http/common_headers.ts";
import { headAsGet } from "../http/head_answers.ts";
import { serveHotPath } from "../api/app.ts";
import type { Gateway } from "../api/gateway.ts";
import { clientAddressOf } from "./client_address.ts";
import { keepServing } from "./keep_serving.ts";
import { SeenConnections } from "./seen_connections.ts";

/** Answers one request of a connection. */
export type Answer = (
  request: Request,
  info: Deno.ServeHandlerInfo<Deno.NetAddr>,
) => Response | Promise<Response>;

/** Where the server listens. */
export type ListeningAddress = Pick<Deno.NetAddr, "hostname" | "port">;

/** A listening server, or the reason why there is none. */
export type ListenResult =
  | {
    readonly ok: true;
    readonly address: ListeningAddress;
    /** Stops accepting at once and resolves when all answers are out. */
    shutdown(): Promise<void>;
  }
  /**
   * The address is in use, foreign, unknown or not allowed; `problem` is one line for the operator.
   */
  | { readonly ok: false; readonly problem: string };

/** How to listen where several threads share a port. */
export interface SharedPort {
  readonly port: number;
}

/** Listens at the configured address, or at a port that other threads of this process share. */
export function listen(
  { config, log, clock }: Gateway,
  answer: Answer,
  shared?: SharedPort,
): ListenResult {
  const complete = completerOf(clock);
  const { host } = config;
  const port = shared?.port ?? config.port;
  const listenAt = (port: number) =>
    Deno.serve({
      port,
      hostname: host,
      // The platform's runtime takes no option that is unstable, even if it is off.
      ...(shared === undefined ? {} : { reusePort: true }),
      onListen() {},
      onError(error) {
        // Handlers answer every error themselves; only broken bodies and bugs arrive here.
        log.event("error", "response failed", { ...unforeseen(error) });
        return complete(new Response(null, { status: 500 }));
      },
    }, answer);
  try {
    const first = listenAt(port);
    const address = addressOf(first.addr, config);
    const { shutdown } = keepServing(first, {
      // With port 0: the port that the system chose.
      listenAgain: () => listenAt(address.port),
      onTrouble(error) {
        log.event("error", "connections are refused", {
          error: errorLine(error),
          look_at: "the number of files that the process may open (ulimit -n)",
        });
      },
    });
    return { ok: true, address, shutdown };
  } catch (error) {
    return { ok: false, problem: listenProblem(config, error) };
  }
}

function listenProblem({ host, port }: Gateway["config"], error: unknown): string {
  const where = `HOST ${host}, PORT ${port}`;
  return `Cannot listen on ${where}: ${errorLine(error)}; set them to a free address`;
}

/**
 * Finds out whether the configured address is free, and the port that the system chooses for port 0. Several sockets
 * may share a port, so that without this a second gateway at the same address would not notice the first one.
 */
export function freeAddress(
  config: Gateway["config"],
):
  | { readonly ok: true; readonly address: ListeningAddress }
  | { readonly ok: false; readonly problem: string } {
  try {
    using listener = Deno.listen({ hostname: config.host, port: config.port });
    return { ok: true, address: listener.addr };
  } catch (error) {
    return { ok: false, problem: listenProblem(config, error) };
  }
}

/**
 * A platform may have the runtime listen at a socket of its own in place of the one that was asked
 * for (`DENO_SERVE_ADDRESS`), even one without a host; then the address that was asked for is shown.
 */
function addressOf(address: Deno.Addr, { host, port }: Gateway["config"]): ListeningAddress {
  return "hostname" in address ? address : { hostname: host, port };
}

/** Adds the common headers to an answer whose endpoint has not done it. */
function completerOf(clock: Clock): (response: Response) => Response {
  return (response) => withCommonHeaders(response, newId("request", clock.nowMs()));
}

/** Answers every request: chat endpoints first, then the whole application. */
export function answerWith(gateway: Gateway, app: ReturnType<typeof createApp>): Answer {
  const { clientAddressHeader } = gateway.config;
  const complete = completerOf(gateway.clock);
  const connections = new SeenConnections();
  return (request, { remoteAddr }) => {
    const clientAddress = clientAddressOf(request, remoteAddr, clientAddressHeader);
    // Only requests with a body count; a list of models before it changes nothing.
    const isFirstOfConnection = request.method === "POST" && connections.isFirst(remoteAddr);
    const connection = { clientAddress, isFirstOfConnection };
    const hot = serveHotPath(gateway, request, connection);
    if (hot !== undefined) return hot;
    // A `host` header that makes no valid URL would fail wherever the path is read.
    if (!URL.canParse(request.url)) return complete(new Response(null, { status: 400 }));
    const answered = app.fetch(headAsGet(request), connection);
    return answered instanceof Promise ? answered.then(complete) : complete(answered);
  };
}
