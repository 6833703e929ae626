/** `GET /v1/videos`, `GET` and `DELETE /v1/videos/{id}`, free of charge. The id of another account is a 404. */
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { parseId, type VideoId } from "../../../../core/lib/ids/ids.ts";
import { webhookEvents } from "../../../../kv/people/webhooks/events.ts";
import {
  type AskProvider,
  commitStep,
  forgetVideo,
  listVideos,
  maxVideoListRows,
  readVideo,
  type VideoAnswer,
  videoListOrders,
  type VideoListQuery,
  videoPolls,
  type VideoTaskRow,
} from "../../../../kv/services/videos/mod.ts";
import {
  advance,
  isFinal,
  videoDeleted,
  videoList,
  videoObject,
  type VideoTask,
} from "../../../../core/media/video/task.ts";
import {
  cancelRequest,
  maxVideoAnswerBytes,
  pollRequest,
  readSighting,
  type VideoUpstream,
} from "../../../../core/media/video/upstream_requests.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { answerHeaders } from "../../../http/own_headers.ts";
import { type RowBounds, rowLimit, wrongParameter } from "../../../http/query.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import { readWhole } from "../../../../core/net/transport/read_whole.ts";
import type { Route } from "../../../../core/catalog/catalog.ts";
import { parseJson } from "../../../../core/media/base/exchange.ts";
import { retryAfterSeconds } from "../../../../core/net/transport/retry_after.ts";
import type {
  Transport,
  UpstreamRequest,
  UpstreamResponse,
} from "../../../../core/net/transport/transport.ts";
import { videoAdapterOf } from "../../../../core/catalog/entries/video_rules.ts";
import type { Json } from "../../../../core/lib/json/json.ts";

// Finds the provider of a task: polls, downloads and cancellations go to the route and credential that created it.

/** Milliseconds for one request to a provider about a video task. */
const videoPollMs = 25_000;

/** Way to the provider of a task. */
export interface TaskUpstream extends VideoUpstream {
  readonly transport: Transport;
}

/** Finds the name of a credential, which a task may store in place of the secret. */
export function credentialName(
  gateway: Gateway,
  route: Route,
  secret: string | undefined,
): string | undefined {
  if (secret === undefined) return undefined;
  return gateway.catalog.keysOf(route.provider).find((key) => key.secret === secret)?.name;
}

/** Finds the provider of a task; `undefined` if the operator has removed the model or its route. */
export function upstreamOf(gateway: Gateway, task: VideoTask): TaskUpstream | undefined {
  const model = gateway.catalog.current.find(task.model);
  const route = model?.routes.find((candidate) => candidate.id === task.route);
  if (route === undefined) return undefined;
  const pinned = gateway.catalog.keysOf(route.provider)
    .find(({ name }) => name === task.credential)?.secret;
  const { provider, secret, transport } = gateway.router.access(route, pinned);
  return { provider, secret, transport, adapter: videoAdapterOf(route.capabilities) };
}

/** Runs a small exchange outside of calls, within a time bound; its body is read as JSON. `stop` ends it early. */
export async function smallExchange(
  gateway: Gateway,
  transport: Transport,
  request: UpstreamRequest,
  stop?: AbortSignal,
): Promise<{ readonly response: UpstreamResponse; readonly body: Json | undefined }> {
  const exchange = transport.open(request);
  const cancel = () => exchange.cancel();
  const deadline = gateway.deadlines.create(cancel);
  deadline.arm(videoPollMs);
  stop?.addEventListener("abort", cancel);
  if (stop?.aborted === true) cancel();
  try {
    const response = await exchange.response;
    const body = parseJson(await readWhole(response, maxVideoAnswerBytes));
    return { response, body };
  } catch (error) {
    exchange.cancel();
    throw error;
  } finally {
    deadline.disarm();
    stop?.removeEventListener("abort", cancel);
  }
}

/** Makes the function with which the pollers of `kv/services/videos` ask a provider for the state of a task. */
export function askProviderOf(gateway: Gateway, stop?: AbortSignal): AskProvider {
  return async (task): Promise<VideoAnswer> => {
    const upstream = upstreamOf(gateway, task);
    if (upstream === undefined) throw new NoRouteError("The route of this task is not configured");
    const request = pollRequest(upstream, task.upstreamId);
    const { response, body } = await smallExchange(gateway, upstream.transport, request, stop);
    if (response.status === 404 || response.status === 410) return { kind: "unknown" };
    if (response.status < 200 || response.status > 299 || body === undefined) {
      throw new BadAnswerError(`The provider answered a poll with ${response.status}`);
    }
    const seconds = retryAfterSeconds(response.header, gateway.clock);
    return {
      kind: "seen",
      sighting: readSighting(upstream.adapter, body, gateway.clock.nowMs()),
      retryAfterMs: seconds === undefined ? undefined : seconds * 1_000,
    };
  };
}

/** The operator has removed the route of a task. */
class NoRouteError extends Error {
  override name = "NoRouteError";
}

/** A poll whose answer has no state of the task. */
class BadAnswerError extends Error {
  override name = "BadAnswerError";
}

/**
 * Finds a video of the caller.
 *
 * @throws {GatewayError} `not_found`, the same for the id of another account as for an unknown one
 */
export async function findVideo(
  gateway: Gateway,
  principal: Principal,
  idText: string,
): Promise<VideoTaskRow> {
  const id = parseId("video", idText);
  const row = id === undefined ? undefined : await readVideo(gateway.kv, principal.accountId, id);
  if (row === undefined) throw new GatewayError("not_found", "There is no such video");
  return row;
}

/** Serves the state of one task. */
export async function retrieveVideo(
  gateway: Gateway,
  incoming: Incoming,
  idText: string,
): Promise<Response> {
  const { principal } = await admitRequest(gateway, incoming);
  const { task } = await findVideo(gateway, principal, idText);
  // Where no worker runs all the time, a request starts the poll.
  if (!isFinal(task.state)) gateway.media.wakeUp.nudge(videoPolls.name);
  return Response.json(videoObject(task), { headers: taskHeaders(task) });
}

/** The model of a task and what it was charged when it was created; asking for it is free. */
function taskHeaders({ model, costMicroVnd }: VideoTask): [string, string][] {
  return [
    [answerHeaders.model, model],
    [answerHeaders.priceVndPerRequest, formatVnd(costMicroVnd)],
  ];
}

/** Tasks on one page of a list. */
export const videoListRows: RowBounds = { most: maxVideoListRows, otherwise: 20 };

function listQuery(url: URL): VideoListQuery {
  const refuse = (param: string, why: string): never => {
    throw wrongParameter(param, why);
  };
  const limit = rowLimit(url.searchParams, videoListRows);
  const orderText = url.searchParams.get("order") ?? "desc";
  const order = videoListOrders.find((known) => known === orderText) ??
    refuse("order", `must be ${videoListOrders.join(" or ")}`);
  const afterText = url.searchParams.get("after");
  const after: VideoId | undefined = afterText === null
    ? undefined
    : parseId("video", afterText) ?? refuse("after", "must be the id of a video");
  return { limit, order, after };
}

/** Serves the caller's own tasks. */
export async function listOwnVideos(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const { principal } = await admitRequest(gateway, incoming);
  const query = listQuery(new URL(incoming.request.url));
  const { tasks, hasMore } = await listVideos(gateway.kv, principal.accountId, query);
  return Response.json(videoList(tasks, hasMore));
}

const unreachable = "The provider of this video cannot be reached; nothing was changed";

/**
 * Cancels a task at its provider. `true` if the provider has confirmed it.
 *
 * @throws {GatewayError} when the provider cannot be reached or refuses
 */
async function cancelUpstream(gateway: Gateway, row: VideoTaskRow): Promise<boolean> {
  const upstream = upstreamOf(gateway, row.task);
  const request = upstream && cancelRequest(upstream, row.task.upstreamId);
  if (upstream === undefined || request === undefined) return false;
  let status: number;
  try {
    ({ response: { status } } = await smallExchange(gateway, upstream.transport, request));
  } catch (cause) {
    throw new GatewayError("upstream_unreachable", unreachable, { cause });
  }
  if ((status >= 200 && status < 300) || status === 404 || status === 410) return true;
  // The provider has no such operation and will produce the video.
  if (status === 405 || status === 501) return false;
  if (status >= 500 || status === 429) throw new GatewayError("upstream_unreachable", unreachable);
  throw new GatewayError("invalid_request", "The provider can no longer cancel this video");
}

/**
 * Cancels a pending task. The provider is asked first: the refund depends on whether it has started, and our state
 * may be some seconds old.
 *
 * @returns the row's new task, or `undefined` if it changed meanwhile
 */
async function cancelPending(gateway: Gateway, row: VideoTaskRow) {
  const answer = await askProviderOf(gateway)(row.task).catch((cause: unknown) => {
    throw new GatewayError("upstream_unreachable", unreachable, { cause });
  });
  const nowMs = gateway.clock.nowMs();
  const seen = answer.kind === "seen"
    ? advance(row.task, { kind: "seen", sighting: answer.sighting }, nowMs)
    : { task: row.task, refund: false };
  if (isFinal(seen.task.state)) {
    await commitStep(gateway.kv, row, seen, { nowMs });
    throw new GatewayError(
      "invalid_request",
      `The video has just ended as ${seen.task.state}, so it can no longer be cancelled`,
    );
  }
  const confirmed = await cancelUpstream(gateway, row);
  const step = advance(seen.task, { kind: "cancel", confirmed }, gateway.clock.nowMs());
  const cancelled = await commitStep(gateway.kv, row, step, { nowMs: gateway.clock.nowMs() });
  gateway.media.wakeUp.nudge(webhookEvents.name);
  return cancelled;
}

/** Times that a task may change under a `DELETE` before it gives up. */
const deleteTries = 3;

/** The query that a finished video asks for: its file is paid, and who cancels late would lose it. */
export const confirmParameter = { name: "confirm", value: "true" } as const;

/** Refuses to remove a finished video by a `DELETE` that may have been meant to cancel it. */
function requireConfirmation({ id }: VideoTask, url: string): void {
  const { name, value } = confirmParameter;
  if (new URL(url).searchParams.get(name) === value) return;
  throw new GatewayError(
    "invalid_request",
    `The video ${id} is finished and paid. To delete its file, add ?${name}=${value}`,
    { param: name },
  );
}

/** Serves a `DELETE`: cancels what is pending, removes what has ended. */
export async function deleteVideo(
  gateway: Gateway,
  incoming: Incoming,
  idText: string,
): Promise<Response> {
  const { principal } = await admitRequest(gateway, incoming);
  for (let tries = 0; tries < deleteTries; tries++) {
    const row = await findVideo(gateway, principal, idText);
    if (isFinal(row.task.state)) {
      if (row.task.state === "completed") {
        requireConfirmation(row.task, incoming.request.url);
        await cancelUpstream(gateway, row).catch(() => {});
      }
      if (!await forgetVideo(gateway.kv, row)) continue;
      return Response.json(videoDeleted(row.task), { headers: taskHeaders(row.task) });
    }
    const cancelled = await cancelPending(gateway, row);
    if (cancelled === undefined) continue;
    return Response.json(videoDeleted(cancelled), { headers: taskHeaders(cancelled) });
  }
  throw new GatewayError("overloaded", "The video changed at the same moment; try again");
}
