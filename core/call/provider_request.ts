/** From a route and a body to the request that goes out: address, credentials, and the headers that may travel. */
import type { RouteStyle } from "../catalog/catalog.ts";
import type { HttpProviderEntry, ProviderEntry } from "../catalog/schema.ts";
import type { UpstreamRequest } from "../upstream/transport.ts";

/** Where the built-in provider "lives"; no such host exists (RFC 2606). */
const sandboxOrigin = "http://sandbox.invalid";

const defaultPaths: Record<RouteStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  images: "/v1/images",
  speech: "/v1/audio/speech",
  videos: "/v1/videos",
};

/**
 * Request headers of clients that providers may see. Everything else stays here: client headers carry our keys,
 * addresses of people, and what their networks added.
 */
const forwardedHeaders: Partial<Record<RouteStyle, readonly string[]>> = {
  messages: ["anthropic-version", "anthropic-beta"],
  chat: ["openai-beta"],
  responses: ["openai-beta"],
};

/** The vendor requires one, the spec makes it optional for our clients (section 9). */
const defaultMessagesVersion = "2023-06-01";

function credentialHeader(provider: HttpProviderEntry, secret: string): [string, string] {
  switch (provider.auth) {
    case "bearer":
      return ["authorization", `Bearer ${secret}`];
    case "x-api-key":
      return ["x-api-key", secret];
    case "api-key":
      return ["api-key", secret];
  }
}

export interface ProviderRequestInput {
  readonly provider: ProviderEntry;
  readonly style: RouteStyle;
  /** Appended to the style's path, e.g. `/count_tokens`. */
  readonly subpath?: string;
  readonly method?: UpstreamRequest["method"];
  /** The credential of the provider; ignored by the sandbox. */
  readonly secret: string | undefined;
  readonly body: Uint8Array | null;
  readonly contentType?: string;
  readonly stream: boolean;
  /** A header of the client's request by lower-case name. */
  readonly clientHeader: (name: string) => string | undefined;
}

/** Builds the request to a provider. */
export function providerRequest(input: ProviderRequestInput): UpstreamRequest {
  const { provider, style, body } = input;
  const headers: [string, string][] = [
    ["accept", input.stream ? "text/event-stream" : "application/json"],
    // Answers are read and rewritten on their way; packed ones would only be refused.
    ["accept-encoding", "identity"],
  ];
  if (body !== null) headers.push(["content-type", input.contentType ?? "application/json"]);
  for (const name of forwardedHeaders[style] ?? []) {
    const value = input.clientHeader(name) ??
      (name === "anthropic-version"
        ? input.clientHeader("compat-version") ?? defaultMessagesVersion
        : undefined);
    if (value !== undefined) headers.push([name, value]);
  }
  let origin = sandboxOrigin;
  let path = defaultPaths[style];
  if (provider.kind === "http") {
    origin = provider.baseUrl.replace(/\/+$/, "");
    path = provider.paths[style] ?? path;
    headers.push(...Object.entries(provider.headers));
    if (input.secret !== undefined) headers.push(credentialHeader(provider, input.secret));
  }
  return {
    method: input.method ?? "POST",
    url: `${origin}${path}${input.subpath ?? ""}`,
    headers,
    body,
  };
}
