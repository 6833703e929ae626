/** Builds the request to a provider: address, credentials, and the client headers that may be forwarded. */
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { RouteStyle } from "../../catalog/catalog.ts";
import { type Cloud, credentialHeader } from "../../catalog/entries/cloud_schema.ts";
import { cloudPath, hasVersionInBody } from "../../clouds/request_form.ts";
import type { HttpProvider } from "../../catalog/presets/expand.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import type { UpstreamRequest } from "../../net/transport/transport.ts";

/** The address of the built-in provider; no such host exists (RFC 2606). */
const sandboxOrigin = "http://sandbox.invalid";

const defaultPaths: Record<RouteStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  // The name of the model and the operation follow.
  gemini: "/v1beta/models",
  // The same.
  converse: "/model",
  images: "/v1/images",
  speech: "/v1/audio/speech",
  videos: "/v1/videos",
  embeddings: "/v1/embeddings",
  transcriptions: "/v1/audio",
  rerank: "/v1/rerank",
  moderations: "/v1/moderations",
  completions: "/v1/completions",
};

/**
 * Client headers that providers may see. No others are forwarded: client headers carry our keys, addresses of people,
 * and headers that their networks added.
 */
const forwardedHeaders: Partial<Record<RouteStyle, readonly string[]>> = {
  messages: ["anthropic-version", "anthropic-beta"],
  chat: ["openai-beta"],
  responses: ["openai-beta"],
};

/** The version for clients that send none: the vendor requires it, the gateway does not. */
const defaultMessagesVersion = "2023-06-01";

/** The parts of a request to a provider. */
export interface ProviderRequestInput {
  readonly provider: ProviderEntry;
  readonly style: RouteStyle;
  /** The provider's name of the model, which the Gemini style and clouds have in the path. */
  readonly model?: string | undefined;
  /** Appended to the style's path, e.g. `/count_tokens`. */
  readonly subpath?: string;
  readonly method?: UpstreamRequest["method"];
  /** The credential of the provider; ignored by the sandbox. */
  readonly secret: string | undefined;
  readonly body: ByteParts | null;
  readonly contentType?: string;
  readonly stream: boolean;
  /** A header of the client's request by lower-case name. */
  readonly clientHeader: (name: string) => string | undefined;
  /** See {@linkcode UpstreamRequest.onSentAgain}. */
  readonly onSentAgain?: (() => void) | undefined;
}

/** A request without its body. */
interface RequestFrame {
  readonly url: string;
  readonly headers: UpstreamRequest["headers"];
}

/** Frames without client headers, by all that they are made of. */
const knownFrames = new WeakMap<ProviderEntry, Map<string, RequestFrame>>();

/** Lists the forwarded client headers, without those that have their usual value. */
function ownHeaders({ provider, style, clientHeader }: ProviderRequestInput): [string, string][] {
  const own: [string, string][] = [];
  if (hasVersionInBody(cloudOf(provider), style)) return own;
  for (const name of forwardedHeaders[style] ?? []) {
    const value = clientHeader(name) ??
      (name === "anthropic-version" ? clientHeader("compat-version") : undefined);
    if (value === undefined) continue;
    if (name !== "anthropic-version" || value !== defaultMessagesVersion) own.push([name, value]);
  }
  return own;
}

function cloudOf(provider: ProviderEntry): Cloud | undefined {
  return provider.kind === "http" ? provider.cloud : undefined;
}

/** Returns path and query at a provider. */
function pathOf(input: ProviderRequestInput): string {
  const { provider, style, stream, model = "", subpath = "" } = input;
  const own = provider.kind === "http" ? provider.paths[style] : undefined;
  const cloud = cloudOf(provider);
  const path = own === undefined && cloud !== undefined
    ? cloudPath(cloud, { style, model, stream, subpath })
    : undefined;
  const operation = style === "gemini"
    ? geminiOperation(input)
    : style === "converse"
    ? `/${encodeURIComponent(model)}/${stream ? "converse-stream" : "converse"}`
    : "";
  return path ?? `${own ?? defaultPaths[style]}${operation}${subpath}`;
}

/** Returns the end of the path of a Gemini request. */
function geminiOperation({ model = "", stream, subpath }: ProviderRequestInput): string {
  const name = model.split("/").map(encodeURIComponent).join("/");
  if (subpath !== undefined) return `/${name}`;
  return `/${name}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

function acceptedType({ provider, style, stream }: ProviderRequestInput): string {
  // Bedrock frames its streams in a form of its own, whatever is asked for.
  const isFramed = cloudOf(provider)?.name === "bedrock" &&
    (style === "messages" || style === "converse");
  return stream && !isFramed ? "text/event-stream" : "application/json";
}

function originOf({ baseUrl }: HttpProvider): string {
  return baseUrl.replace(/\/+$/, "");
}

/** Returns the headers that the operator has set, and the key. */
function operatorHeaders(
  { auth, headers }: HttpProvider,
  secret: string | undefined,
): [string, string][] {
  // Other credentials are added by the transport, which may have to renew them.
  const key = secret !== undefined && typeof auth === "string"
    ? [credentialHeader(auth, secret)]
    : [];
  return [...Object.entries(headers), ...key];
}

/** Builds a request for something that belongs to no call, such as the credit of the account. */
export function accountRequest(
  provider: HttpProvider,
  path: string,
  secret: string | undefined,
): UpstreamRequest {
  const headers: [string, string][] = [
    ["accept", "application/json"],
    ["accept-encoding", "identity"],
    ...operatorHeaders(provider, secret),
  ];
  return { method: "GET", url: `${originOf(provider)}${path}`, headers, body: null };
}

/** Beginning of the default paths of styles whose end names what they serve. */
const versionPath = "/v1";

/**
 * Builds the request for the list of a provider's models, which costs nothing.
 *
 * @returns `undefined` where the path of the style does not tell where that list is
 */
export function modelListRequest(
  provider: HttpProvider,
  style: RouteStyle,
  secret: string,
): UpstreamRequest | undefined {
  const usual = defaultPaths[style];
  const served = provider.paths[style] ?? usual;
  const end = usual.slice(versionPath.length);
  if (style !== "gemini" && !served.endsWith(end)) return undefined;
  const path = style === "gemini" ? served : `${served.slice(0, -end.length)}/models`;
  const request = accountRequest(provider, path, secret);
  return style !== "messages" ? request : {
    ...request,
    headers: [...request.headers, ["anthropic-version", defaultMessagesVersion]],
  };
}

function frameOf(input: ProviderRequestInput, own: readonly [string, string][]): RequestFrame {
  const { provider, style, body } = input;
  const headers: [string, string][] = [
    ["accept", acceptedType(input)],
    // Answers are read and rewritten, so a compressed one would be refused.
    ["accept-encoding", "identity"],
  ];
  if (body !== null) headers.push(["content-type", input.contentType ?? "application/json"]);
  const hasVersion = own.some(([name]) => name === "anthropic-version");
  if (style === "messages" && !hasVersion && !hasVersionInBody(cloudOf(provider), style)) {
    headers.push(["anthropic-version", defaultMessagesVersion]);
  }
  headers.push(...own);
  let origin = sandboxOrigin;
  if (provider.kind === "http") {
    origin = originOf(provider);
    headers.push(...operatorHeaders(provider, input.secret));
  }
  return { url: `${origin}${pathOf(input)}`, headers: Object.freeze(headers) };
}

/**
 * Finds or makes the frame of a request. There is one for each provider, style, credential and, at clouds, model,
 * since most requests of a route differ only in their bodies.
 */
function knownFrame(input: ProviderRequestInput): RequestFrame {
  const { provider, style, stream, secret, body } = input;
  const isInPath = style === "gemini" || style === "converse" ||
    cloudOf(provider) !== undefined;
  const model = isInPath ? input.model ?? "" : "";
  let frames = knownFrames.get(provider);
  if (frames === undefined) knownFrames.set(provider, frames = new Map());
  const key = `${style} ${model} ${stream} ${body === null} ${secret ?? ""}`;
  let frame = frames.get(key);
  if (frame === undefined) frames.set(key, frame = frameOf(input, []));
  return frame;
}

/** Builds the request to a provider. */
export function providerRequest(input: ProviderRequestInput): UpstreamRequest {
  const own = ownHeaders(input);
  // Frames with ids in the path or a boundary in the type are not kept: their number has no bound.
  const isUsual = own.length === 0 && input.subpath === undefined &&
    input.contentType === undefined;
  const { url, headers } = isUsual ? knownFrame(input) : frameOf(input, own);
  const { method = "POST", body, onSentAgain } = input;
  return { method, url, headers, body, onSentAgain };
}
