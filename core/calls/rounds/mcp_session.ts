/**
 * A session with an MCP server that a client names, over the transport that the protocol calls Streamable HTTP: one POST
 * for each message, answered as JSON or as events. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 *
 * The gateway asks for tools and calls them, and offers the server nothing: what a server asks of its client in between is
 * passed over. The older transport of two endpoints is not spoken. Redirects are not followed: the client's token is for the
 * address that it named.
 */
import { programVersion } from "../../lib/base/program_version.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { decodeBase64, stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { type SseFrame, SseFrameTooLargeError, SseSplitter } from "../../lib/sse/frame.ts";
import { dataUrl } from "../../wire/content/citations.ts";
import type { ImageBlock } from "../../wire/conversation/mod.ts";
import type { GuardedFetchWorld } from "../../net/remote/guarded_fetch.ts";
import { decompressed, readWhole } from "../../net/transport/read_whole.ts";
import {
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamResponse,
} from "../../net/transport/transport.ts";

/** Versions of the protocol in which tools are listed and called like this, the newest first. */
const protocolVersions: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
];

/** Milliseconds in which a session begins and all tools are listed; the client waits for it. */
const listMs = 20_000;
/** Milliseconds for one call. Ten of them end before the gateway's own bound of a call. */
const callMs = 60_000;
/** Time-out of the DELETE that ends a session, in milliseconds; no call waits for the answer. */
const endMs = 5_000;
/** Bytes of one answer of a server: a page of tools, or a result. */
const maxMessageBytes = 1024 * 1024;
/** Pages of one list of tools. */
const maxPages = 10;
/** Tools of one server: more than a model chooses well among. */
const maxToolsPerServer = 128;
/** Characters of one result: beyond it a result fills the context of a model, and costs its customer accordingly. */
const maxResultChars = 128 * 1024;

/** A server as its client names it. The headers hold the client's token: they are sent, and never kept or told. */
export interface McpAddress {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** A tool as its server lists it. */
export interface McpTool {
  readonly name: string;
  readonly description?: string;
  readonly schema: JsonObject;
  readonly annotations?: JsonObject;
}

/** A part of a result that is no text. */
export interface McpMedia {
  /** Its kind and type, by which the text of the result names it. */
  readonly name: string;
  /** Absent: sound, or a file, which no model gets. */
  readonly image?: ImageBlock;
}

/** Result of a call. */
export interface McpResult {
  readonly text: string;
  readonly failed: boolean;
  readonly media: readonly McpMedia[];
}

/** Why a server gave no answer. Its message follows “the server”, and repeats nothing that the server sent. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
}

/** The server no longer knows the session, and did not read the message. */
class LostSession extends McpFailure {}

/** The server answered with an error of the protocol, in its own words. */
class ServerRefusal extends McpFailure {
  readonly said: string;
  constructor(said: string) {
    super("refused the request");
    this.said = said;
  }
}

const encoder = new TextEncoder();

/** One session: it begins with the first request, and again after {@linkcode McpSession.end}. */
export class McpSession {
  readonly #world: GuardedFetchWorld;
  readonly #address: McpAddress;
  #exchange: UpstreamExchange | undefined;
  #isLate = false;
  #isOpen = false;
  #sessionId: string | undefined;
  #version: string | undefined;
  #lastId = 0;

  /** @param world its transport reaches public addresses only */
  constructor(world: GuardedFetchWorld, address: McpAddress) {
    this.#world = world;
    this.#address = address;
  }

  /** Lists the tools of the server. Rejects with {@linkcode McpFailure}. */
  list(): Promise<readonly McpTool[]> {
    return this.#within(listMs, async () => {
      const tools: McpTool[] = [];
      let cursor: Json | undefined;
      for (let page = 0; page < maxPages; page++) {
        const params = cursor === undefined ? {} : { cursor };
        const { tools: listed, nextCursor } = await this.#ask("tools/list", params);
        if (!Array.isArray(listed)) throw new McpFailure("sent no list of tools");
        tools.push(...listed.flatMap(readTool));
        if (tools.length > maxToolsPerServer) {
          throw new McpFailure(`has more than ${maxToolsPerServer} tools`);
        }
        if (typeof nextCursor !== "string" || nextCursor === "") return tools;
        cursor = nextCursor;
      }
      throw new McpFailure(`lists its tools on more than ${maxPages} pages`);
    });
  }

  /** Calls a tool. Never rejects: a failure becomes a failed result, which the model reads. */
  async call(name: string, args: JsonObject): Promise<McpResult> {
    try {
      const params = { name, arguments: args };
      return readResult(await this.#within(callMs, () => this.#ask("tools/call", params)));
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      const text = error instanceof ServerRefusal ? error.said : `The server ${error.message}`;
      return failedResult(clipped(text));
    }
  }

  /** Ends the session, and gives up what runs. */
  end(): void {
    this.#exchange?.cancel();
    const headers = this.#headers();
    const hasSession = this.#sessionId !== undefined;
    this.#forget();
    if (!hasSession) return;
    const { transport, deadlines } = this.#world;
    const { url } = this.#address;
    const exchange = transport.open({ method: "DELETE", url, headers, body: null });
    const deadline = deadlines.create(() => exchange.cancel());
    deadline.arm(endMs);
    // Servers may refuse it: sessions end by themselves, too.
    exchange.response.catch(() => {}).finally(() => {
      deadline.disarm();
      exchange.cancel();
    });
  }

  #forget(): void {
    this.#isOpen = false;
    this.#sessionId = undefined;
    this.#version = undefined;
  }

  async #within<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
    this.#isLate = false;
    const deadline = this.#world.deadlines.create(() => {
      this.#isLate = true;
      this.#exchange?.cancel();
    });
    deadline.arm(ms);
    try {
      return await work();
    } catch (error) {
      throw this.#isLate ? new McpFailure("did not answer in time") : error;
    } finally {
      deadline.disarm();
    }
  }

  /** Asks within a session; once more within a new one if the server has forgotten it. */
  async #ask(method: string, params: JsonObject): Promise<JsonObject> {
    const wasOpen = this.#isOpen;
    try {
      await this.#open();
      return await this.#request(method, params);
    } catch (error) {
      if (!(error instanceof LostSession) || !wasOpen) throw error;
      this.#forget();
      await this.#open();
      return await this.#request(method, params);
    }
  }

  async #open(): Promise<void> {
    if (this.#isOpen) return;
    const { protocolVersion: version } = await this.#request("initialize", {
      protocolVersion: protocolVersions[0]!,
      capabilities: {},
      clientInfo: { name: "model-gateway", version: programVersion },
    });
    if (typeof version !== "string" || !protocolVersions.includes(version)) {
      throw new McpFailure("speaks another version of the protocol");
    }
    this.#version = version;
    await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" });
    this.#isOpen = true;
  }

  async #request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#lastId;
    const { result, error } = await this.#post({ jsonrpc: "2.0", id, method, params }, id) ?? {};
    if (isJsonObject(error)) {
      const { message } = error;
      throw new ServerRefusal(typeof message === "string" ? message : "The call was refused.");
    }
    if (!isJsonObject(result)) throw new McpFailure("sent no valid answer");
    return result;
  }

  #headers(): (readonly [string, string])[] {
    return [
      ...this.#address.headers,
      ["accept", "application/json, text/event-stream"],
      ["accept-encoding", "identity"],
      ["user-agent", `model-gateway/${programVersion}`],
      ...(this.#version === undefined ? [] : [["mcp-protocol-version", this.#version] as const]),
      ...(this.#sessionId === undefined ? [] : [["mcp-session-id", this.#sessionId] as const]),
    ];
  }

  /** Posts a message, and reads the answer to `id`; nothing of the answer to a notification. */
  async #post(message: JsonObject, id?: number): Promise<JsonObject | undefined> {
    if (this.#isLate) throw new McpFailure("did not answer in time");
    const exchange = this.#world.transport.open({
      method: "POST",
      url: this.#address.url,
      headers: [...this.#headers(), ["content-type", "application/json"]],
      body: encoder.encode(stringifyExactly(message)),
    });
    this.#exchange = exchange;
    try {
      const response = decompressed(await exchange.response);
      const { status } = response;
      if (status === 404 && this.#sessionId !== undefined) {
        throw new LostSession("lost the session");
      }
      if (status < 200 || status > 299) {
        throw new McpFailure(`answered with the HTTP status ${status}`);
      }
      if (message["method"] === "initialize") this.#sessionId = response.header("mcp-session-id");
      return id === undefined ? undefined : await readAnswer(response, id);
    } catch (error) {
      throw error instanceof UpstreamFailure ? asMcpFailure(error) : error;
    } finally {
      exchange.cancel();
      this.#exchange = undefined;
    }
  }
}

/** Words for a failed exchange. All that may be inside the network has one message. */
function asMcpFailure({ code }: UpstreamFailure): McpFailure {
  switch (code) {
    case "timeout":
      return new McpFailure("did not answer in time");
    case "cut":
    case "protocol":
    case "cancelled":
      return new McpFailure("broke off its answer");
    case "too_large":
      return new McpFailure("sent too long an answer");
    case "connect":
    case "refused":
    case "shortage":
      return new McpFailure("cannot be reached");
  }
}

async function readAnswer(response: UpstreamResponse, id: number): Promise<JsonObject | undefined> {
  const type = response.header("content-type") ?? "";
  if (/^text\/event-stream\b/i.test(type.trim())) return await readEvents(response, id);
  const text = new TextDecoder().decode(await readWhole(response, maxMessageBytes));
  return answerIn(text, id);
}

/** Returns the answer to `id` in a message, or in a batch of messages, which one version of the protocol has. */
function answerIn(text: string, id: number): JsonObject | undefined {
  const value = tryParseExactly(text);
  const messages = Array.isArray(value) ? value : [value];
  return messages.find((message): message is JsonObject =>
    isJsonObject(message) && message["id"] === id && message["method"] === undefined
  );
}

/** Reads events up to the answer to `id`; requests and notifications of the server are passed over. */
async function readEvents(
  { body }: UpstreamResponse,
  id: number,
): Promise<JsonObject | undefined> {
  const splitter = new SseSplitter(maxMessageBytes);
  let answer: JsonObject | undefined;
  let length = 0;
  const visit = (frame: SseFrame): boolean => {
    if (frame.dataLines > 0) answer = answerIn(frame.data, id);
    return answer === undefined;
  };
  try {
    for (let bytes = await body.read(); bytes !== null; bytes = await body.read()) {
      length += bytes.length;
      if (length > maxMessageBytes) throw new McpFailure("sent too long an answer");
      splitter.push(bytes, visit);
      if (answer !== undefined) return answer;
    }
  } catch (error) {
    throw error instanceof SseFrameTooLargeError
      ? new McpFailure("sent too long an answer")
      : error;
  }
  const rest = splitter.takeRest();
  if (rest !== undefined) visit(rest);
  return answer;
}

/** Reads an entry of a list; none of what has no name. */
export function readTool(entry: Json): McpTool[] {
  if (!isJsonObject(entry)) return [];
  const { name, description, inputSchema, annotations } = entry;
  if (typeof name !== "string" || name === "") return [];
  return [{
    name,
    ...(typeof description === "string" && { description }),
    schema: isJsonObject(inputSchema) ? inputSchema : { type: "object" },
    ...(isJsonObject(annotations) && { annotations }),
  }];
}

function readResult(result: JsonObject): McpResult {
  const { content, structuredContent: structured, isError } = result;
  const parts = Array.isArray(content) ? content.filter(isJsonObject).map(readPart) : [];
  const text = parts.length === 0 && structured !== undefined
    ? stringifyExactly(structured)
    : parts.map((part) => typeof part === "string" ? part : `[${part.name}]`).join("\n");
  if (text.length > maxResultChars) {
    return failedResult(`The result has more than ${maxResultChars} characters; ask for less.`);
  }
  const media = parts.filter((part) => typeof part !== "string");
  return { text, failed: isError === true, media };
}

/** Makes the result of a call that did not run, or gave nothing. */
export function failedResult(text: string): McpResult {
  return { text, failed: true, media: [] };
}

function readPart(part: JsonObject): string | McpMedia {
  const { type, text, resource, uri, name } = part;
  if (type === "text" && typeof text === "string") return text;
  if (type === "resource_link") {
    return `${typeof name === "string" ? `${name}: ` : ""}${String(uri)}`;
  }
  if (type !== "resource" || !isJsonObject(resource)) {
    return mediaOf(String(type), part["mimeType"], part["data"]);
  }
  const { text: inner, uri: address, mimeType, blob } = resource;
  return typeof inner === "string" ? inner : mediaOf(`resource ${String(address)}`, mimeType, blob);
}

function mediaOf(kind: string, mimeType: Json | undefined, data: Json | undefined): McpMedia {
  const type = typeof mimeType === "string" ? mimeType : "";
  const name = type === "" ? kind : `${kind} ${type}`;
  const read = typeof data === "string" ? dataUrl(`data:${type};base64,${data}`) : undefined;
  if (read?.mediaType.startsWith("image/") !== true || decodeBase64(read.data) === undefined) {
    return { name };
  }
  return { name, image: { type: "image", path: "", source: { kind: "base64", ...read } } };
}

function clipped(text: string): string {
  return text.slice(0, maxResultChars);
}
