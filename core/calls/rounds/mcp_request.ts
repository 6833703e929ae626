/**
 * Reads the MCP servers of a request: `type: "mcp"` tools of the Responses style, `mcp_servers` and `mcp_toolset` of the
 * Messages style. In the history, calls of their tools become calls of functions, which any model reads.
 */
import { defined } from "../../lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { parseRemoteUrl } from "../../net/remote/remote_url.ts";
import {
  invalid,
  oneOf,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  requiredObject,
  requiredString,
} from "../../wire/fields/fields.ts";
import { type McpAddress, type McpTool, readTool } from "./mcp_session.ts";

/** Styles whose requests can name MCP servers. */
export type McpStyle = "messages" | "responses";

/** Servers of one request: each is asked for its tools before the model. */
const maxServers = 8;
/** Characters of the name of a server, with which names of functions may begin. */
const maxLabelChars = 64;
/** Headers for one server. */
const maxHeaders = 32;
/** Characters of one header: tokens have some thousand. */
const maxHeaderChars = 8_192;

/** A server of a request, and which of its tools the model may call. */
export interface McpServer extends McpAddress {
  readonly label: string;
  /** Path of its entry. */
  readonly path: string;
  /** Path of its address. */
  readonly urlPath: string;
  readonly host: string;
  readonly description?: string;
  /** Its tools, where the request repeats them of an earlier answer. */
  readonly listed?: readonly McpTool[];
  readonly allows: (tool: McpTool) => boolean;
  /** Whether the client must agree to a call before it runs. */
  readonly needsApproval: (tool: McpTool) => boolean;
}

/** Call to which the client has agreed, and that has not run yet. */
export interface ApprovedCall {
  readonly requestId: string;
  readonly label: string;
  readonly name: string;
  readonly arguments: string;
}

/** MCP part of a request. */
export interface AskedMcp {
  readonly style: McpStyle;
  readonly servers: readonly McpServer[];
  readonly approved: readonly ApprovedCall[];
  /** The client's bound on calls; absent: none. */
  readonly maxCalls?: number;
  /** Paths of options that are not carried. */
  readonly others: readonly string[];
  /** Names of the client's own functions. */
  readonly taken: ReadonlySet<string>;
}

/**
 * Reads the servers of a request.
 *
 * @throws {GatewayError} `invalid_request` naming the field
 *
 * @example
 * ```ts
 * import { readAskedMcp } from "./mcp_request.ts";
 * const tool = { type: "mcp", server_label: "docs", server_url: "https://docs.example.com/mcp", require_approval: "never" };
 * const { servers: [server] } = readAskedMcp("responses", { model: "m", input: "Hi", tools: [tool] });
 * if (server?.host !== "docs.example.com" || server.needsApproval({ name: "search", schema: {} })) throw new Error("wrong");
 * ```
 */
export function readAskedMcp(style: McpStyle, body: JsonObject): AskedMcp {
  const { servers, ...asked } = style === "responses" ? readResponses(body) : readMessages(body);
  if (servers.length > maxServers) {
    invalid(servers[maxServers]!.path, `there may be at most ${maxServers} MCP servers`);
  }
  for (const [i, { label, path }] of servers.entries()) {
    if (servers.findIndex((other) => other.label === label) !== i) {
      invalid(path, "another MCP server has this name");
    }
  }
  return { ...asked, servers, taken: functionNames(body) };
}

/** Names of the functions of a request, also of those in groups. */
function functionNames({ tools }: JsonObject): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (tool: Json, group: string) => {
    if (!isJsonObject(tool)) return;
    const name = textOf(tool["name"]);
    if (Array.isArray(tool["tools"])) {
      for (const inner of tool["tools"]) {
        add(inner, `${name}__`);
      }
    } else if (name !== "") names.add(group + name);
  };
  if (Array.isArray(tools)) { for (const tool of tools) add(tool, ""); }
  return names;
}

function readUrl(url: string, path: string): Pick<McpServer, "url" | "urlPath" | "host"> {
  const read = parseRemoteUrl(url);
  if (typeof read === "string") invalid(path, read);
  // The client's token would be readable on its way.
  if (read.protocol !== "https:") invalid(path, "must begin with https://");
  read.hash = "";
  return { url: read.href, urlPath: path, host: read.hostname };
}

function readLabel(holder: JsonObject, name: string, path: string): string {
  const label = requiredString(holder, name, `${path}.${name}`);
  if (label === "" || label.length > maxLabelChars) {
    invalid(`${path}.${name}`, `must have 1 to ${maxLabelChars} characters`);
  }
  return label;
}

/** Names of headers that the transport and the protocol set. */
const ownHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|accept.*|expect|te|trailer|upgrade|keep-alive|proxy-.*|mcp-.*|user-agent)$/;
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

function checkedHeader(name: string, value: Json | undefined, path: string): [string, string] {
  const lower = name.toLowerCase();
  if (!headerName.test(lower) || ownHeaders.test(lower)) {
    invalid(path, "has a header that cannot be sent");
  }
  if (typeof value !== "string" || value.length > maxHeaderChars || !headerValue.test(value)) {
    invalid(path, "has a header whose value cannot be sent");
  }
  return [lower, value];
}

function readHeaders(
  token: string | undefined,
  tokenPath: string,
  headers: JsonObject | undefined,
  path: string,
): [string, string][] {
  const entries = Object.entries(headers ?? {});
  if (entries.length > maxHeaders) invalid(path, `may have at most ${maxHeaders} headers`);
  const read = entries.map(([name, value]) => checkedHeader(name, value, path));
  if (token === undefined) return read;
  if (read.some(([name]) => name === "authorization")) {
    invalid(path, "must not have authorization beside the field of this name");
  }
  return [...read, checkedHeader("authorization", `Bearer ${token}`, tokenPath)];
}

// The Responses style.

function readResponses(body: JsonObject): Omit<AskedMcp, "taken"> {
  const others: string[] = [];
  const tools = optionalList(body, "tools", "tools") ?? [];
  const items = itemsOf(body);
  const servers = tools.flatMap((tool, i): McpServer[] =>
    isJsonObject(tool) && tool["type"] === "mcp"
      ? [readTools(tool, `tools.${i}`, items, others)]
      : []
  );
  const maxCalls = body["max_tool_calls"];
  return {
    style: "responses",
    servers,
    approved: approvedCalls(items),
    ...(typeof maxCalls === "number" && { maxCalls }),
    others,
  };
}

function itemsOf({ input }: JsonObject): readonly JsonObject[] {
  return Array.isArray(input) ? input.map((item) => isJsonObject(item) ? item : {}) : [];
}

function readTools(
  tool: JsonObject,
  path: string,
  items: readonly JsonObject[],
  others: string[],
): McpServer {
  for (const foreign of ["connector_id", "tunnel_id"]) {
    if (tool[foreign] !== undefined && tool[foreign] !== null) {
      invalid(`${path}.${foreign}`, "is known only to its own provider; use server_url");
    }
  }
  if (tool["defer_loading"] === true) others.push(`${path}.defer_loading`);
  const label = readLabel(tool, "server_label", path);
  const description = optionalString(tool, "server_description", `${path}.server_description`);
  const token = optionalString(tool, "authorization", `${path}.authorization`);
  const headers = optionalObject(tool, "headers", `${path}.headers`);
  const allowed = tool["allowed_tools"];
  const allows = Array.isArray(allowed)
    ? readFilter({ tool_names: allowed }, `${path}.allowed_tools`)
    : allowed === undefined || allowed === null
    ? () => true
    : readFilter(allowed, `${path}.allowed_tools`);
  const listing = items.findLast((item) =>
    item["type"] === "mcp_list_tools" && item["server_label"] === label
  );
  return {
    label,
    path,
    ...readUrl(requiredString(tool, "server_url", `${path}.server_url`), `${path}.server_url`),
    headers: readHeaders(token, `${path}.authorization`, headers, `${path}.headers`),
    ...defined({ description, listed: listing && listedTools(listing["tools"]) }),
    allows,
    needsApproval: readApproval(tool["require_approval"], `${path}.require_approval`),
  };
}

type ToolFilter = (tool: McpTool) => boolean;

function readFilter(value: Json, path: string): ToolFilter {
  const filter = requiredObject(value, path);
  const names = optionalList(filter, "tool_names", `${path}.tool_names`);
  const isReadOnly = optionalBoolean(filter, "read_only", `${path}.read_only`);
  return ({ name, annotations }) =>
    names?.includes(name) !== false &&
    (isReadOnly === undefined || (annotations?.["readOnlyHint"] === true) === isReadOnly);
}

/** By default every call waits for the client, also of a tool that neither list names. */
function readApproval(value: Json | undefined, path: string): ToolFilter {
  if (value === undefined || value === null) return () => true;
  if (typeof value === "string") {
    const isNeeded = oneOf(value, ["always", "never"], path) === "always";
    return () => isNeeded;
  }
  const { always, never } = requiredObject(value, path);
  const needs = always === undefined || always === null
    ? undefined
    : readFilter(always, `${path}.always`);
  const spares = never === undefined || never === null
    ? undefined
    : readFilter(never, `${path}.never`);
  return (tool) => needs?.(tool) === true || spares?.(tool) !== true;
}

/** Reads a repeated listing; `undefined` for none, or one that had failed. */
function listedTools(tools: Json | undefined): readonly McpTool[] | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  return tools.flatMap((tool) =>
    isJsonObject(tool) ? readTool({ ...tool, inputSchema: tool["input_schema"] }) : []
  );
}

/** Finds the response of the client to a request of an earlier answer. */
function responseTo(items: readonly JsonObject[], { id }: JsonObject): JsonObject | undefined {
  return items.find((item) =>
    item["type"] === "mcp_approval_response" && item["approval_request_id"] === id
  );
}

function hasRun(items: readonly JsonObject[], { id }: JsonObject): boolean {
  return items.some((item) => item["type"] === "mcp_call" && item["approval_request_id"] === id);
}

function approvedCalls(items: readonly JsonObject[]): ApprovedCall[] {
  items.forEach((item, i) => {
    if (item["type"] !== "mcp_approval_response") return;
    optionalBoolean(item, "approve", `input.${i}.approve`);
    const isKnown = items.some(({ type, id }) =>
      type === "mcp_approval_request" && id === item["approval_request_id"]
    );
    if (!isKnown) {
      invalid(`input.${i}.approval_request_id`, "names no mcp_approval_request of the input");
    }
  });
  return items.flatMap((item): ApprovedCall[] => {
    if (item["type"] !== "mcp_approval_request" || hasRun(items, item)) return [];
    if (responseTo(items, item)?.["approve"] !== true) return [];
    return [{
      requestId: textOf(item["id"]),
      label: textOf(item["server_label"]),
      name: textOf(item["name"]),
      arguments: textOf(item["arguments"]),
    }];
  });
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

// The Messages style.

function readMessages(body: JsonObject): Omit<AskedMcp, "taken"> {
  const others: string[] = [];
  const tools = optionalList(body, "tools", "tools") ?? [];
  const servers = (optionalList(body, "mcp_servers", "mcp_servers") ?? []).map((entry, i) => {
    const path = `mcp_servers.${i}`;
    return readServer(requiredObject(entry, path), path, { tools, body, others });
  });
  tools.forEach((tool, i) => {
    if (!isToolset(tool)) return;
    if (!servers.some(({ label }) => label === tool["mcp_server_name"])) {
      invalid(`tools.${i}.mcp_server_name`, "names no server of mcp_servers");
    }
  });
  return { style: "messages", servers, approved: [], others };
}

function isToolset(tool: Json | undefined): tool is JsonObject {
  return isJsonObject(tool) && tool["type"] === "mcp_toolset";
}

function readServer(
  server: JsonObject,
  path: string,
  { tools, body, others }: {
    readonly tools: readonly Json[];
    readonly body: JsonObject;
    readonly others: string[];
  },
): McpServer {
  const type = optionalString(server, "type", `${path}.type`) ?? "url";
  oneOf(type, ["url"], `${path}.type`);
  const label = readLabel(server, "name", path);
  const at = tools.findIndex((tool) => isToolset(tool) && tool["mcp_server_name"] === label);
  const toolset = at === -1 ? {} : requiredObject(tools[at], `tools.${at}`);
  const { enabled, allowed_tools: names } =
    optionalObject(server, "tool_configuration", `${path}.tool_configuration`) ?? {};
  const preset = optionalObject(toolset, "default_config", `tools.${at}.default_config`) ?? {};
  const configs = optionalObject(toolset, "configs", `tools.${at}.configs`) ?? {};
  if (preset["defer_loading"] === true) others.push(`tools.${at}.default_config.defer_loading`);
  const token = optionalString(server, "authorization_token", `${path}.authorization_token`);
  const listed = listedTools(toolset["tools"]) ?? listedBefore(body, label);
  return {
    label,
    path: at === -1 ? path : `tools.${at}`,
    ...readUrl(requiredString(server, "url", `${path}.url`), `${path}.url`),
    headers: readHeaders(token, `${path}.authorization_token`, undefined, path),
    ...defined({ listed }),
    allows: ({ name }) => {
      if (enabled === false || (Array.isArray(names) && !names.includes(name))) return false;
      const config = configs[name];
      const own = isJsonObject(config) ? config["enabled"] : undefined;
      return (own ?? preset["enabled"]) !== false;
    },
    needsApproval: () => false,
  };
}

/** The listing that an answer of the conversation repeats. */
function listedBefore({ messages }: JsonObject, label: string): readonly McpTool[] | undefined {
  const listing = (Array.isArray(messages) ? messages : [])
    .flatMap((message) => isJsonObject(message) ? contentOf(message) : [])
    .findLast((block) =>
      isJsonObject(block) && block["type"] === "mcp_tool_listing" &&
      block["mcp_server_name"] === label
    );
  return isJsonObject(listing) ? listedTools(listing["tools"]) : undefined;
}

function contentOf({ content }: JsonObject): readonly Json[] {
  return Array.isArray(content) ? content : [];
}

// The history, and the choice of a tool.

/** Names and results of calls, as a request is rewritten. */
export interface McpCalls {
  /** Name of the function for a tool of a server. */
  readonly nameOf: (label: string, tool: string) => string;
  /** Names of the functions of a server. */
  readonly namesOf: (label: string) => readonly string[];
  /** Result of a call to which the client has agreed. */
  readonly resultOf: (requestId: string) => string | undefined;
}

/** Rewrites a request without its servers: calls of their tools become calls of functions, with their results. */
export function withoutMcp(style: McpStyle, body: JsonObject, calls: McpCalls): JsonObject {
  if (style === "messages") {
    const { mcp_servers: _, messages, ...rest } = body;
    return {
      ...rest,
      ...defined({
        messages: Array.isArray(messages)
          ? messages.flatMap((message) => splitMessage(message, calls))
          : messages,
      }),
    };
  }
  const { max_tool_calls: _, input, tool_choice: choice, ...rest } = body;
  const items = itemsOf(body);
  return {
    ...rest,
    ...defined({
      input: Array.isArray(input)
        ? input.flatMap((item) => isJsonObject(item) ? itemAsCall(item, items, calls) : [item])
        : input,
      tool_choice: isJsonObject(choice) ? choiceOf(choice, calls) : choice,
    }),
  };
}

function itemAsCall(item: JsonObject, items: readonly JsonObject[], calls: McpCalls): Json[] {
  const pair = (output: string): Json[] => {
    const call_id = textOf(item["id"]);
    const name = calls.nameOf(textOf(item["server_label"]), textOf(item["name"]));
    return [
      { type: "function_call", call_id, name, arguments: textOf(item["arguments"]) },
      { type: "function_call_output", call_id, output },
    ];
  };
  switch (item["type"]) {
    case "mcp_list_tools":
    case "mcp_approval_response":
      return [];
    case "mcp_call":
      return pair(outputOf(item));
    case "mcp_approval_request": {
      if (hasRun(items, item)) return [];
      const response = responseTo(items, item);
      if (response?.["approve"] === true) {
        return pair(calls.resultOf(textOf(item["id"])) ?? "The call has not run.");
      }
      const reason = textOf(response?.["reason"]);
      const denied = response === undefined
        ? "The user has not agreed to this call: it has not run."
        : "The user does not allow this call: it has not run.";
      return pair(reason === "" ? denied : `${denied} ${reason}`);
    }
    default:
      return [item];
  }
}

function outputOf({ output, error }: JsonObject): string {
  if (typeof output === "string") return output;
  if (error === undefined || error === null) return "";
  return typeof error === "string" ? error : stringifyExactly(error);
}

/** A choice of a tool as one of its function; one of a server as one of all its functions. */
function choiceOf(choice: JsonObject, calls: McpCalls): Json {
  const functionsOf = ({ server_label: label, name }: JsonObject) =>
    (typeof name === "string" ? [calls.nameOf(textOf(label), name)] : calls.namesOf(textOf(label)))
      .map((named): JsonObject => ({ type: "function", name: named }));
  const { type, tools } = choice;
  if (type === "allowed_tools" && Array.isArray(tools)) {
    return {
      ...choice,
      tools: tools.flatMap((tool) =>
        isJsonObject(tool) && tool["type"] === "mcp" ? functionsOf(tool) : [tool]
      ),
    };
  }
  if (type !== "mcp") return choice;
  const functions = functionsOf(choice);
  return typeof choice["name"] === "string"
    ? functions[0]!
    : { type: "allowed_tools", mode: "required", tools: functions };
}

/**
 * Splits a message of the assistant after each group of results: those of functions come from the user. A call
 * whose answer was cut before its result gets the result that it has not run.
 */
function splitMessage(message: Json, calls: McpCalls): Json[] {
  if (!isJsonObject(message) || !contentOf(message).some(isMcpBlock)) return [message];
  const turns: Json[] = [];
  let said: Json[] = [];
  let results: Json[] = [];
  const open = new Set<string>();
  const flush = () => {
    for (const id of open) {
      results.push({ type: "tool_result", tool_use_id: id, content: "The call has not run." });
    }
    open.clear();
    if (said.length > 0) turns.push({ ...message, content: said });
    if (results.length > 0) turns.push({ role: "user", content: results });
    said = [];
    results = [];
  };
  for (const block of contentOf(message)) {
    const { type, ...rest } = isJsonObject(block) ? block : {};
    if (type === "mcp_tool_listing") continue;
    if (type === "mcp_tool_result") {
      if (open.delete(textOf(rest["tool_use_id"]))) results.push({ type: "tool_result", ...rest });
      continue;
    }
    if (results.length > 0) flush();
    if (type !== "mcp_tool_use") {
      said.push(block);
      continue;
    }
    const { server_name: label, name, ...use } = rest;
    open.add(textOf(use["id"]));
    said.push({ type: "tool_use", ...use, name: calls.nameOf(textOf(label), textOf(name)) });
  }
  flush();
  return turns;
}

function isMcpBlock(block: Json): boolean {
  return isJsonObject(block) && /^mcp_tool_/.test(textOf(block["type"]));
}
