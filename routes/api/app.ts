/**
 * The paths of the API, and the style of the errors of each. Unknown paths answer 404 before anything asks for a key.
 * Clients of the Gemini style may have their key in the query.
 *
 * - Folder `routes/api/`: the API under `/v1` and `/v1beta`: which path leads to which endpoint.
 * - In: requests with an API key.
 * - Out: answers in the caller's style, the status of the service.
 * - Never: asks for a key before it knows the path (404 comes before 401), or logs a prompt, an answer or a key.
 */
import type { HttpRequest } from "../http/body/http_request.ts";
import { type ErrorStyle, GatewayError } from "../../core/lib/errors/errors.ts";
import { listStyle, modelList, modelObject } from "./models/models.ts";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { Style } from "../../core/wire/contract/contract.ts";
import { type Reply, responseOf } from "../../core/net/http1/server/reply.ts";
import { newId } from "../../core/lib/ids/ids.ts";
import { withCommonHeaders, withRateHeaders } from "../http/own_headers.ts";
import { errorReply, errorResponse } from "../http/error_response.ts";
import { pathOf } from "../http/query.ts";
import { serveChat, serveCompact } from "./chat/chat.ts";
import { serveCountTokens, serveInputTokens } from "./chat/count_tokens.ts";
import {
  serveInputItems,
  serveKeptResponse,
  serveKeptResponseRemoval,
} from "./chat/kept_responses.ts";
import { namedModel, presetModels } from "./chat/preset_request.ts";
import type { Gateway } from "./gateway/gateway.ts";
import {
  geminiCallAt,
  geminiEndpoints,
  serveGeminiModel,
  serveGeminiModels,
} from "./gemini/endpoints.ts";
import { admitRequest, checkVersion, type Incoming, traceFailure } from "./call/incoming.ts";
import { mediaEndpoints } from "./media/media_endpoints.ts";
import { withCostHeaders } from "./call/response_headers.ts";
import { unknownPathMessage } from "./unknown_path.ts";
import { DayOfAvailability, serveStatus } from "./status.ts";

/** The beginning of paths that only this style has. */
const geminiPaths = "/v1beta/";

/** The end of a path of a call, which exists under `/v1`, too. */
const operation = /^\/v1\/models\/.+:(?:generateContent|streamGenerateContent|countTokens)$/;

/** The header that the vendor's library has the key in. */
const keyHeader = "x-goog-api-key";

/** Whether the vendor's library sent a request: it names itself in a header. */
function isGeminiClient(headers: HttpRequest["headers"]): boolean {
  return headers.has("x-goog-api-client") || headers.has(keyHeader);
}

/** Whether a path is one of this style. */
function isGeminiPath(path: string): boolean {
  return path.startsWith(geminiPaths) || operation.test(path);
}

const queryKey = "key";

/**
 * Returns the request with the key in a header and not in its URL, which error reports of a runtime may show. Beside a
 * key that the header has already, it is a second value of it. Any other request is returned as it is.
 */
function withQueryKey(request: HttpRequest, path: string): HttpRequest {
  if (!request.url.includes(`${queryKey}=`) || !isGeminiPath(path)) return request;
  const url = new URL(request.url);
  const keys = url.searchParams.getAll(queryKey);
  if (keys.length === 0) return request;
  url.searchParams.delete(queryKey);
  const { headers } = request;
  const inHeader = headers.get(keyHeader);
  const values = (inHeader === null ? keys : [inHeader, ...keys]).join(", ");
  return {
    method: request.method,
    url: url.href,
    headers: {
      get: (name) => name === keyHeader ? values : headers.get(name),
      has: (name) => name === keyHeader || headers.has(name),
    },
    get body() {
      return request.body;
    },
    get signal() {
      return request.signal;
    },
    bytes: () => request.bytes(),
  };
}

/**
 * Returns the style of errors for a path: Messages and Gemini for their endpoints, and for models if the list would have that
 * style.
 */
function errorStyleOf(pathname: string, headers: HttpRequest["headers"]): ErrorStyle {
  if (isGeminiPath(pathname)) return "gemini";
  if (pathname === "/v1/messages" || pathname.startsWith("/v1/messages/")) return "messages";
  const isModels = pathname === "/v1/models" || pathname.startsWith("/v1/models/");
  if (!isModels) return "chat";
  return isGeminiClient(headers) ? "gemini" : listStyle(headers);
}

/** Seconds for which a browser may cache a preflight answer: the longest that any browser accepts. */
const preflightSeconds = 86_400;

/** Facts of a connection that the server knows. */
type Connection = Pick<Incoming, "clientAddress" | "isFirstOfConnection">;

/** The connection, as Hono passes it; empty if the app is called without a socket. */
export type ConnectionBindings = Partial<Connection>;

type Serve = (gateway: Gateway, incoming: Incoming, context: Context) => Promise<Reply | Response>;

interface Endpoint {
  readonly path: string;
  /** Of a path that ends with `*`: what follows the id. A `*` in the midst would change Hono's router, which decodes. */
  readonly below?: string;
  readonly method: "GET" | "POST" | "DELETE";
  readonly serve: Serve;
}

const chat = (style: Style): Serve => (gateway, incoming) => serveChat(gateway, style, incoming);

async function serveModelList(gateway: Gateway, incoming: Incoming): Promise<Response> {
  if (isGeminiClient(incoming.request.headers)) return await serveGeminiModels(gateway, incoming);
  const { principal, principal: { allowedModels } } = await admitRequest(gateway, incoming);
  const { headers, url } = incoming.request;
  checkVersion(headers);
  const { models, listRate, providers } = gateway.catalog.current;
  const allowed = models.filter(({ id }) => allowedModels?.has(id) !== false);
  const presets = await presetModels(gateway, principal);
  const { searchParams } = new URL(url);
  return Response.json(
    modelList({ models: allowed, listRate, providers }, presets, listStyle(headers), searchParams),
  );
}

async function serveModel(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<Response> {
  if (isGeminiClient(incoming.request.headers)) {
    return await serveGeminiModel(gateway, incoming, context);
  }
  const { principal } = await admitRequest(gateway, incoming);
  checkVersion(incoming.request.headers);
  const named = await namedModel(gateway, principal, context.req.param("id") ?? "");
  if (named === undefined) throw new GatewayError("model_not_found", "There is no such model");
  const { current } = gateway.catalog;
  return Response.json(modelObject(named, current, listStyle(incoming.request.headers)));
}

/**
 * A path that ends in an id beside fixed names has a `*` in its place: with a parameter there, the router would change to
 * one that is slower and does not match ids with slashes, on all paths of the gateway.
 */
const endpoints: readonly Endpoint[] = [
  { method: "POST", path: "/v1/messages", serve: chat("messages") },
  { method: "POST", path: "/v1/chat/completions", serve: chat("chat") },
  { method: "POST", path: "/v1/responses", serve: chat("responses") },
  { method: "POST", path: "/v1/messages/count_tokens", serve: serveCountTokens },
  { method: "POST", path: "/v1/responses/input_tokens", serve: serveInputTokens },
  { method: "POST", path: "/v1/responses/compact", serve: serveCompact },
  { method: "GET", path: "/v1/responses/*", serve: serveKeptResponse },
  { method: "DELETE", path: "/v1/responses/*", serve: serveKeptResponseRemoval },
  { method: "GET", path: "/v1/responses/*", below: "input_items", serve: serveInputItems },
  { method: "GET", path: "/v1/models", serve: serveModelList },
  { method: "GET", path: "/v1/models/:id{.+}", serve: serveModel },
  ...mediaEndpoints,
  ...geminiEndpoints,
];

const servedPaths = [...new Set(endpoints.map(({ path }) => path))]
  .filter((path) => !/[:*]/.test(path) && !path.startsWith(geminiPaths));

/** Whether a path is one of an endpoint; a `*` stands for one segment that has no path of its own. */
function isOf(endpoint: Pick<Endpoint, "path" | "below">, path: string): boolean {
  if (!endpoint.path.endsWith("*")) return true;
  const end = endpoint.below === undefined ? "" : `/${endpoint.below}`;
  if (!path.endsWith(end)) return false;
  const id = path.slice(endpoint.path.length - 1, path.length - end.length);
  return id !== "" && !id.includes("/") && !servedPaths.includes(path);
}

/** The served path of a request: what follows it is text of the caller. */
function servedPathOf(path: string): string | undefined {
  return path.startsWith(geminiPaths)
    ? `${geminiPaths}models`
    : servedPaths.find((served) => path === served || path.startsWith(`${served}/`));
}

/** Runs an endpoint; an error that it throws becomes an answer in the style of the path. */
async function respond(
  gateway: Gateway,
  request: HttpRequest,
  connection: Connection,
  path: string,
  serve: (incoming: Incoming) => Promise<Reply | Response>,
): Promise<Reply | Response> {
  const requestId = newId("request", gateway.clock.nowMs());
  const incoming: Incoming = { request, requestId, ...connection };
  try {
    const served = withCommonHeaders(await serve(incoming), requestId);
    const response = withCostHeaders(served, incoming.chosen);
    const answer = incoming.keyedCall === undefined
      ? response
      : await incoming.keyedCall.answered(responseOf(response));
    // After the copy for repeats is made: what was left then is not left now.
    return rated(gateway, incoming, answer, path);
  } catch (error) {
    await incoming.keyedCall?.failed();
    const style = errorStyleOf(path, request.headers);
    traceFailure(gateway, incoming, { endpoint: servedPathOf(path), style }, error);
    const response = errorReply(error, style, requestId);
    return rated(gateway, incoming, withCostHeaders(response, incoming.chosen), path);
  } finally {
    incoming.bufferedBody?.release();
    incoming.answer?.release();
  }
}

/** Adds the headers of rate limits, where any bind the call. */
function rated(
  { clock }: Gateway,
  { rateFigures, request }: Incoming,
  answer: Reply | Response,
  path: string,
): Reply | Response {
  if (rateFigures === undefined) return answer;
  const style = errorStyleOf(path, request.headers);
  return withRateHeaders(answer, rateFigures, style, clock.nowMs());
}

const chatPaths: ReadonlyMap<string, Style> = new Map([
  ["/v1/messages", "messages"],
  ["/v1/chat/completions", "chat"],
  ["/v1/responses", "responses"],
]);

/** The beginning of a path whose client has the version in its base address and adds it once more. */
const doubledVersion = "/v1/v1/";

/** Returns the path of the endpoint that is meant. */
function meantPath(path: string): string {
  return path.startsWith(doubledVersion) ? path.slice("/v1".length) : path;
}

/** Whether a page in a browser sent the request: only browsers send the page's origin. */
function comesFromPage(request: Pick<HttpRequest, "headers">): boolean {
  return request.headers.has("origin");
}

/**
 * Serves the chat endpoints, which have nearly all the traffic, without Hono's router and middleware. `undefined` for
 * any other request, which the app serves.
 */
export function serveHotPath(
  gateway: Gateway,
  request: HttpRequest,
  connection: Connection,
): Promise<Reply | Response> | undefined {
  if (request.method !== "POST") return undefined;
  const path = meantPath(pathOf(request.url));
  const style = chatPaths.get(path);
  const call = style === undefined ? geminiCallAt(path, request.url) : undefined;
  if ((style === undefined && call === undefined) || comesFromPage(request)) return undefined;
  return respond(
    gateway,
    call === undefined ? request : withQueryKey(request, path),
    connection,
    path,
    (incoming) => serveChat(gateway, style ?? "gemini", incoming, call),
  );
}

/**
 * Lets pages of other origins call the API, as vendors do. The API reads no cookies, so a page can only use a key
 * that it was given.
 */
const forOtherOrigins = cors({
  allowMethods: ["GET", "POST", "DELETE"],
  exposeHeaders: ["*"],
  maxAge: preflightSeconds,
});

/** Builds the API. */
export function createApi(gateway: Gateway): Hono<{ Bindings: ConnectionBindings }> {
  const app = new Hono<{ Bindings: ConnectionBindings }>({ getPath: ({ url }) => pathOf(url) });

  const handle = (serve: Serve) => async (context: Context) => {
    const connection = { clientAddress: "127.0.0.1", isFirstOfConnection: false, ...context.env };
    const { raw, path } = context.req;
    return responseOf(
      await respond(
        gateway,
        withQueryKey(raw, path),
        connection,
        path,
        (incoming) => serve(gateway, incoming, context),
      ),
    );
  };

  for (const paths of ["/v1/*", `${geminiPaths}*`]) {
    app.use(
      paths,
      (context, next) => comesFromPage(context.req.raw) ? forOtherOrigins(context, next) : next(),
    );
    // Also for paths outside this folder: usage, the status page's data, unknown paths.
    app.use(paths, async (context, next) => {
      await next();
      withCostHeaders(context.res, undefined);
    });
  }

  const day = new DayOfAvailability(gateway);
  app.get("/v1/status", () => serveStatus(gateway, day));

  for (const endpoint of endpoints) {
    const served = handle(endpoint.serve);
    app.on(
      endpoint.method,
      endpoint.path,
      (context, next) => isOf(endpoint, context.req.path) ? served(context) : next(),
    );
  }
  app.all(`${doubledVersion}*`, (context, next) => {
    const { raw, path } = context.req;
    if (servedPathOf(meantPath(path)) === undefined) return next();
    const url = raw.url.replace(doubledVersion, "/v1/");
    return app.fetch(new Request(url, raw), context.env);
  });
  const served: readonly Omit<Endpoint, "serve">[] = [
    { method: "GET", path: "/v1/status" },
    ...endpoints,
  ];
  for (const path of new Set(served.map((endpoint) => endpoint.path))) {
    app.all(path, (context, next) => {
      const allowed = served
        .filter((endpoint) => endpoint.path === path && isOf(endpoint, context.req.path))
        .map(({ method }) => method);
      if (allowed.length === 0) return next();
      const wantsSocket = context.req.header("upgrade")?.toLowerCase() === "websocket";
      const use = allowed.join(" or ");
      const error = wantsSocket
        ? new GatewayError("websocket_unsupported", `There are no WebSockets here; use ${use}`)
        : new GatewayError("method_not_allowed", `Use ${use} on this path`);
      const response = errorResponse(
        error,
        errorStyleOf(context.req.path, context.req.raw.headers),
        newId("request", gateway.clock.nowMs()),
      );
      if (wantsSocket) response.headers.set("upgrade", "HTTP/1.1");
      else response.headers.set("allow", allowed.join(", "));
      return response;
    });
  }
  return app;
}

/** Answers a request for a path that is not served. */
export async function notFound(gateway: Gateway, request: Request): Promise<Response> {
  await request.body?.cancel();
  const requestId = newId("request", gateway.clock.nowMs());
  const path = pathOf(request.url);
  const error = new GatewayError("not_found", unknownPathMessage(path, servedPaths));
  return errorResponse(error, unknownPathStyle(path, request.headers), requestId);
}

/** The style of the 404: that of the path as it was sent, then that of the client. */
function unknownPathStyle(path: string, headers: HttpRequest["headers"]): ErrorStyle {
  if (path.startsWith(geminiPaths)) return "gemini";
  if (path.includes("/messages")) return "messages";
  return isGeminiClient(headers) ? "gemini" : listStyle(headers);
}
