/** Opens the listening socket and passes each request to the application. */
import { Reply } from "../../../core/net/http1/server/reply.ts";
import { errorLine, unforeseen } from "../../../core/lib/base/error_line.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import type { createApp } from "./app.ts";
import { withCommonHeaders, type WithHeaders } from "../../http/common_headers.ts";
import { headAsGet } from "../../http/head_answers.ts";
import { serveHotPath } from "../../api/app.ts";
import { answerHeaders } from "../../http/own_headers.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { clientAddressOf } from "./client_address.ts";
import { httpDates } from "../http1/http_dates.ts";
import { serverBounds } from "../http1/bounds.ts";
import { HttpServer } from "../http1/http_server.ts";
import { ServedRequest } from "../http1/served_request.ts";
import type { Answer, Listening, ListeningAddress, ListenOptions } from "./listening.ts";
import { listenRuntime } from "./runtime_server.ts";
import { SeenConnections } from "./seen_connections.ts";

/** A listening server, or the reason why there is none. */
export type ListenResult =
  | { readonly ok: true } & Listening
  /**
   * The address is in use, foreign, unknown or not allowed; `problem` is one line for the operator.
   */
  | { readonly ok: false; readonly problem: string };

/** How to listen where several threads share a port. */
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
