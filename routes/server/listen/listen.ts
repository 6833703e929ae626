/** Opens the listening socket and passes each request to the application. */
import { Reply, responseOf } from "../../../core/net/http1/server/reply.ts";
import { errorLine, unforeseen } from "../../../core/lib/base/assert.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import type { createApp } from "./app.ts";
import { answerHeaders, withCommonHeaders, type WithHeaders } from "../../http/own_headers.ts";
import { headAsGet } from "../../http/error_response.ts";
import { serveHotPath } from "../../api/app.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { httpDates, ServedRequest } from "../http1/served_request.ts";
import { serverBounds } from "../http1/request_body.ts";
import { HttpServer } from "../http1/http_server.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";
import { keepServing } from "../../process/keep_serving.ts";

// Determines the IP address of a client: the socket's, or the one that a trusted proxy reports.

/**
 * Returns the client's address. Behind a proxy every socket belongs to the proxy, so the operator
 * can name the header that it sets (`GATEWAY_CLIENT_ADDRESS_HEADER`). Of a list the last entry
 * counts: only that one was written by the proxy itself.
 */
function clientAddressOf(
  request: Pick<HttpRequest, "headers">,
  remote: Deno.Addr,
  headerName: string | undefined,
): string {
  if (headerName !== undefined) {
    const last = request.headers.get(headerName)?.split(",").at(-1)?.trim();
    if (last !== undefined && last !== "") return last;
  }
  return "hostname" in remote ? remote.hostname : "127.0.0.1";
}

// What the two kinds of server have in common: the gateway's own, and the runtime's.

/** Answers one request of a connection: of the gateway's own server, or of the runtime's. */
export type Answer = (
  request: ServedRequest | Request,
  remoteAddress: Deno.NetAddr,
) => Reply | Response | Promise<Reply | Response>;

/** Address on which the server listens. */
export type ListeningAddress = Pick<Deno.NetAddr, "hostname" | "port">;

/** A listening server. */
export interface Listening {
  readonly address: ListeningAddress;
  /** Stops accepting at once and resolves when all answers are out. */
  shutdown(): Promise<void>;
}

/** Needs of each kind of server beside the handler. */
export interface ListenOptions extends ListeningAddress {
  /** Whether other threads of this process listen at the same address. */
  readonly isShared: boolean;
  /** Makes the answer to a request that no handler could answer; `error` is a defect. */
  readonly failed: (status: number, error?: unknown) => Reply;
  /** Called when no connection can be accepted. */
  readonly onTrouble: (error: unknown) => void;
}

// The runtime's own server, for platforms that bring their own sockets, and by setting.

/**
 * Listens with `Deno.serve`.
 *
 * @throws when the address cannot be used
 */
function listenRuntime(
  { hostname, port, isShared, failed, onTrouble }: ListenOptions,
  answer: Answer,
): Listening {
  const listenAt = (port: number) =>
    Deno.serve({
      port,
      hostname,
      // The platform's runtime takes no option that is unstable, even if it is off.
      ...(isShared ? { reusePort: true } : {}),
      onListen() {},
      // Handlers answer every error themselves; only broken bodies and bugs arrive here.
      onError: (error) => failed(500, error).toResponse(),
    }, (request, { remoteAddr }) => {
      const answered = answer(request, remoteAddr);
      return answered instanceof Promise ? answered.then(responseOf) : responseOf(answered);
    });
  const first = listenAt(port);
  const address = addressOf(first.addr, { hostname, port });
  const { shutdown } = keepServing(first, {
    // With port 0: the port that the system chose.
    listenAgain: () => listenAt(address.port),
    onTrouble,
  });
  return { address, shutdown };
}

/**
 * A platform may have the runtime listen at a socket of its own in place of the one that was asked
 * for (`DENO_SERVE_ADDRESS`), even one without a host; then the address that was asked for is shown.
 */
function addressOf(address: Deno.Addr, asked: ListeningAddress): ListeningAddress {
  return "hostname" in address ? address : asked;
}

// Recognises the first request of a connection.

/** Connections that are remembered for having brought a request; each entry is a port number. */
const maxSeenConnections = 4_096;

/**
 * Distinguishes the first request of a connection from later ones, by the client's port. It may
 * err: a reused port counts as seen, and when too many are known all are forgotten. Used only as a
 * hint for speed.
 *
 * @example
 * ```ts
 * import { SeenConnections } from "./listen.ts";
 * const connections = new SeenConnections();
 * const client = { transport: "tcp", hostname: "127.0.0.1", port: 50_000 } as const;
 * if (!connections.isFirst(client)) throw new Error("nobody was there");
 * if (connections.isFirst(client)) throw new Error("it was");
 * ```
 */
export class SeenConnections {
  readonly #ports = new Set<number>();

  /** Whether this is the first request from an address and port; later calls return `false`. */
  isFirst({ port }: Deno.NetAddr): boolean {
    if (this.#ports.has(port)) return false;
    if (this.#ports.size >= maxSeenConnections) this.#ports.clear();
    this.#ports.add(port);
    return true;
  }
}

/** A listening server, or the reason why there is none. */
export type ListenResult =
  | { readonly ok: true } & Listening
  /**
   * The address is in use, foreign, unknown or not allowed; `problem` is one line for the operator.
   */
  | { readonly ok: false; readonly problem: string };

/** Port that several threads share. */
export interface SharedPort {
  readonly port: number;
}

/** Listens at the configured address, or at a port that other threads of this process share. */
export function listen(gateway: Gateway, answer: Answer, shared?: SharedPort): ListenResult {
  const { config, log } = gateway;
  const complete = completerOf(gateway);
  const options: ListenOptions = {
    hostname: config.host,
    port: shared?.port ?? config.port,
    isShared: shared !== undefined,
    failed(status, error) {
      if (error !== undefined) log.event("error", "response failed", { ...unforeseen(error) });
      return complete(new Reply(status, [], null));
    },
    onTrouble(error) {
      log.event("error", "connections are refused", {
        error: errorLine(error),
        look_at: "the number of files that the process may open (ulimit -n)",
      });
    },
  };
  try {
    const listening = config.httpServer === "runtime"
      ? listenRuntime(options, answer)
      : listenOwn(gateway, options, answer);
    return { ok: true, ...listening };
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

/** Listens with the gateway's own server. */
function listenOwn(
  { deadlines, clock }: Gateway,
  options: ListenOptions,
  handler: Answer,
): Listening {
  const date = httpDates(clock);
  const server = new HttpServer({ ...options, bounds: serverBounds, deadlines, date, handler });
  return { address: server.address, shutdown: () => server.shutdown() };
}

/**
 * Completes every answer that leaves the server. Endpoints that name the request in a body, a receipt or a log line have
 * added the common headers with its id; all others get them here.
 *
 * A header of all answers whose value is configured is set here, the only place that has both.
 */
function completerOf(
  { clock }: Gateway,
): <Complete extends WithHeaders>(reply: Complete) => Complete {
  return (reply) =>
    reply.headers.has(answerHeaders.requestId)
      ? reply
      : withCommonHeaders(reply, newId("request", clock.nowMs()));
}

/** Answers every request: chat endpoints first, then the whole application. */
export function answerWith(gateway: Gateway, app: ReturnType<typeof createApp>): Answer {
  const { clientAddressHeader } = gateway.config;
  const complete = completerOf(gateway);
  const connections = new SeenConnections();
  return traced(gateway, (request, remoteAddress) => {
    const clientAddress = clientAddressOf(request, remoteAddress, clientAddressHeader);
    // Only for the runtime's server, and only requests with a body count; a list of models before it changes nothing.
    const isFirstOfConnection = request instanceof Request && request.method === "POST" &&
      connections.isFirst(remoteAddress);
    const connection = { clientAddress, isFirstOfConnection };
    const hot = serveHotPath(gateway, request, connection);
    if (hot !== undefined) return hot.then(complete);
    const standard = standardOf(request);
    if (standard === undefined) return complete(new Reply(400, [], null));
    const answered = app.fetch(headAsGet(standard), connection);
    return answered instanceof Promise ? answered.then(complete) : complete(answered);
  });
}

/** Makes spans of requests. The runtime's server makes its own, which have the query of the URL. */
function traced({ config, observer }: Gateway, answer: Answer): Answer {
  const { within } = observer;
  if (within === undefined || config.httpServer === "runtime") return answer;
  return (request, remoteAddress) => {
    const { method, url, headers } = request;
    const path = /^[^:]*:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? "";
    const labels = { method, path, traceparent: headers.get("traceparent") };
    return within(labels, () => answer(request, remoteAddress));
  };
}

/** A `host` header that makes no valid URL would fail wherever the path is read: `undefined` then. */
function standardOf(request: ServedRequest | Request): Request | undefined {
  if (request instanceof ServedRequest) return request.toRequest();
  return URL.canParse(request.url) ? request : undefined;
}
