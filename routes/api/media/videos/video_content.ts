/** `GET /v1/videos/{id}/content`: streams the file from where it is stored, ranges included. Free of charge. */
import type { HttpRequest } from "../../../http/body/http_request.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { parseRemoteUrl } from "../../../../core/net/remote/remote_url.ts";
import type {
  Transport,
  UpstreamExchange,
  UpstreamRequest,
  UpstreamResponse,
} from "../../../../core/net/transport/transport.ts";
import { readPointer } from "../../../../core/media/video/submit_body.ts";
import type { VideoTask } from "../../../../core/media/video/task.ts";
import {
  contentRequest,
  pollRequest,
  type RangeHeaders,
  type VideoVariant,
  videoVariants,
} from "../../../../core/media/video/upstream_requests.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import { relayedBody } from "../base/event_delivery.ts";
import {
  askProviderOf,
  findVideo,
  smallExchange,
  type TaskUpstream,
  upstreamOf,
} from "./video_tasks.ts";
import { errorName } from "../../../../core/lib/base/assert.ts";
import { startOutboxWorker } from "../../../../kv/engine/outbox/outbox_worker.ts";
import { webhookEvents } from "../../../../kv/people/webhooks/events.ts";
import {
  pollDueTasks,
  sweepOverdueVideos,
  videoPolls,
  videoPollWork,
  type VideoPollWorld,
} from "../../../../kv/services/videos/mod.ts";
import type { BackgroundWorker } from "../../gateway/access_watch.ts";

// Polls video tasks in the background: a worker in this process, and a sweep by timer and cron.

function pollWorld(gateway: Gateway, stop?: AbortSignal): VideoPollWorld {
  return {
    kv: gateway.kv,
    clock: gateway.clock,
    random: gateway.random,
    isTold: gateway.media.wakeUp.isTold,
    ask: askProviderOf(gateway, stop),
    onEnded: () => gateway.media.wakeUp.nudge(webhookEvents.name),
    onFailure: ({ id, attempt, fate, error }) =>
      gateway.log.event("warn", "video poll failed", {
        video_id: id,
        attempt,
        fate,
        error: errorName(error),
      }),
  };
}

/** Milliseconds between two searches for tasks whose poll was lost, e.g. with its process. */
const sweepEveryMs = 60_000;

/** Starts the worker of this process. `stop` cancels the polls in flight; they are repeated after the restart. */
export function startVideoWorker(gateway: Gateway): BackgroundWorker {
  const stopping = new AbortController();
  const world = pollWorld(gateway, stopping.signal);
  const worker = startOutboxWorker(world, videoPollWork(world));
  const remove = gateway.media.wakeUp.add(videoPolls.name, worker);
  return {
    nudge: () => worker.nudge(),
    sweep: { name: "sweep videos", everyMs: sweepEveryMs, run: () => sweepVideos(world) },
    async stop() {
      remove();
      stopping.abort();
      await worker.stop();
    },
  };
}

/**
 * Finds tasks whose poll was lost, and runs every poll that is due. By cron, tasks also end where no
 * process stays alive between requests. Several sweeps may run at the same time.
 */
async function sweepVideos(world: VideoPollWorld): Promise<void> {
  await sweepOverdueVideos(world);
  await pollDueTasks(world);
}

/** Most redirects that are followed from a provider to the store of a finished video. */
const maxRedirects = 3;

function gone(): GatewayError {
  return new GatewayError("not_found", "The file of this video is no longer available");
}

function unreachable(cause?: unknown): GatewayError {
  return new GatewayError(
    "upstream_unreachable",
    "The provider of this video cannot be reached",
    cause === undefined ? {} : { cause },
  );
}

function readVariant(url: URL): VideoVariant {
  const text = url.searchParams.get("variant") ?? "video";
  const variant = videoVariants.find((known) => known === text);
  if (variant !== undefined) return variant;
  throw new GatewayError("invalid_request", `variant: must be one of ${videoVariants.join(", ")}`, {
    param: "variant",
  });
}

function readRange(headers: HttpRequest["headers"]): RangeHeaders {
  const range = headers.get("range");
  if (range === null) return [];
  const condition = headers.get("if-range");
  return condition === null ? [["range", range]] : [["range", range], ["if-range", condition]];
}

function checkReady(task: VideoTask, nowMs: number): void {
  if (task.state !== "completed") {
    throw new GatewayError("invalid_request", `The video is ${task.state}: it has no file`);
  }
  if (task.expiresAtMs !== undefined && nowMs >= task.expiresAtMs) throw gone();
}

/** An answer whose body has not been read yet. */
interface OpenFile {
  readonly exchange: UpstreamExchange;
  readonly response: UpstreamResponse;
}

async function openOnce(transport: Transport, request: UpstreamRequest): Promise<OpenFile> {
  const exchange = transport.open(request);
  try {
    return { exchange, response: await exchange.response };
  } catch (cause) {
    throw unreachable(cause);
  }
}

/** Opens a file outside the provider's API, without credentials and only at public addresses. */
async function openElsewhere(
  gateway: Gateway,
  text: string,
  range: RangeHeaders,
): Promise<OpenFile> {
  let location = text;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const url = parseRemoteUrl(location);
    if (typeof url === "string") throw unreachable();
    const file = await openOnce(gateway.media.remote.transport, {
      method: "GET",
      url: url.href,
      headers: [["accept", "*/*"], ["accept-encoding", "identity"], ...range],
      body: null,
    });
    const next = redirectOf(file.response, url.href);
    if (next === undefined) return file;
    file.exchange.cancel();
    location = next;
  }
  throw unreachable();
}

function redirectOf(response: UpstreamResponse, base: string): string | undefined {
  if (![301, 302, 303, 307, 308].includes(response.status)) return undefined;
  const location = response.header("location") ?? "";
  return URL.canParse(location, base) ? new URL(location, base).href : undefined;
}

async function openFile(
  gateway: Gateway,
  upstream: TaskUpstream,
  task: VideoTask,
  wanted: { readonly variant: VideoVariant; readonly range: RangeHeaders },
): Promise<OpenFile> {
  const { content } = upstream.adapter;
  if ("path" in content) {
    const request = contentRequest(upstream, content.path, { id: task.upstreamId, ...wanted });
    const file = await openOnce(upstream.transport, request);
    const elsewhere = redirectOf(file.response, request.url);
    if (elsewhere === undefined) return file;
    file.exchange.cancel();
    return await openElsewhere(gateway, elsewhere, wanted.range);
  }
  if (wanted.variant !== "video") {
    throw new GatewayError("invalid_request", "variant: this model has only video", {
      param: "variant",
    });
  }
  // The address is fetched each time: it is signed, and must not be stored.
  const poll = pollRequest(upstream, task.upstreamId);
  const { body } = await smallExchange(gateway, upstream.transport, poll).catch(
    (cause: unknown) => {
      throw unreachable(cause);
    },
  );
  const address = body === undefined ? undefined : readPointer(body, content.url);
  if (typeof address !== "string") throw gone();
  return await openElsewhere(gateway, address, wanted.range);
}

/** Headers of a file that are passed on; all others of a provider are dropped. */
const passedHeaders = [
  "content-length",
  "content-range",
  "accept-ranges",
  "etag",
  "last-modified",
];

/** Types of files. Object stores send `binary/octet-stream` for files that were stored without a type. */
const fileTypes =
  /^(?:video\/|image\/|binary\/octet-stream|application\/(?:octet-stream|mp4|binary))/i;

/** Finds the type of a file. A missing type is accepted: pages and errors have one. */
function fileType({ response }: OpenFile, variant: VideoVariant): string {
  const untyped = variant === "video" ? "video/mp4" : "application/octet-stream";
  return response.header("content-type")?.trim() || untyped;
}

function checkAnswer({ exchange, response }: OpenFile, type: string): void {
  const { status } = response;
  const refuse = (error: GatewayError): never => {
    exchange.cancel();
    throw error;
  };
  if (status === 404 || status === 410 || status === 403) refuse(gone());
  if (status === 416) return;
  if (status !== 200 && status !== 206) refuse(unreachable());
  // A page or an error object in a 200 must not be served as a file.
  if (!fileTypes.test(type)) refuse(unreachable());
}

/** Serves the file of a finished task. */
export async function serveVideoContent(
  gateway: Gateway,
  incoming: Incoming,
  idText: string,
): Promise<Response> {
  const { principal } = await admitRequest(gateway, incoming);
  const { request } = incoming;
  const variant = readVariant(new URL(request.url));
  const { task } = await findVideo(gateway, principal, idText);
  checkReady(task, gateway.clock.nowMs());
  const upstream = upstreamOf(gateway, task);
  if (upstream === undefined) throw gone();
  const range = readRange(request.headers);
  const file = await openFile(gateway, upstream, task, { variant, range });
  const type = fileType(file, variant);
  checkAnswer(file, type);
  const headers: [string, string][] = [["content-type", type]];
  for (const name of passedHeaders) {
    const value = file.response.header(name);
    if (value !== undefined) headers.push([name, value]);
  }
  headers.push(["x-content-type-options", "nosniff"], ["cache-control", "private, no-transform"]);
  if (file.response.status === 416) {
    file.exchange.cancel();
    const kept = headers.filter(([name]) => name !== "content-length" && name !== "content-type");
    return new Response(null, { status: 416, headers: kept });
  }
  const control = gateway.calls.begin();
  const body = relayedBody({
    exchange: file.exchange,
    body: file.response.body,
    control,
    onEnd: () => Promise.resolve(control.end()),
  });
  return new Response(body, { status: file.response.status, headers });
}
