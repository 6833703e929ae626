/**
 * The tools of the MCP servers of one call: they are listed once, offered to the model as functions, and called in its
 * rounds, on whichever route it answers. See {@linkcode McpSession} for the protocol.
 */
import { defined } from "../../lib/base/defined.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { McpCallRecord } from "../../billing/usage/receipt.ts";
import type { GuardedFetchWorld } from "../../net/remote/guarded_fetch.ts";
import { Warnings } from "../../wire/contract/warnings.ts";
import type { Conversation, FunctionTool, Tool } from "../../wire/conversation/mod.ts";
import type { AttemptTime } from "../attempts/attempt.ts";
import { type ApprovedCall, type AskedMcp, type McpServer, withoutMcp } from "./mcp_request.ts";
import {
  failedResult,
  McpFailure,
  type McpMedia,
  type McpResult,
  McpSession,
  type McpTool,
} from "./mcp_session.ts";
import {
  type CallResult,
  contentOf,
  type FunctionCall,
  type RanCall,
  type ResultRoute,
  type RunTools,
  type ShownCall,
} from "./tool_rounds.ts";
import { tokensPerImage } from "../bounds/chat_bounds.ts";

/** Calls of one answer where the client sets no bound. */
const usualCalls = 10;
/** Calls of one answer whatever the client's bound: each makes the next prompt longer. */
const maxCalls = 30;

/**
 * Bytes of the tools of one server as they are offered: what is reserved for the prompt of a hosted tool, at one byte a
 * token.
 */
const maxOfferedBytes = 100_000;

/** Characters of the base64 of all images of one answer: each round sends them again. */
const maxImageChars = 5 * 1024 * 1024;

/** Characters of a tool's name on a receipt. */
const maxRecordedChars = 64;

/** Needs of MCP servers. */
export interface McpWorld extends AttemptTime {
  /** Reaches public addresses only. */
  readonly remote: GuardedFetchWorld;
  /** Whether the settings of the caller let a model get images. */
  readonly allowsImages: boolean;
}

/** A server with its session and the tools that it offers. */
interface OfferedServer {
  readonly server: McpServer;
  readonly session: McpSession;
  /** Tools that the model may call, by the name of their function. */
  tools: ReadonlyMap<string, McpTool>;
}

const encoder = new TextEncoder();

/** Lists, offers and calls the tools of the servers of one call. */
export class McpTools implements RunTools {
  readonly maxCalls: number;
  readonly beyond = "No more calls of this kind in this answer: answer with what is known.";
  /** Calls that have run, for the receipt. */
  readonly calls: McpCallRecord[] = [];
  /** Calls that the client sees before the answer: listings, and the calls to which it has agreed. */
  readonly before: ShownCall[] = [];
  readonly #world: McpWorld;
  readonly #asked: AskedMcp;
  readonly #servers: readonly OfferedServer[];
  readonly #approved = new Map<string, McpResult>();
  #preparing: Promise<void> | undefined;
  #imageChars = 0;

  constructor(world: McpWorld, asked: AskedMcp) {
    this.#world = world;
    this.#asked = asked;
    this.maxCalls = Math.min(asked.maxCalls ?? usualCalls, maxCalls);
    this.#servers = asked.servers.map((server) => ({
      server,
      session: new McpSession(world.remote, server),
      tools: new Map(),
    }));
  }

  /** Tokens that the results of calls to which the client has agreed add to the prompt at most. */
  get approvedTokens(): { readonly tokens: number; readonly hasImages: boolean } {
    const results = [...this.#approved.values()];
    const images = results.flatMap(({ media }) => media.filter(({ image }) => image !== undefined));
    const bytes = results.reduce((sum, { text }) => sum + encoder.encode(text).length, 0);
    return { tokens: bytes + images.length * tokensPerImage, hasImages: images.length > 0 };
  }

  /**
   * Lists the tools and makes the calls to which the client has agreed; a further attempt on another route waits for the
   * same.
   *
   * @param isStopped whether nobody waits for the answer any more
   * @throws {GatewayError} `mcp_server_failed` if a server gave no list
   */
  prepare(isStopped: () => boolean): Promise<void> {
    this.#preparing ??= this.#prepare(isStopped);
    return this.#preparing;
  }

  async #prepare(isStopped: () => boolean): Promise<void> {
    try {
      const listed = await Promise.all(this.#servers.map(listOf));
      const names = new Set(this.#asked.taken);
      for (const [i, one] of this.#servers.entries()) {
        one.tools = namedTools(one.server, listed[i]!, names);
        if (one.server.listed === undefined) this.before.push(listingOf(one));
      }
      for (const approved of this.#asked.approved) {
        if (isStopped()) break;
        await this.#runApproved(approved);
      }
    } catch (error) {
      this.end();
      throw error;
    }
  }

  async #runApproved({ requestId, label, name, arguments: text }: ApprovedCall): Promise<void> {
    const found = this.#serverOf(label);
    const tool = [...found?.tools.values() ?? []].find((one) => one.name === name);
    const result = found === undefined || tool === undefined
      ? failedResult("The tool is no longer there.")
      : await this.#call(found, tool, text);
    this.#approved.set(requestId, result);
    this.before.push(shownCall(label, name, text, result, requestId));
  }

  /** Rewrites the client's request without its servers. */
  rewritten(body: JsonObject): JsonObject {
    return withoutMcp(this.#asked.style, body, {
      nameOf: (label, name) => this.#functionOf(label, name) ?? name,
      namesOf: (label) => [...this.#serverOf(label)?.tools.keys() ?? []],
      resultOf: (requestId) => this.#approved.get(requestId)?.text,
    });
  }

  #serverOf(label: string): OfferedServer | undefined {
    return this.#servers.find(({ server }) => server.label === label);
  }

  #functionOf(label: string, name: string): string | undefined {
    return [...this.#serverOf(label)?.tools ?? []].find(([, tool]) => tool.name === name)?.[0];
  }

  /** Puts functions in the place of the servers, and the images of results beside their text. */
  offered(conversation: Conversation, route: Pick<ResultRoute, "carries">): Conversation {
    const { tools } = conversation;
    const warnings = new Warnings(conversation.warnings);
    const warn = (path: string) => warnings.add(path);
    const turns = conversation.turns.map((turn) => ({
      ...turn,
      blocks: turn.blocks.map((block) => {
        const result = block.type === "tool_result" ? this.#approved.get(block.callId) : undefined;
        return block.type !== "tool_result" || result === undefined || result.media.length === 0
          ? block
          : { ...block, content: contentOf(this.#received(result, "input", { ...route, warn })) };
      }),
    }));
    for (const path of this.#asked.others) warnings.add(path);
    const functionsAt = new Map(this.#servers.map((one) => [one.server.path, functionsOf(one)]));
    const kept = tools.flatMap((tool): Tool[] => {
      if (tool.type !== "hosted" || (tool.kind !== "mcp" && tool.kind !== "mcp_toolset")) {
        return [tool];
      }
      const functions = functionsAt.get(tool.path);
      functionsAt.delete(tool.path);
      // A server that an item adds later is not asked.
      if (functions === undefined) warnings.add(tool.path);
      return functions ?? [];
    });
    return {
      ...conversation,
      turns,
      tools: [...kept, ...[...functionsAt.values()].flat()],
      warnings: warnings.list(),
    };
  }

  get time(): AttemptTime {
    return this.#world;
  }

  has(name: string): boolean {
    return this.#servers.some(({ tools }) => tools.has(name));
  }

  async run({ name, text }: FunctionCall, route: ResultRoute): Promise<RanCall> {
    const found = this.#servers.find(({ tools }) => tools.has(name));
    const tool = found?.tools.get(name);
    if (found === undefined || tool === undefined) {
      return { result: { text: "There is no such tool.", failed: true } };
    }
    const { server: { label, path, needsApproval } } = found;
    if (needsApproval(tool)) {
      const call = {
        tool: "mcp_approval",
        server: label,
        name: tool.name,
        arguments: text,
      } as const;
      return { shown: { style: "messages", id: "", call: { ...call, failed: false } } };
    }
    const result = this.#received(await this.#call(found, tool, text), path, route);
    return { shown: shownCall(label, tool.name, text, result), result };
  }

  /** Keeps the images of a result that the route carries. The text names all other media, and the client is warned. */
  #received(
    { text, failed, media }: McpResult,
    path: string,
    { carries, warn }: ResultRoute,
  ): CallResult {
    const { allowsImages } = this.#world;
    const images = media.flatMap(({ image }) =>
      allowsImages && image !== undefined && carries(image) ? [image] : []
    );
    const lost = media.filter(({ image }) => image === undefined || !images.includes(image));
    if (lost.length === 0) return { text, failed, images };
    warn(`${path}.result`);
    const names = lost.map(({ name }) => name).join(", ");
    return { text: `${text}\n[The model gets no ${names}]`, failed, images };
  }

  async #call(
    { server: { host }, session }: OfferedServer,
    { name }: McpTool,
    text: string,
  ): Promise<McpResult> {
    const args = text.trim() === "" ? {} : tryParseExactly(text);
    if (!isJsonObject(args)) {
      return failedResult("The arguments are not an object of JSON.");
    }
    const { clock } = this.time;
    const startedMs = clock.monotonicMs();
    const result = await session.call(name, args);
    this.calls.push({
      server: host,
      tool: name.slice(0, maxRecordedChars),
      failed: result.failed,
      ms: Math.round(clock.monotonicMs() - startedMs),
    });
    return { ...result, media: result.media.map((one) => this.#withinBound(one)) };
  }

  /** Leaves out an image beyond the bound of the answer. */
  #withinBound(media: McpMedia): McpMedia {
    const { name, image } = media;
    if (image?.source.kind !== "base64") return { name };
    this.#imageChars += image.source.data.length;
    return this.#imageChars > maxImageChars ? { name } : media;
  }

  end(): void {
    for (const { session } of this.#servers) session.end();
  }
}

async function listOf({ server, session }: OfferedServer): Promise<readonly McpTool[]> {
  const { listed, label, urlPath } = server;
  let tools: readonly McpTool[];
  try {
    tools = listed ?? await session.list();
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    throw new GatewayError(
      "mcp_server_failed",
      `${urlPath}: the MCP server ${JSON.stringify(label)} ${error.message}`,
      { param: urlPath, marks: "nothing" },
    );
  }
  const allowed = tools.filter(server.allows);
  const bytes = encoder.encode(stringifyExactly(allowed)).length;
  if (bytes <= maxOfferedBytes) return allowed;
  throw new GatewayError(
    "invalid_request",
    `${server.path}: the tools of ${
      JSON.stringify(label)
    } have ${bytes} bytes; allow fewer of them, ` +
      `at most ${maxOfferedBytes} bytes`,
    { param: server.path },
  );
}

/** Names the functions of a server: as their tools, or with the server's name before them where that name is taken. */
function namedTools(
  { label }: McpServer,
  tools: readonly McpTool[],
  taken: Set<string>,
): ReadonlyMap<string, McpTool> {
  return new Map(tools.map((tool) => {
    let name = tool.name;
    while (taken.has(name)) name = `${label}__${name}`;
    taken.add(name);
    return [name, tool];
  }));
}

/** The functions of a server. Its description goes before that of the first one, so that the model reads it once. */
function functionsOf({ server, tools }: OfferedServer): FunctionTool[] {
  return [...tools].map(([name, { description, schema }], i) => {
    const told = [i === 0 ? server.description : undefined, description]
      .filter((text) => text !== undefined);
    return {
      type: "function",
      path: server.path,
      name,
      schema,
      ...defined({ description: told.length === 0 ? undefined : told.join("\n\n") }),
    };
  });
}

function listingOf({ server: { label }, tools }: OfferedServer): ShownCall {
  const listed = [...tools.values()].map((
    { name, description, schema, annotations },
  ): JsonObject => ({
    name,
    description: description ?? null,
    input_schema: schema,
    annotations: annotations ?? null,
  }));
  const call = { tool: "mcp_list", server: label, tools: listed, failed: false } as const;
  return { style: "messages", id: "", call };
}

function shownCall(
  server: string,
  name: string,
  args: string,
  { text: output, failed }: Pick<McpResult, "text" | "failed">,
  approvalId?: string,
): ShownCall {
  const call = { tool: "mcp", server, name, arguments: args, output, failed } as const;
  return { style: "messages", id: "", call: { ...call, ...defined({ approvalId }) } };
}
