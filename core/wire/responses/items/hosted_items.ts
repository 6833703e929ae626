/** Reads and writes calls of hosted tools as Responses items: one item has the call and its result. */
import { listOf, maybeText, orNull, text, type Written } from "../../../lib/json/schemas.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { HostedCall, HostedCallBlock, WebSource } from "../../conversation/mod.ts";
import { hostedIdMark } from "../../tools/hosted_calls.ts";

/** Reads an item of a tool that other vendors have too; `undefined` for all others. */
export function readHostedItem(item: JsonObject, path: string): HostedCallBlock | undefined {
  const call = readCall(item);
  if (call === undefined) return undefined;
  const id = textOf(item["id"]);
  // Items that this gateway wrote were run by a provider of another style.
  const style = id.includes(`_${hostedIdMark}`) ? "messages" : "responses";
  return { type: "hosted_call", style, path, id, call };
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function readCall(item: JsonObject): HostedCall | undefined {
  const failed = item["status"] === "failed";
  switch (item["type"]) {
    case "web_search_call":
      return readSearch(item["action"], failed);
    case "code_interpreter_call":
      return {
        tool: "code_execution",
        code: textOf(item["code"]),
        ...readPrinted(item["outputs"]),
        failed,
      };
    case "mcp_call": {
      const { output, error } = item;
      const isError = failed || (error !== undefined && error !== null);
      return {
        tool: "mcp",
        server: textOf(item["server_label"]),
        name: textOf(item["name"]),
        arguments: textOf(item["arguments"]),
        ...(typeof output === "string" ? { output } : isError ? { output: errorText(error) } : {}),
        failed: isError,
      };
    }
    default:
      return undefined;
  }
}

/** Text of the error of a call: the content that the tool gave, or the error as it stands. */
function errorText(error: Json | undefined): string {
  if (typeof error === "string") return error;
  const content = isJsonObject(error) ? error["content"] : undefined;
  const texts = Array.isArray(content)
    ? content.flatMap((part) => isJsonObject(part) ? [textOf(part["text"])] : [])
    : [];
  return texts.length > 0 ? texts.join("\n") : stringifyExactly(error ?? "failed");
}

/** Reads a search, or a page opened for it. Searching for text in an open page counts as reading the page. */
function readSearch(action: Json | undefined, failed: boolean): HostedCall | undefined {
  const { type = "search", query, queries, sources, url } = isJsonObject(action) ? action : {};
  if (type === "open_page" && typeof url === "string") return { tool: "web_fetch", url, failed };
  if (type !== "search") return undefined;
  const first = Array.isArray(queries) ? queries[0] : undefined;
  return {
    tool: "web_search",
    query: textOf(query) || textOf(first),
    ...(Array.isArray(sources) ? { sources: sources.flatMap(readSource) } : {}),
    failed,
  };
}

function readSource(source: Json): WebSource[] {
  if (!isJsonObject(source) || typeof source["url"] !== "string") return [];
  const { url, title } = source;
  return [{ url, ...(typeof title === "string" && title !== "" ? { title } : {}) }];
}

function readPrinted(outputs: Json | undefined): { readonly output?: string } {
  if (!Array.isArray(outputs)) return {};
  const logs = outputs.filter(isJsonObject).map((output) => textOf(output["logs"]));
  return { output: logs.filter((log) => log !== "").join("\n") };
}

/** Types of items for hosted calls. */
export type HostedItemKind =
  | "web_search_call"
  | "code_interpreter_call"
  | "mcp_call"
  | "mcp_list_tools"
  | "mcp_approval_request";

const readKinds: ReadonlySet<string> = new Set<HostedItemKind>([
  "web_search_call",
  "code_interpreter_call",
  "mcp_call",
]);

/** Whether items of a type are calls of a hosted tool that other vendors have too. */
export function isHostedItem(type: string): boolean {
  return readKinds.has(type);
}

/** Returns the type of the output item for a hosted call. */
export function hostedItemKind({ tool }: HostedCall): HostedItemKind {
  switch (tool) {
    case "web_search":
    case "web_fetch":
      return "web_search_call";
    case "code_execution":
      return "code_interpreter_call";
    case "mcp":
      return "mcp_call";
    case "mcp_list":
      return "mcp_list_tools";
    case "mcp_approval":
      return "mcp_approval_request";
  }
}

/** The members of items of hosted calls; the type decides which it has. */
export const hostedItemMembers = {
  id: text,
  type: text,
  status: text,
  action: { type: "object" },
  code: maybeText,
  container_id: text,
  outputs: orNull(listOf({ type: "object" })),
  server_label: text,
  name: text,
  arguments: { description: "JSON as a text, or an object, by the type." },
  output: maybeText,
  error: {},
  tools: listOf({ type: "object" }),
  approval_request_id: maybeText,
};

/** Writes the item of a call that another style's provider ran. */
export function hostedItem(id: string, call: HostedCall): Written<typeof hostedItemMembers> {
  const type = hostedItemKind(call);
  const status = call.failed ? "failed" : "completed";
  switch (call.tool) {
    case "web_search": {
      const { query } = call;
      const sources = (call.sources ?? []).map(({ url }): JsonObject => ({ type: "url", url }));
      const action = { type: "search", query, queries: [query], sources };
      return { id, type, status, action };
    }
    case "web_fetch":
      return { id, type, status, action: { type: "open_page", url: call.url } };
    case "code_execution": {
      const { code, output } = call;
      const outputs = output === undefined ? null : [{ type: "logs", logs: output }];
      // The client cannot use the provider's container.
      return { id, type, status, code, container_id: "", outputs };
    }
    case "mcp": {
      const { server: server_label, name, arguments: args, failed, output = null } = call;
      const content = [{ type: "text", text: output ?? "failed" }];
      const told = failed
        ? { output: null, error: { type: "mcp_tool_execution_error", content } }
        : { output, error: null };
      const approval_request_id = call.approvalId ?? null;
      return {
        id,
        type,
        status,
        approval_request_id,
        server_label,
        name,
        arguments: args,
        ...told,
      };
    }
    case "mcp_list":
      return { id, type, server_label: call.server, tools: [...call.tools], error: null };
    case "mcp_approval":
      return {
        id,
        type,
        server_label: call.server,
        name: call.name,
        arguments: call.arguments,
      };
  }
}

/** Events between an item's `added` and its `done`, by type; the last one depends on the outcome. */
const progress = {
  web_search_call: ["in_progress", "searching"],
  code_interpreter_call: ["in_progress", "interpreting"],
  mcp_call: ["in_progress"],
  mcp_list_tools: ["in_progress"],
  mcp_approval_request: undefined,
} as const;

/** An event of a call's progress, with its members beside the place of the item. */
interface HostedEvent {
  readonly type: string;
  readonly members?: JsonObject;
}

/** Returns the events of a call's progress. Only calls of MCP servers have one for a failure, and their arguments. */
export function hostedEvents(call: HostedCall): HostedEvent[] {
  const kind = hostedItemKind(call);
  const steps = progress[kind];
  if (steps === undefined) return [];
  const last = kind === "mcp_call" && call.failed ? "failed" : "completed";
  const eventOf = (step: string): HostedEvent => ({ type: `response.${kind}.${step}` });
  return [...steps.map(eventOf), ...argumentEvents(call), eventOf(last)];
}

function argumentEvents(call: HostedCall): HostedEvent[] {
  if (call.tool !== "mcp") return [];
  const { arguments: text } = call;
  return [
    { type: "response.mcp_call_arguments.delta", members: { delta: text } },
    { type: "response.mcp_call_arguments.done", members: { arguments: text } },
  ];
}

/** Writes the item as its own vendor accepts it in a request; `undefined` if the vendor takes it only as text. */
export function replayedItem({ style, id, call }: HostedCallBlock): JsonObject | undefined {
  if (style !== "responses" || call.tool !== "web_search" || !/^ws_/.test(id)) return undefined;
  const action = { type: "search", query: call.query, queries: [call.query] };
  return { id, type: "web_search_call", status: call.failed ? "failed" : "completed", action };
}

/** Writes the item as it stands while its call runs. */
export function begunItem(
  item: Written<typeof hostedItemMembers>,
): Written<typeof hostedItemMembers> {
  const begun = item.status === undefined ? item : { ...item, status: "in_progress" };
  if (item.type === "mcp_list_tools") return { ...begun, tools: [] };
  return item.type === "mcp_call" ? { ...begun, arguments: "", output: null, error: null } : begun;
}

const foreignId = new RegExp(`^(?:ws|ci|mcp|mcpl|mcpr)_${hostedIdMark}`);

/** Whether an item of the history is of a call that the vendor did not run: this gateway wrote it, or it answers one. */
export function isForeignHostedItem(item: Json): boolean {
  if (!isJsonObject(item)) return false;
  const id = item["type"] === "mcp_approval_response" ? item["approval_request_id"] : item["id"];
  return typeof id === "string" && foreignId.test(id);
}
