/** Finds the provider of a task: polls, downloads and cancellations go to the route and credential that created it. */
import { readWhole } from "../../../../core/net/transport/read_whole.ts";
import type { Route } from "../../../../core/catalog/catalog.ts";
import { maxVideoAnswerBytes } from "../../../../core/media/video/attempt.ts";
import { parseJson } from "../../../../core/media/base/refusal.ts";
import { retryAfterSeconds } from "../../../../core/net/transport/retry_after.ts";
import type {
  Transport,
  UpstreamRequest,
  UpstreamResponse,
} from "../../../../core/net/transport/transport.ts";
import { videoAdapterOf } from "../../../../core/catalog/entries/video_adapter.ts";
import { readSighting } from "../../../../core/media/video/provider_answer.ts";
import type { VideoTask } from "../../../../core/media/video/task.ts";
import { pollRequest, type VideoUpstream } from "../../../../core/media/video/upstream_requests.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import type { AskProvider, VideoAnswer } from "../../../../kv/services/videos/mod.ts";
import type { Gateway } from "../../gateway/gateway.ts";

/** Milliseconds for one request to a provider about a video task. */
const videoPollMs = 25_000;

/** How the provider of a task is reached. */
export interface TaskUpstream extends VideoUpstream {
  readonly transport: Transport;
}

/** Lists the environment variables of a provider's credentials, in the order of the configuration. */
function credentialNames(gateway: Gateway, providerName: string): readonly string[] {
  const provider = gateway.catalog.current.providers[providerName];
  return provider?.kind === "http" ? provider.apiKeyEnv : [];
}

/** Finds the name of a credential, which a task may store in place of the secret. */
export function credentialName(
  gateway: Gateway,
  route: Route,
  secret: string | undefined,
): string | undefined {
  if (secret === undefined) return undefined;
  const index = gateway.catalog.providerKeys[route.provider]?.indexOf(secret) ?? -1;
  return credentialNames(gateway, route.provider)[index];
}

/** Finds the provider of a task; `undefined` if the operator has removed the model or its route. */
export function upstreamOf(gateway: Gateway, task: VideoTask): TaskUpstream | undefined {
  const model = gateway.catalog.current.find(task.model);
  const route = model?.routes.find((candidate) => candidate.id === task.route);
  if (route === undefined) return undefined;
  const index = task.credential === undefined
    ? -1
    : credentialNames(gateway, route.provider).indexOf(task.credential);
  const pinned = gateway.catalog.providerKeys[route.provider]?.[index];
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
