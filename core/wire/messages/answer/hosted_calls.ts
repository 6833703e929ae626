/**
 * Reads and writes calls of hosted tools in the Messages style, where call and result are two blocks with one id.
 */
import { count, text, type Written } from "../../../lib/json/schemas.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { HostedCall, HostedCallBlock, WebSource } from "../../conversation/mod.ts";
import { hostedIdMark } from "../../tools/hosted_calls.ts";
import { unsealedMark } from "../../fields/reasoning_seal.ts";
import { answerArguments } from "../../tools/tool_fields.ts";
import { wordId } from "../../tools/tool_preparation.ts";
import { defined } from "../../../lib/base/defined.ts";

const resultType = /^(?:web_search|web_fetch|code_execution|bash_code_execution|mcp)_tool_result$/;

/** Returns the id of the call if a block is a result of a hosted tool. */
export function hostedResultId({ type, tool_use_id }: JsonObject): string | undefined {
  const isResult = typeof type === "string" && resultType.test(type);
  return isResult && typeof tool_use_id === "string" ? tool_use_id : undefined;
}

/** Reads the call of a hosted tool; `undefined` if no other vendor has such a tool. */
export function readHostedUse(block: JsonObject, input: JsonObject): HostedCall | undefined {
  const text = (value: Json | undefined): string => typeof value === "string" ? value : "";
  const { type, name } = block;
  if (type === "mcp_tool_use") {
    return {
      tool: "mcp",
      server: text(block.server_name),
      name: text(name),
      arguments: stringifyExactly(input),
      failed: false,
    };
  }
  if (type !== "server_tool_use") return undefined;
  switch (name) {
    case "web_search":
      return { tool: "web_search", query: text(input.query), failed: false };
    case "web_fetch":
      return { tool: "web_fetch", url: text(input.url), failed: false };
    case "code_execution":
      return { tool: "code_execution", code: text(input.code), failed: false };
    case "bash_code_execution":
      return { tool: "code_execution", code: text(input.command), failed: false };
    default:
      return undefined;
  }
}

/** Adds the content of the result's block to a call. */
export function withHostedResult(call: HostedCall, { content, is_error }: JsonObject): HostedCall {
  const inner = isJsonObject(content) ? content : {};
  const failed = call.failed || is_error === true || String(inner.type ?? "").endsWith("_error");
  switch (call.tool) {
    case "web_search":
      if (!Array.isArray(content)) return { ...call, failed };
      return { ...call, sources: content.filter(isJsonObject).flatMap(readSource) };
    case "web_fetch":
      return { ...call, ...readFetched(inner), failed };
    case "code_execution":
      return { ...call, ...readPrinted(inner), failed: failed || hasFailed(inner.return_code) };
    case "mcp": {
      const output = typeof content === "string" ? content : joinedTexts(content);
      return { ...call, output, failed };
    }
    case "mcp_list":
    case "mcp_approval":
      return call;
  }
}

function readSource({ url, title }: JsonObject): WebSource[] {
  if (typeof url !== "string" || url === "") return [];
  return [{ url, ...(typeof title === "string" && title !== "" ? { title } : {}) }];
}

function readFetched(result: JsonObject): { readonly title?: string; readonly text?: string } {
  const document = isJsonObject(result.content) ? result.content : {};
  const source = isJsonObject(document.source) ? document.source : {};
  const { title } = document;
  return {
    ...(typeof title === "string" ? { title } : {}),
    ...(source.type === "text" && typeof source.data === "string" ? { text: source.data } : {}),
  };
}

function readPrinted({ stdout, stderr }: JsonObject): { readonly output?: string } {
  const printed = [stdout, stderr].filter((text) => typeof text === "string" && text !== "");
  return typeof stdout === "string" ? { output: printed.join("\n") } : {};
}

function hasFailed(code: Json | undefined): boolean {
  return typeof code === "number" && code !== 0;
}

function joinedTexts(content: Json | undefined): string {
  if (!Array.isArray(content)) return "";
  return content.map((part) => isJsonObject(part) && typeof part.text === "string" ? part.text : "")
    .join("\n");
}

/** A result and its path. */
interface PlacedResult {
  readonly block: JsonObject;
  readonly path: string;
}

/** Reads the hosted calls of one list of blocks, each together with its result. */
export class HostedCallReader {
  readonly #results = new Map<string, PlacedResult>();
  /** Ids of calls that were read with their results. */
  readonly #told = new Set<string>();

  constructor(content: readonly Json[], path: string) {
    content.forEach((block, i) => {
      const id = isJsonObject(block) ? hostedResultId(block) : undefined;
      if (id !== undefined && isJsonObject(block)) {
        this.#results.set(id, { block, path: `${path}.${i}` });
      }
    });
  }

  /** Returns the call that a block begins; `undefined` for any other block. */
  call(block: JsonObject, path: string): HostedCallBlock | undefined {
    const call = readHostedUse(block, isJsonObject(block.input) ? block.input : {});
    if (call === undefined) return undefined;
    const id = typeof block.id === "string" ? block.id : "";
    const result = this.#results.get(id);
    if (result !== undefined) this.#told.add(id);
    return {
      type: "hosted_call",
      path,
      ...ranBy(id),
      call: result === undefined ? call : withHostedResult(call, result.block),
      ...defined({ resultPath: result?.path }),
    };
  }

  /** Whether a block is a result that was read with its call. */
  isTold(block: JsonObject): boolean {
    const id = hostedResultId(block);
    return id !== undefined && this.#told.has(id);
  }
}

const foreignUse = new RegExp(`^(?:srv|mcp)toolu_${hostedIdMark}(.+)$`);

/** Returns the style of the provider that ran a call; ids that this gateway wrote name another style. */
export function ranBy(id: string): Pick<HostedCallBlock, "style" | "id"> {
  const foreign = foreignUse.exec(id)?.[1];
  return foreign === undefined ? { style: "messages", id } : { style: "responses", id: foreign };
}

/** Whether a block of the history is a hosted call, or a result of one, that another style's provider ran. */
export function isForeignHosted({ id, tool_use_id }: JsonObject): boolean {
  const told = tool_use_id ?? id;
  return typeof told === "string" && foreignUse.test(told);
}

/** The members of the blocks of hosted calls. */
export const hostedBlockMembers = {
  type: text,
  id: text,
  name: text,
  server_name: text,
  input: { type: "object" },
  tool_use_id: text,
  is_error: { type: "boolean" },
  content: { description: "Pages, a file, output, or an error, by the type of the block." },
};

/** A block of a hosted call. */
export type HostedBlock = Written<typeof hostedBlockMembers>;

/** Writes the two blocks of a call for a Messages client. */
export interface WrittenCall {
  readonly use: HostedBlock;
  readonly input: JsonObject;
  readonly result: HostedBlock;
}

/** Writes a call that another style's provider ran; `undefined` if too little of it is known for the style. */
export function writeHostedCall(id: string, call: HostedCall): WrittenCall | undefined {
  const named = (name: string) => {
    const useId = `srvtoolu_${hostedIdMark}${wordId(id).replaceAll("-", "_")}`;
    return { id: useId, use: { type: "server_tool_use", id: useId, name } };
  };
  switch (call.tool) {
    case "web_search": {
      const { id: tool_use_id, use } = named("web_search");
      const content = call.failed ? failure("web_search") : (call.sources ?? []).map(writeSource);
      const result = { type: "web_search_tool_result", tool_use_id, content };
      return { use, input: { query: call.query }, result };
    }
    case "web_fetch": {
      // The style has no fetch without its content.
      if (call.text === undefined && !call.failed) return undefined;
      const { id: tool_use_id, use } = named("web_fetch");
      const content = call.failed ? failure("web_fetch") : writeFetched(call.url, call.text ?? "");
      const result = { type: "web_fetch_tool_result", tool_use_id, content };
      return { use, input: { url: call.url }, result };
    }
    case "code_execution": {
      const { id: tool_use_id, use } = named("code_execution");
      const result = {
        type: "code_execution_tool_result",
        tool_use_id,
        content: {
          type: "code_execution_result",
          stdout: call.output ?? "",
          stderr: "",
          return_code: call.failed ? 1 : 0,
          content: [],
        },
      };
      return { use, input: { code: call.code }, result };
    }
    case "mcp":
      return writeMcp(`mcptoolu_${hostedIdMark}${wordId(id)}`, call);
    // Its requests cannot ask for them.
    case "mcp_list":
    case "mcp_approval":
      return undefined;
  }
}

function failure(tool: string): JsonObject {
  return { type: `${tool}_tool_result_error`, error_code: "unavailable" };
}

/** Writes a search result. The style requires a title: the address replaces one that the provider did not give. */
function writeSource({ url, title }: WebSource): JsonObject {
  return {
    type: "web_search_result",
    url,
    title: title ?? url,
    encrypted_content: unsealedMark,
    page_age: null,
  };
}

function writeFetched(url: string, text: string): JsonObject {
  const source = { type: "text", media_type: "text/plain", data: text };
  const content = { type: "document", source, title: null, citations: null };
  return { type: "web_fetch_result", url, retrieved_at: null, content };
}

function writeMcp(id: string, call: HostedCall & { readonly tool: "mcp" }): WrittenCall {
  return {
    use: { type: "mcp_tool_use", id, name: call.name, server_name: call.server },
    input: answerArguments({ kind: "json_text", text: call.arguments }),
    result: {
      type: "mcp_tool_result",
      tool_use_id: id,
      is_error: call.failed,
      content: call.output === undefined ? [] : [{ type: "text", text: call.output }],
    },
  };
}

/** The members of `server_tool_use`. */
export const hostedUseMembers = { web_search_requests: count, web_fetch_requests: count };

/** Writes the number of runs of the vendor's own tools as a member of usage, as an object to spread. */
export function hostedUse(
  tools: readonly HostedCall["tool"][],
): { readonly server_tool_use?: Written<typeof hostedUseMembers> } {
  const runs = (tool: HostedCall["tool"]) => tools.filter((one) => one === tool).length;
  if (tools.every((tool) => tool.startsWith("mcp"))) return {};
  return {
    server_tool_use: {
      web_search_requests: runs("web_search"),
      web_fetch_requests: runs("web_fetch"),
    },
  };
}
