/**
 * `/mcp`: the account of a key as tools of the Model Context Protocol, for agents: models, prices, usage, receipts,
 * balance. Each tool is an operation of the customer API that only reads, called with the key of the request: it can do
 * what the key can do there, in the same words. https://modelcontextprotocol.io/specification/2025-06-18
 *
 * There are no sessions: each request is answered by itself, and none changes anything.
 */
import { Hono } from "hono";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { programVersion } from "../../core/lib/base/program_version.ts";
import { newId } from "../../core/lib/ids/ids.ts";
import { parseWithinDepth } from "../../core/lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import type { ConnectionBindings } from "../api/app.ts";
import type { Gateway } from "../api/gateway/gateway.ts";
import { authenticate, keyHeaders } from "../http/authenticate.ts";
import { readRequestBody } from "../http/body/request_body.ts";
import { errorResponse } from "../http/error_response.ts";
import { hasManagementKey } from "../http/management_key.ts";
import { withCommonHeaders } from "../http/own_headers.ts";
import { accountOperations, modelOperations } from "./account_operations.ts";
import { type ExampleModels, exampleModels } from "./example_models.ts";
import type { Operation, Parameter } from "./operation.ts";

/** Versions of the protocol whose messages these are, the newest first. */
const protocolVersions = ["2025-11-25", "2025-06-18"] as const;

/** Bytes of a message: names of filters and no more. */
const maxMessageBytes = 64 * 1024;

/** Characters of an argument: longer than any id, name or cursor of the API. */
const maxArgumentChars = 1_000;

/** Codes of JSON-RPC 2.0. */
const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
} as const;

/** A message that cannot be answered, with its code of JSON-RPC. */
class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(code: keyof typeof rpcCodes, message: string) {
    super(message);
    this.code = rpcCodes[code];
  }
}

/** An answer of the API. */
interface ApiAnswer {
  readonly ok: boolean;
  readonly text: string;
}

/** Sends a request to the API as the caller. */
type Read = (pathAndQuery: string) => Promise<ApiAnswer>;

const jsonType = "application/json";

/** Lists the operations that are tools: those that read, and that answer in JSON. */
function toolOperations(models: ExampleModels): readonly Operation[] {
  return [...modelOperations(models), ...accountOperations()].filter(({ method, answers }) =>
    method === "get" && answers.some(({ content }) => jsonType in content)
  );
}

/** Whether an operation has another form with this parameter: tools have JSON alone. */
function isForm({ name }: Parameter, { answers }: Operation): boolean {
  const hasFiles = answers.some(({ content }) => Object.keys(content).length > 1);
  return hasFiles && (name === "format" || name === "language");
}

function argumentsOf(operation: Operation): readonly Parameter[] {
  return (operation.parameters ?? []).filter((parameter) =>
    parameter.in !== "header" && !isForm(parameter, operation)
  );
}

/** Describes an operation as a tool. */
function toolOf(operation: Operation): JsonObject {
  const { id, summary, description } = operation;
  const parameters = argumentsOf(operation);
  const needed = parameters.filter((one) => one.in === "path" || one.required === true);
  return {
    name: id,
    title: summary,
    description,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(
        parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
      ),
      required: needed.map(({ name }) => name),
      additionalProperties: false,
    },
    annotations: { title: summary, readOnlyHint: true, openWorldHint: false },
  };
}

/** Reads an argument as the path or the query has it. */
function argumentText(name: string, value: Json): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  if (text === undefined || text.length > maxArgumentChars) {
    throw new RpcError(
      "invalidParams",
      `${name}: must be a text or a number of at most ${maxArgumentChars} characters`,
    );
  }
  return text;
}

/** Writes an argument as a segment of a path. Those of dots would lead to another path. */
function segmentOf(name: string, text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new RpcError("invalidParams", `${name}: is no id`);
  return encodeURIComponent(text);
}

/** Writes the request of a tool's operation. */
function pathAndQuery(operation: Operation, given: JsonObject): string {
  const parameters = argumentsOf(operation);
  const unknown = Object.keys(given).find((name) => !parameters.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new RpcError(
      "invalidParams",
      `${operation.id} has no argument ${JSON.stringify(unknown)}`,
    );
  }
  const query = new URLSearchParams();
  let { path } = operation;
  for (const { name, in: place, required } of parameters) {
    const value = given[name];
    if (value === undefined || value === null) {
      if (place !== "path" && required !== true) continue;
      throw new RpcError("invalidParams", `${name}: is missing`);
    }
    const text = argumentText(name, value);
    if (place === "query") query.set(name, text);
    else path = path.replace(`{${name}}`, segmentOf(name, text));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

async function callTool(tools: readonly Operation[], params: JsonObject, read: Read) {
  const { name, arguments: given = {} } = params;
  const operation = tools.find(({ id }) => id === name);
  if (operation === undefined) {
    throw new RpcError("invalidParams", `There is no tool ${JSON.stringify(name ?? null)}`);
  }
  if (!isJsonObject(given)) throw new RpcError("invalidParams", "arguments: must be an object");
  const { ok, text } = await read(pathAndQuery(operation, given));
  return { content: [{ type: "text", text }], isError: !ok };
}

/** Greets a client, in the version that it asks for if that is known. */
function initialised(gateway: Gateway, params: JsonObject): JsonObject {
  const { brand } = gateway.config;
  return {
    protocolVersion: protocolVersions.find((one) => one === params["protocolVersion"]) ??
      protocolVersions[0],
    capabilities: { tools: {} },
    serverInfo: { name: "model-gateway", title: brand.name, version: programVersion },
    instructions:
      "Reads the account of the key: models with prices, usage, receipts and the balance, in VND and by days of Vietnam.",
  };
}

/** Answers a request; `undefined`: it is a notification, which has no answer. */
async function answer(
  gateway: Gateway,
  message: Json,
  read: Read,
): Promise<JsonObject | undefined> {
  const id = isJsonObject(message) ? message["id"] : undefined;
  const idOrNull = typeof id === "string" || typeof id === "number" ? id : null;
  try {
    if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
      throw new RpcError("invalidRequest", "The body is not one message of JSON-RPC 2.0");
    }
    const { method, params = {} } = message;
    // Answers of a client, too: this server asks for nothing.
    if (id === undefined || method === undefined) return undefined;
    if (!isJsonObject(params)) throw new RpcError("invalidParams", "params: must be an object");
    const result = await resultOf(gateway, method, params, read);
    return { jsonrpc: "2.0", id: idOrNull, result };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { code, message } = error;
    return { jsonrpc: "2.0", id: idOrNull, error: { code, message } };
  }
}

async function resultOf(
  gateway: Gateway,
  method: Json,
  params: JsonObject,
  read: Read,
): Promise<JsonObject> {
  switch (method) {
    case "initialize":
      return initialised(gateway, params);
    case "ping":
      return {};
    case "tools/list":
      return { tools: toolOperations(exampleModels(gateway.catalog.current)).map(toolOf) };
    case "tools/call":
      return await callTool(toolOperations(exampleModels(gateway.catalog.current)), params, read);
    default:
      throw new RpcError("unknownMethod", `There is no method ${JSON.stringify(method)} here`);
  }
}

function messageOf(bytes: Uint8Array): Json | RpcError {
  try {
    return parseWithinDepth(new TextDecoder("utf-8", { fatal: true }).decode(bytes), 0);
  } catch {
    return new RpcError("parse", "The body is not JSON, or is nested too deeply");
  }
}

/** Serves a message. */
async function serveMessage(
  gateway: Gateway,
  request: Request,
  clientAddress: string,
  read: Read,
): Promise<Response> {
  const version = request.headers.get("mcp-protocol-version");
  // Older clients send the version of a transport that they share with this one.
  const known: readonly string[] = [...protocolVersions, "2025-03-26"];
  if (version !== null && !known.includes(version)) {
    throw new GatewayError(
      "invalid_request",
      `mcp-protocol-version: this server speaks ${protocolVersions.join(" and ")}`,
    );
  }
  // The API says of a management key what it may read; whether it exists, with the first reading.
  if (!hasManagementKey(request.headers)) {
    await authenticate(request.headers, gateway.directory, clientAddress);
  }
  const bytes = await readRequestBody(request, gateway.deadlines, { maxBytes: maxMessageBytes });
  const message = messageOf(bytes);
  if (message instanceof RpcError) {
    const { code, message: text } = message;
    return Response.json({ jsonrpc: "2.0", id: null, error: { code, message: text } }, {
      status: 400,
    });
  }
  const answered = await answer(gateway, message, read);
  return answered === undefined ? new Response(null, { status: 202 }) : Response.json(answered);
}

/** The headers of a request that say whose it is. */
function keyHeadersOf(headers: Headers): Headers {
  const own = new Headers();
  for (const name of ["authorization", ...keyHeaders]) {
    const value = headers.get(name);
    if (value !== null) own.set(name, value);
  }
  return own;
}

/**
 * Builds the route.
 *
 * @param dispatch sends a request to the API
 */
export function createMcp(
  gateway: Gateway,
  dispatch: (request: Request, bindings: ConnectionBindings) => Response | Promise<Response>,
): Hono<{ Bindings: ConnectionBindings }> {
  const app = new Hono<{ Bindings: ConnectionBindings }>();
  app.all("/mcp", async (context) => {
    const requestId = newId("request", gateway.clock.nowMs());
    const { raw } = context.req;
    try {
      if (raw.method !== "POST") {
        throw new GatewayError(
          "method_not_allowed",
          "Use POST on this path: there are no sessions and no streams",
        );
      }
      const read: Read = async (pathAndQuery) => {
        const url = new URL(pathAndQuery, raw.url);
        const headers = keyHeadersOf(raw.headers);
        const response = await dispatch(new Request(url, { headers }), context.env);
        return { ok: response.ok, text: await response.text() };
      };
      const { clientAddress = "127.0.0.1" } = context.env ?? {};
      return withCommonHeaders(await serveMessage(gateway, raw, clientAddress, read), requestId);
    } catch (error) {
      const response = errorResponse(error, "chat", requestId);
      if (raw.method !== "POST") response.headers.set("allow", "POST");
      return response;
    }
  });
  return app;
}
