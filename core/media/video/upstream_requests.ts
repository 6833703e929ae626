/** Builds requests to a provider of videos, one function per operation. */
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import type { UpstreamRequest } from "../../net/transport/transport.ts";
import type { UpstreamBody } from "../base/upstream_body.ts";
import type { VideoAdapter } from "../../catalog/entries/video_adapter.ts";
import { defined } from "../../lib/base/defined.ts";

/** The place of a task: the provider, the credential that created it, and the adapter. */
export interface VideoUpstream {
  readonly provider: ProviderEntry;
  readonly secret: string | undefined;
  readonly adapter: VideoAdapter;
}

const standardPath = "/v1/videos";

function requestTo(
  upstream: VideoUpstream,
  template: string,
  more: {
    readonly method: UpstreamRequest["method"];
    readonly id?: string;
    readonly query?: string;
    readonly body?: UpstreamBody;
  },
): UpstreamRequest {
  const { provider, secret } = upstream;
  const ownPath = provider.kind === "http" ? provider.paths["videos"] : undefined;
  const path = template.replace("{videos}", ownPath ?? standardPath)
    .replace("{id}", encodeURIComponent(more.id ?? ""));
  const full = `${path}${more.query ?? ""}`;
  const common = {
    style: "videos" as const,
    method: more.method,
    secret,
    body: more.body?.bytes ?? null,
    ...defined({ contentType: more.body?.contentType }),
    stream: false,
    clientHeader: () => undefined,
  };
  if (provider.kind === "http") {
    const paths = { ...provider.paths, videos: full };
    return providerRequest({ ...common, provider: { ...provider, paths } });
  }
  // The sandbox supports only the standard dialect.
  return providerRequest({ ...common, provider, subpath: full.slice(standardPath.length) });
}

/** Builds the request that submits a task. */
export function submitRequest(upstream: VideoUpstream, body: UpstreamBody): UpstreamRequest {
  return requestTo(upstream, upstream.adapter.submit.path, { method: "POST", body });
}

/** Builds the request for the state of a task. */
export function pollRequest(upstream: VideoUpstream, id: string): UpstreamRequest {
  return requestTo(upstream, upstream.adapter.poll.path, { method: "GET", id });
}

/** Builds the request that cancels a task; `undefined` if the provider cannot. */
export function cancelRequest(upstream: VideoUpstream, id: string): UpstreamRequest | undefined {
  const { cancel } = upstream.adapter;
  if (cancel === undefined) return undefined;
  return requestTo(upstream, cancel.path, { method: cancel.method, id });
}

/**
 * The parts of a finished task that can be requested; the names are those of the `/v1/videos`
 * dialect.
 */
export const videoVariants = ["video", "thumbnail", "spritesheet"] as const;
/** A part of a finished task that can be downloaded. */
export type VideoVariant = typeof videoVariants[number];

/**
 * The headers of a download that a provider may see: what ranges need, nothing that identifies the
 * client.
 */
export type RangeHeaders = readonly (readonly [name: "range" | "if-range", value: string])[];

/** Builds the request for the file where the provider serves it under the task. */
export function contentRequest(
  upstream: VideoUpstream,
  path: string,
  options: { readonly id: string; readonly variant: VideoVariant; readonly range: RangeHeaders },
): UpstreamRequest {
  const query = options.variant === "video" ? "" : `?variant=${options.variant}`;
  const request = requestTo(upstream, path, { method: "GET", id: options.id, query });
  const headers = request.headers.filter(([name]) => name !== "accept");
  return { ...request, headers: [...headers, ["accept", "*/*"], ...options.range] };
}
