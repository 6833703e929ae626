/** Reads the client's options for a hosted tool, in the form of any style. */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { HostedToolRequest, McpRequest, Told, WebSearchRequest } from "../conversation/mod.ts";
import { defined } from "../../lib/base/defined.ts";

/**
 * Reads the request for a hosted tool from an entry of `tools`; `undefined` for kinds that only one vendor has. Options
 * that only that vendor has are listed by path, so that the encoder of another style can name them.
 *
 * @example
 * ```ts
 * import { readHostedToolRequest } from "./hosted_tools.ts";
 * const tool = { type: "web_search_20250305", name: "web_search", max_uses: 3, page_size: 9 };
 * const requested = readHostedToolRequest(tool.type, tool, "tools.0");
 * if (requested?.tool !== "web_search" || requested.maxUses?.value !== 3) throw new Error("not read");
 * if (requested.others[0] !== "tools.0.page_size") throw new Error("not named");
 * ```
 */
export function readHostedToolRequest(
  kind: string,
  tool: JsonObject,
  path: string,
): HostedToolRequest | undefined {
  if (/^web_search(?:_|$)/.test(kind)) return readSearch(tool, path);
  if (kind === "openrouter:web_search") return readRoutedSearch(tool, path);
  if (/^web_fetch_\d/.test(kind)) {
    return { tool: "web_fetch", others: unread(tool, path, new Set()) };
  }
  if (/^code_execution_\d/.test(kind)) {
    return { tool: "code_execution", others: unread(tool, path, new Set(["type", "name"])) };
  }
  if (kind === "code_interpreter") return readInterpreter(tool, path);
  return kind === "mcp" ? readMcp(tool, path) : undefined;
}

/** Members of any style that are read elsewhere, or that say how the vendor loads the tool. */
const common = ["type", "name", "defer_loading", "strict"];

/** Paths of the members that ask for something and are not read. */
function unread(tool: JsonObject, path: string, known: ReadonlySet<string>): string[] {
  return Object.entries(tool)
    .filter(([key, value]) => !known.has(key) && !common.includes(key) && asks(key, value))
    .map(([key]) => `${path}.${key}`);
}

/** Defaults of the vendors, as JSON: an option with this value asks for nothing. */
const defaults: ReadonlyMap<string, string> = new Map([
  ["search_context_size", '"medium"'],
  ["external_web_access", "true"],
  ["allowed_callers", '["direct"]'],
  ["search_content_types", '["text"]'],
  ["return_token_budget", '"default"'],
]);

function asks(key: string, value: Json | undefined): boolean {
  if (value === undefined || value === null) return false;
  return defaults.get(key) !== stringifyExactly(value);
}

const searchMembers = new Set([
  "allowed_domains",
  "blocked_domains",
  "filters",
  "user_location",
  "max_uses",
  "search_context_size",
]);

/** Reads a web search: Messages has the fields for domains at the top, Responses inside `filters`. */
function readSearch(tool: JsonObject, path: string): WebSearchRequest {
  const { filters, user_location: location, max_uses: maxUses, search_context_size: size } = tool;
  const at = (key: string) => `${path}.${key}`;
  const within = isJsonObject(filters) ? filters : {};
  const filtered = isJsonObject(filters)
    ? [
      ...unread(within, at("filters"), new Set(["allowed_domains", "blocked_domains"])),
      ...misshapen(within, at("filters"), domainLists),
    ]
    : [];
  const allowedDomains = words(tool.allowed_domains, at("allowed_domains")) ??
    words(within.allowed_domains, at("filters.allowed_domains"));
  const blockedDomains = words(tool.blocked_domains, at("blocked_domains")) ??
    words(within.blocked_domains, at("filters.blocked_domains"));
  const place = readLocation(location, at("user_location"));
  return {
    tool: "web_search",
    ...defined({ allowedDomains, blockedDomains, location: place }),
    ...(typeof maxUses === "number" ? { maxUses: { value: maxUses, path: at("max_uses") } } : {}),
    ...(typeof size === "string" && asks("search_context_size", size)
      ? { contextSize: { value: size, path: at("search_context_size") } }
      : {}),
    others: [
      ...unread(tool, path, searchMembers),
      ...misshapen(tool, path, searchShapes),
      ...filtered,
      ...unreadLocation(location, at("user_location")),
    ],
  };
}

/** Reads the search of an aggregator, which has its options in `parameters`, some under other names. */
function readRoutedSearch(tool: JsonObject, path: string): WebSearchRequest {
  const { parameters, ...rest } = tool;
  const { excluded_domains, ...options } = isJsonObject(parameters) ? parameters : {};
  const search = readSearch(options, `${path}.parameters`);
  const blockedDomains = words(excluded_domains, `${path}.parameters.excluded_domains`) ??
    search.blockedDomains;
  return {
    ...search,
    ...defined({ blockedDomains }),
    others: [...unread(rest, path, new Set()), ...search.others],
  };
}

/** Reads a list of strings; `undefined` if it is empty. */
function words(value: Json | undefined, path: string): Told<readonly string[]> | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return { value: value.filter((word) => typeof word === "string"), path };
}

/** Whether a value is what a member holds; what is not is named, since nothing of it is carried. */
type Shape = (value: Json) => boolean;

function isName(value: Json | undefined): value is string {
  return typeof value === "string" && value !== "";
}

const isText: Shape = (value) => typeof value === "string";
const isSwitch: Shape = (value) => typeof value === "boolean";
const isObject: Shape = (value) => isJsonObject(value);
const areTexts: Shape = (value) => Array.isArray(value) && value.every(isText);

/** Paths of the members whose values have another shape. */
function misshapen(
  holder: JsonObject,
  path: string,
  shapes: Readonly<Record<string, Shape>>,
): string[] {
  return Object.entries(shapes).flatMap(([key, fits]) => {
    const value = holder[key];
    return value === undefined || value === null || fits(value) ? [] : [`${path}.${key}`];
  });
}

const domainLists = { allowed_domains: areTexts, blocked_domains: areTexts };
const searchShapes = {
  ...domainLists,
  filters: isObject,
  user_location: isObject,
  max_uses: (value: Json) => typeof value === "number",
  search_context_size: isText,
};
const placeShapes = { city: isText, region: isText, country: isText, timezone: isText };
const locationShapes = {
  ...placeShapes,
  approximate: isObject,
  type: (value: Json) => value === "approximate",
};
const mcpShapes = {
  authorization: isText,
  allowed_tools: (value: Json) => areTexts(value) || isJsonObject(value),
};
const serverShapes = {
  type: (value: Json) => value === "url",
  authorization_token: isText,
  tool_configuration: isObject,
};
const toolListShapes = { allowed_tools: areTexts, enabled: isSwitch };
const toolsetShapes = { default_config: isObject, configs: isObject };

const placeWords: ReadonlySet<string> = new Set(["city", "region", "country", "timezone"]);

/** Reads the user's location: Chat has its fields one level deeper, under the name of their kind. */
function readLocation(value: Json | undefined, path: string): Told<JsonObject> | undefined {
  if (!isJsonObject(value)) return undefined;
  const from = isJsonObject(value.approximate) ? value.approximate : value;
  const told = [...placeWords].flatMap((key): [string, string][] => {
    const word = from[key];
    return typeof word === "string" && word !== "" ? [[key, word]] : [];
  });
  return told.length === 0 ? undefined : { value: Object.fromEntries(told), path };
}

function unreadLocation(value: Json | undefined, path: string): string[] {
  if (!isJsonObject(value)) return [];
  const { approximate } = value;
  const inner = isJsonObject(approximate)
    ? [
      ...unread(approximate, `${path}.approximate`, placeWords),
      ...misshapen(approximate, `${path}.approximate`, placeShapes),
    ]
    : [];
  return [
    ...unread(value, path, new Set([...placeWords, "approximate"])),
    ...misshapen(value, path, locationShapes),
    ...inner,
  ];
}

/** Reads code execution. The client's own container is not carried: no other provider has its files. */
function readInterpreter(tool: JsonObject, path: string): HostedToolRequest {
  const { container } = tool;
  const own = isJsonObject(container)
    ? [
      ...unread(container, `${path}.container`, new Set()),
      ...misshapen(container, `${path}.container`, { type: (value) => value === "auto" }),
    ]
    : typeof container === "string"
    ? [`${path}.container`]
    : [];
  const others = [...unread(tool, path, new Set(["container"])), ...own];
  return { tool: "code_execution", others };
}

const mcpMembers = new Set([
  "server_label",
  "server_url",
  "authorization",
  "allowed_tools",
  "require_approval",
]);

/**
 * Reads an MCP server of a Responses request. `undefined` if the client wants to approve each call, which no other
 * style can ask for, or if it is one of the vendor's own connectors.
 */
function readMcp(tool: JsonObject, path: string): McpRequest | undefined {
  const { server_label: server, server_url: url, authorization, require_approval } = tool;
  if (!isName(server) || !isName(url) || require_approval !== "never") return undefined;
  const { allowed_tools } = tool;
  const allowed = isJsonObject(allowed_tools) ? allowed_tools.tool_names : allowed_tools;
  const allowedTools = words(allowed, "")?.value;
  return {
    tool: "mcp",
    server,
    url,
    ...(typeof authorization === "string" ? { authorization } : {}),
    ...defined({ allowedTools }),
    others: [
      ...unread(tool, path, mcpMembers),
      ...misshapen(tool, path, mcpShapes),
      ...(isJsonObject(allowed_tools)
        ? [
          ...unread(allowed_tools, `${path}.allowed_tools`, new Set(["tool_names"])),
          ...misshapen(allowed_tools, `${path}.allowed_tools`, { tool_names: areTexts }),
        ]
        : []),
    ],
  };
}

/**
 * Reads the MCP servers of a Messages request, which are in a field of their own. The server's entry, or a toolset among
 * the tools, lists what may be called. `undefined` if another vendor cannot express one of them.
 */
export function readMcpServers(
  servers: readonly Json[],
  tools: readonly Json[],
): McpRequest[] | undefined {
  const requests = servers.map((server, i) =>
    isJsonObject(server) ? readMcpServer(server, `mcp_servers.${i}`, tools) : undefined
  );
  return requests.every((requested) => requested !== undefined) ? requests : undefined;
}

const serverMembers = new Set(["url", "authorization_token", "tool_configuration"]);

function readMcpServer(
  server: JsonObject,
  path: string,
  tools: readonly Json[],
): McpRequest | undefined {
  const { name, url, authorization_token: token } = server;
  if (!isName(name) || !isName(url)) return undefined;
  const settings = isJsonObject(server.tool_configuration) ? server.tool_configuration : {};
  const at = tools.findIndex((tool) =>
    isJsonObject(tool) && tool.type === "mcp_toolset" && tool.mcp_server_name === name
  );
  const toolset = tools[at];
  const offered = isJsonObject(toolset) ? toolsOffered(toolset, `tools.${at}`) : { others: [] };
  if (offered === undefined || settings.enabled === false) return undefined;
  const allowedTools = words(settings.allowed_tools, "")?.value ?? offered.names;
  return {
    tool: "mcp",
    server: name,
    url,
    ...(typeof token === "string" ? { authorization: token } : {}),
    ...defined({ allowedTools }),
    others: [
      ...unread(server, path, serverMembers),
      ...misshapen(server, path, serverShapes),
      ...misshapen(settings, `${path}.tool_configuration`, toolListShapes),
      ...unread(settings, `${path}.tool_configuration`, new Set(["allowed_tools", "enabled"])),
      ...offered.others,
    ],
  };
}

interface Offered {
  /** The tools of the server that may be called; absent: all. */
  readonly names?: readonly string[];
  readonly others: readonly string[];
}

const toolsetMembers = new Set(["mcp_server_name", "default_config", "configs"]);
const switches = new Set(["enabled"]);

/** Reads the tools that a toolset offers; `undefined` if it only lists those that it excludes. */
function toolsOffered(toolset: JsonObject, path: string): Offered | undefined {
  const preset = isJsonObject(toolset.default_config) ? toolset.default_config : {};
  const configs = isJsonObject(toolset.configs) ? toolset.configs : {};
  const entries = Object.entries(configs).flatMap(([name, config]) =>
    isJsonObject(config) ? [{ name, config }] : []
  );
  const others = [
    ...unread(toolset, path, toolsetMembers),
    ...misshapen(toolset, path, toolsetShapes),
    ...Object.entries(configs).flatMap(([name, config]) =>
      isJsonObject(config) ? [] : [`${path}.configs.${name}`]
    ),
    ...unread(preset, `${path}.default_config`, switches),
    ...misshapen(preset, `${path}.default_config`, { enabled: isSwitch }),
    ...entries.flatMap(({ name, config }) => [
      ...unread(config, `${path}.configs.${name}`, switches),
      ...misshapen(config, `${path}.configs.${name}`, { enabled: isSwitch }),
    ]),
  ];
  if (preset.enabled === false) {
    const names = entries.flatMap(({ name, config }) => config.enabled === true ? [name] : []);
    return { names, others };
  }
  return entries.some(({ config }) => config.enabled === false) ? undefined : { others };
}
