/**
 * Finds the URLs in a chat request that a provider would fetch (pictures, files, sound, video, tool servers) and
 * refuses those that do not lead to public addresses. Otherwise a client could reach into the network of the provider
 * or the operator through a provider that fetches.
 */
import { GatewayError } from "../../errors.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import { parseRemoteUrl } from "../../media/remote_url.ts";

/** A URL of a request. */
export interface FetchedUrl {
  readonly url: URL;
  /** Path of the part or tool in the client's request. */
  readonly path: string;
}

/** Types of message parts whose URL is fetched. Sources and search results have URLs too, but only for display. */
const fetchedParts: ReadonlySet<unknown> = new Set([
  "image",
  "image_url",
  "input_image",
  "document",
  "document_url",
  "file",
  "file_url",
  "input_file",
  "audio_url",
  "input_audio",
  "video",
  "video_url",
  "input_video",
]);

/** Fields that hold a URL, or an object with one. */
const urlMembers = [
  "url",
  "source",
  "image_url",
  "document_url",
  "file",
  "file_url",
  "file_data",
  "audio_url",
  "input_audio",
  "video_url",
  "image",
  "data",
] as const;

/** Depth of objects within a part: `{image_url: {url}}`, `{source: {type, url}}`. */
const memberDepth = 2;

/**
 * Finds the URLs that a provider would fetch.
 *
 * @throws {GatewayError} `invalid_request` naming the place of a URL that cannot lead to a public server
 *
 * @example
 * ```ts
 * import { fetchedUrls } from "./fetched_urls.ts";
 * const asking = (url: string) => ({
 *   messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
 * });
 * if (fetchedUrls(asking("https://example.com/a.png"))[0]?.url.hostname !== "example.com") throw new Error();
 * let refusal = "";
 * try {
 *   fetchedUrls(asking("http://169.254.169.254/latest"));
 * } catch (error) {
 *   refusal = String(error);
 * }
 * if (!refusal.includes("messages.0.content.0: must point to a public address")) throw new Error(refusal);
 * ```
 */
export function fetchedUrls(body: OutlineObject): readonly FetchedUrl[] {
  const found: FetchedUrl[] = [];
  for (const field of ["messages", "input"]) {
    const list = body[field];
    if (!Array.isArray(list)) continue;
    for (const [i, item] of list.entries()) {
      if (!isJsonObject(item)) continue;
      inContent(item["content"], `${field}.${i}.content`, found);
      inContent(item["output"], `${field}.${i}.output`, found);
    }
  }
  inGeminiContents(body["contents"], found);
  inServers(body["tools"], "tools", "server_url", found);
  inServers(body["mcp_servers"], "mcp_servers", "url", found);
  return found;
}

/**
 * Finds the URLs in a list of parts that is not within a message.
 *
 * @throws {GatewayError} as {@linkcode fetchedUrls}
 */
export function urlsOfParts(parts: Outline | undefined, path: string): readonly FetchedUrl[] {
  const found: FetchedUrl[] = [];
  inContent(parts, path, found);
  return found;
}

function inContent(content: Outline | undefined, path: string, found: FetchedUrl[]): void {
  if (!Array.isArray(content)) return;
  for (const [i, part] of content.entries()) {
    if (!isJsonObject(part)) continue;
    if (fetchedParts.has(part["type"])) inMembers(part, `${path}.${i}`, memberDepth, found);
    // Tool results hold parts themselves, and so may documents.
    inContent(part["content"], `${path}.${i}.content`, found);
    const { source } = part;
    if (isJsonObject(source)) inContent(source["content"], `${path}.${i}.source.content`, found);
  }
}

function inGeminiContents(contents: Outline | undefined, found: FetchedUrl[]): void {
  const list = Array.isArray(contents) ? contents : [contents];
  for (const [i, content] of list.entries()) {
    if (isJsonObject(content)) inGeminiParts(content["parts"], `contents.${i}.parts`, found);
  }
}

function inGeminiParts(parts: Outline | undefined, path: string, found: FetchedUrl[]): void {
  if (!Array.isArray(parts)) return;
  for (const [i, part] of parts.entries()) {
    if (!isJsonObject(part)) continue;
    const { fileData: file, functionResponse: result } = part;
    const url = isJsonObject(file) ? file["fileUri"] : undefined;
    if (typeof url === "string") note(url, `${path}.${i}.fileData.fileUri`, found);
    if (isJsonObject(result)) {
      inGeminiParts(result["parts"], `${path}.${i}.functionResponse.parts`, found);
    }
  }
}

function inMembers(object: OutlineObject, path: string, depth: number, found: FetchedUrl[]): void {
  for (const name of urlMembers) {
    const value = object[name];
    if (typeof value === "string") note(value, path, found);
    else if (depth > 0 && isJsonObject(value)) {
      inMembers(value, path, depth - 1, found);
    }
  }
}

function inServers(
  list: Outline | undefined,
  field: string,
  name: string,
  found: FetchedUrl[],
): void {
  if (!Array.isArray(list)) return;
  for (const [i, entry] of list.entries()) {
    const url = isJsonObject(entry) ? entry[name] : undefined;
    if (typeof url === "string") note(url, `${field}.${i}.${name}`, found);
  }
}

/** Schemes that providers fetch. Anything else is data, or has a meaning only to its provider. */
const fetchedSchemes = /^\s*(?:https?|ftp|file):/i;

function note(text: string, path: string, found: FetchedUrl[]): void {
  if (!fetchedSchemes.test(text)) return;
  const url = parseRemoteUrl(text.trim());
  if (typeof url === "string") throw refusedUrl(path, url);
  found.push({ url, path });
}

/** Most different hosts of one call: each may need a DNS lookup. */
const mostHosts = 32;

/**
 * Refuses host names that do not lead to public addresses only. All causes have the same message: a client must not
 * learn from a difference which internal names exist.
 *
 * @throws {GatewayError} `invalid_request` naming the place
 */
export async function refuseInternalNames(
  urls: readonly FetchedUrl[],
  isPublic: (host: string) => Promise<boolean>,
): Promise<void> {
  const byHost = new Map(urls.map((one) => [one.url.hostname, one]));
  const distinct = [...byHost.values()];
  const beyond = distinct[mostHosts];
  if (beyond !== undefined) throw refusedUrl(beyond.path, `more than ${mostHosts} hosts are named`);
  const verdicts = await Promise.all(distinct.map(({ url }) => isPublic(url.hostname)));
  const inside = distinct[verdicts.indexOf(false)];
  if (inside !== undefined) throw refusedUrl(inside.path, "must point to a public address");
}

/** Makes the refusal of a URL. */
function refusedUrl(path: string, why: string): GatewayError {
  return new GatewayError("invalid_request", `${path}: ${why}`, { param: path });
}
