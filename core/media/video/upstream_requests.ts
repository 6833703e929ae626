/** Builds requests to a provider of videos, one function per operation. */
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import type { UpstreamRequest } from "../../net/transport/transport.ts";
import {
  type MediaExchange,
  type MediaWork,
  parseJson,
  type UpstreamBody,
} from "../base/exchange.ts";
import { type VideoAdapter, videoAdapterOf } from "../../catalog/entries/video_rules.ts";
import { defined } from "../../lib/base/defined.ts";
import { readWhole } from "../../net/transport/read_whole.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { VideoRequest } from "./request.ts";
import { readPointer, videoSubmitBody } from "./submit_body.ts";
import { publicMessage } from "../../wire/errors/error_fields.ts";
import {
  OperatorRefusal,
  readNoAnswer,
  readProviderError,
} from "../../wire/errors/provider_error.ts";
import { idText, isJsonObject, type Json } from "../../lib/json/json.ts";
import type { VideoError, VideoSighting, VideoState } from "./task.ts";
import { dayMs } from "../../lib/time/durations.ts";

// Reads providers' answers to submissions and polls. Every value is checked against a bound.

/** Longest task id that is stored; the longest in use have some 100 characters. */
const upstreamIdChars = 512;

/**
 * Reads the id of the task from the answer to a submission; `undefined` if there is no usable one.
 */
function readUpstreamId(adapter: VideoAdapter, answer: Json): string | undefined {
  const id = idText(readPointer(answer, adapter.submit.id));
  if (id === undefined || id === "" || id.length > upstreamIdChars) return undefined;
  return id;
}

/**
 * A provider may announce the end of a file at most this far ahead; anything later is a mistake of
 * units.
 */
const expiryBoundMs = 400 * dayMs;

function readTimeMs(value: Json | undefined, nowMs: number): number | undefined {
  let ms: number;
  if (typeof value === "number") ms = value > 1e11 ? value : value * 1_000;
  else if (typeof value === "string") {
    ms = /^\d{9,13}$/.test(value)
      ? Number(value) * (value.length > 11 ? 1 : 1_000)
      : Date.parse(value);
  } else return undefined;
  return Number.isFinite(ms) && Math.abs(ms - nowMs) < expiryBoundMs ? Math.floor(ms) : undefined;
}

function readState(adapter: VideoAdapter, answer: Json): VideoState {
  const word = readPointer(answer, adapter.poll.state);
  const key = typeof word === "string" ? word.toLowerCase() : "";
  // An unknown state counts as running: the deadline ends a task that never does.
  const state = Object.hasOwn(adapter.poll.states, key) ? adapter.poll.states[key] : undefined;
  // So does a video that is done and nowhere: its address comes later, or the task is refunded.
  if (state === "completed" && !hasFile(adapter, answer)) return "in_progress";
  return state ?? "in_progress";
}

function hasFile({ content }: VideoAdapter, answer: Json): boolean {
  if (!("url" in content)) return true;
  const address = readPointer(answer, content.url);
  return typeof address === "string" && address !== "";
}

/** Failure of a task in the provider's words, where its adapter finds them. */
function saidOf(
  { poll: { errorCode, errorMessage } }: VideoAdapter,
  answer: Json,
): { readonly code: Json | undefined; readonly message: Json | undefined } {
  return {
    code: errorCode === undefined ? undefined : readPointer(answer, errorCode),
    message: errorMessage === undefined ? undefined : readPointer(answer, errorMessage),
  };
}

function readError(adapter: VideoAdapter, answer: Json): VideoError | undefined {
  const { code, message } = saidOf(adapter, answer);
  const isCode = typeof code === "string" && /^[A-Za-z0-9_.-]{1,64}$/.test(code) &&
    publicMessage(code) === code;
  const cleanMessage = typeof message === "string" ? publicMessage(message) : "";
  if (!isCode && cleanMessage === "") return undefined;
  const general = { code: "generation_failed", message: "The provider could not make this video." };
  // An account without balance is no matter of the client's.
  if (readProviderError({ error: { code, message } }) instanceof OperatorRefusal) return general;
  return {
    code: isCode ? code : general.code,
    message: cleanMessage || general.message,
  };
}

/** Reads the answer to a poll (or to a submission with the same form). */
export function readSighting(adapter: VideoAdapter, answer: Json, nowMs: number): VideoSighting {
  const { progress, completedAt, expiresAt } = adapter.poll;
  const percent = progress === undefined ? undefined : readPointer(answer, progress);
  const number = typeof percent === "string" ? Number(percent.replace(/%$/, "")) : percent;
  return {
    state: readState(adapter, answer),
    progress: typeof number === "number" && Number.isFinite(number) ? number : undefined,
    completedAtMs: completedAt === undefined
      ? undefined
      : readTimeMs(readPointer(answer, completedAt), nowMs),
    expiresAtMs: expiresAt === undefined
      ? undefined
      : readTimeMs(readPointer(answer, expiresAt), nowMs),
    error: readError(adapter, answer),
  };
}

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
function submitRequest(upstream: VideoUpstream, body: UpstreamBody): UpstreamRequest {
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

// One attempt on a video route: the task submitted and accepted, or not.

/** Bytes of a provider's answer to a submission or a poll of a video: a small object. */
export const maxVideoAnswerBytes = 1024 * 1024;

/**
 * Describes the creation of a video for its routes; the value is the provider's id of the accepted
 * task.
 */
export function videoWork(request: VideoRequest): MediaWork<string> {
  return {
    async prepare(route, tools) {
      const adapter = videoAdapterOf(route.capabilities);
      const body = await videoSubmitBody(request, adapter, route.upstreamModel, tools);
      return (access) => submitRequest({ ...access, adapter }, body);
    },
    receive: receiveTask,
  };
}

/** Whether an error says more than that there was one. */
function isKnown(error: GatewayError): boolean {
  return error.code !== "upstream_unreachable" || error instanceof OperatorRefusal;
}

async function receiveTask({ route, answered }: MediaExchange): Promise<string> {
  const adapter = videoAdapterOf(route.capabilities);
  const response = await answered();
  const answer = parseJson(await readWhole(response, maxVideoAnswerBytes));
  const upstreamId = answer === undefined ? undefined : readUpstreamId(adapter, answer);
  if (answer === undefined || upstreamId === undefined) {
    const said = isJsonObject(answer) ? readNoAnswer(answer) : undefined;
    if (said !== undefined && isKnown(said)) throw said;
    throw new GatewayError("upstream_unreachable", "The provider of this model named no task");
  }
  const { state, error } = readSighting(adapter, answer, 0);
  if (state === "failed" || state === "cancelled") {
    const said = readProviderError({ error: { ...saidOf(adapter, answer) } });
    if (isKnown(said)) throw said;
    // Accepted and refused in one answer: equivalent to a 400, and nothing is charged.
    throw new GatewayError(
      "content_policy_violation",
      error?.message ?? "The provider refused to make this video",
    );
  }
  return upstreamId;
}
