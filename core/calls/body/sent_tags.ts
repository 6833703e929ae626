/**
 * Reads the tags of a call: from the header `x-gateway-tags`, from the fields in which the styles have metadata and the
 * end user, and from the headers in which tools name themselves. It reads fields that the parser or the outline has at
 * hand, and parses no body itself.
 *
 * Whoever writes the header means the gateway, so a mistake in it is refused. A field is meant for the provider, too, so
 * what does not fit the bounds of tags, or holds an API key, is left out, and the call goes on.
 */
import {
  type CallTags,
  isTagKey,
  isTagValue,
  maxTags,
  sortedTags,
  tagKeyRule,
  tagValueRule,
} from "../../billing/usage/call_tags.ts";
import type { RouteStyle } from "../../catalog/entries/model.ts";
import { holdsKey } from "../../lib/base/key_forms.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { parseUrl } from "../../lib/runtime/built_ins.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import type { MediaBody } from "./body.ts";
import { partText } from "./multipart.ts";

/** The header with tags. */
export const tagsHeader = "x-gateway-tags";

/** The tag of the end user, whatever a style calls the field. */
const userTag = "user";

/** The tag of the application, and the headers in which tools name themselves, the most telling first. */
const appTag = "app";
const titleHeaders = ["x-title", "x-openrouter-title"] as const;
const siteHeader = "http-referer";

/**
 * Reads the name that a tool gives itself in its headers, as the value of a tag: the title, else the host of its site.
 *
 * @example
 * ```ts
 * import { sentAppName } from "./sent_tags.ts";
 * const named = new Headers({ "x-title": "Roo Code", "http-referer": "https://roo.example/x" });
 * if (sentAppName(named) !== "Roo-Code") throw new Error(sentAppName(named));
 * const unnamed = new Headers({ "http-referer": "https://roo.example/x" });
 * if (sentAppName(unnamed) !== "roo.example") throw new Error(sentAppName(unnamed));
 * ```
 */
export function sentAppName(headers: Pick<Headers, "get">): string | undefined {
  for (const name of titleHeaders) {
    const title = headers.get(name)?.replace(/[^A-Za-z0-9_.:/@+-]+/g, "-").replace(/^-+|-+$/g, "");
    if (title !== undefined && title !== "") return title;
  }
  const site = headers.get(siteHeader);
  return site === null ? undefined : parseUrl(site)?.host;
}

/** Fields in which the requests of a style have tags. */
interface TagFields {
  /** An object whose members are tags. */
  readonly metadata?: "metadata" | "labels";
  /** Paths of the end user; the first that has a text counts. */
  readonly user: readonly (readonly [field: string, member?: string])[];
}

const likeChat: TagFields = { metadata: "metadata", user: [["safety_identifier"], ["user"]] };
const userOnly: TagFields = { user: [["user"]] };

const tagFields: Readonly<Record<RouteStyle, TagFields>> = {
  chat: likeChat,
  responses: likeChat,
  messages: { user: [["metadata", "user_id"]] },
  gemini: { metadata: "labels", user: [] },
  completions: likeChat,
  converse: userOnly,
  images: userOnly,
  speech: userOnly,
  transcriptions: userOnly,
  videos: userOnly,
  embeddings: userOnly,
  moderations: userOnly,
  rerank: userOnly,
};

/** Returns the fields of a media body that may have tags. */
export function taggedFields(body: MediaBody): OutlineObject {
  if (body.kind === "json") return body.json.outline;
  const user = body.parts.find(({ name, fileName }) => name === userTag && fileName === undefined);
  return user === undefined ? {} : { user: partText(user) };
}

function malformed(problem: string): GatewayError {
  return new GatewayError("invalid_request", `${tagsHeader}: ${problem}`, { param: tagsHeader });
}

/**
 * Reads the header: `team=search, env=prod`.
 *
 * @throws {GatewayError} `invalid_request` that says what is wrong with it
 */
function headerTags(header: string): Map<string, string> {
  const tags = new Map<string, string>();
  const pairs = header.split(",", maxTags + 1);
  if (pairs.length > maxTags) throw malformed(`at most ${maxTags} tags`);
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 0) throw malformed('must be pairs such as "team=search,env=prod"');
    const [key, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (!isTagKey(key)) throw malformed(tagKeyRule);
    if (!isTagValue(value)) throw malformed(`${key}: ${tagValueRule}`);
    if (holdsKey(pair)) throw malformed("holds an API key, and tags are stored as they are");
    if (tags.has(key)) throw malformed(`names ${key} twice`);
    tags.set(key, value);
  }
  return tags;
}

function add(tags: Map<string, string>, key: string, value: Outline | undefined): void {
  if (typeof value !== "string" || tags.size >= maxTags || tags.has(key)) return;
  if (isTagKey(key) && isTagValue(value) && !holdsKey(value)) tags.set(key, value);
}

/** Members of a metadata object that are looked at: the vendors allow 16. */
const maxMetadataMembers = 64;

function addFields(tags: Map<string, string>, { metadata, user }: TagFields, body: OutlineObject) {
  const members = metadata === undefined ? undefined : body[metadata];
  if (isJsonObject(members)) {
    let left = maxMetadataMembers;
    for (const key in members) {
      if (left-- === 0) break;
      add(tags, key, members[key]);
    }
  }
  for (const [field, member] of user) {
    const value = body[field];
    add(
      tags,
      userTag,
      member === undefined ? value : isJsonObject(value) ? value[member] : undefined,
    );
  }
}

/**
 * Reads the tags of a call; `undefined` if it has none. A tag of the header wins over one of a field, members of
 * metadata over the field of the end user, and all of them over the name of a tool.
 *
 * @param required keys that the account requires
 * @throws {GatewayError} `invalid_request` for a malformed header, or naming the required keys that are missing
 *
 * @example
 * ```ts
 * import { readSentTags } from "./sent_tags.ts";
 * const body = { metadata: { team: "search", note: "not a tag" }, user: "u-17" };
 * const tags = readSentTags("chat", body, { header: "team=ads", required: undefined });
 * if (tags?.map(({ key, value }) => `${key}=${value}`).join() !== "team=ads,user=u-17") throw new Error();
 * ```
 */
export function readSentTags(
  style: RouteStyle,
  body: OutlineObject,
  { header, app, required }: {
    readonly header: string | null;
    /** Name of the tool, as {@linkcode sentAppName} has read it. */
    readonly app?: string | undefined;
    readonly required: readonly string[] | undefined;
  },
): CallTags | undefined {
  const tags = header === null ? new Map<string, string>() : headerTags(header);
  addFields(tags, tagFields[style], body);
  add(tags, appTag, app);
  const missing = required?.filter((key) => !tags.has(key)) ?? [];
  if (missing.length > 0) {
    throw malformed(
      `this account requires the tag${missing.length > 1 ? "s" : ""} ${missing.join(", ")}; ` +
        `send ${missing.map((key) => `${key}=…`).join(",")} in this header`,
    );
  }
  return tags.size === 0 ? undefined : sortedTags(tags);
}
