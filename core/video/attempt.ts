/** One try of a video route: the task submitted and accepted, or not. */
import { readWhole } from "../call/read_whole.ts";
import { GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { MediaTry } from "../media/attempts.ts";
import { parseJson } from "../media/refusal.ts";
import type { UpstreamBodyTools } from "../media/upstream_body.ts";
import { videoAdapterOf } from "./adapter.ts";
import { readSighting, readUpstreamId } from "./provider_answer.ts";
import type { VideoRequest } from "./request.ts";
import { videoSubmitBody } from "./submit_body.ts";
import { submitRequest } from "./upstream_requests.ts";

/**
 * Submits to one route.
 *
 * @returns the provider's id of the accepted task
 * @throws {GatewayError | UpstreamFailure} when this route did not accept it
 */
export async function attemptVideo(
  request: VideoRequest,
  tools: UpstreamBodyTools,
  try_: MediaTry,
): Promise<string> {
  const { route, access } = try_;
  const adapter = videoAdapterOf(route.facts);
  const body = await videoSubmitBody(request, adapter, route.upstreamModel, tools);
  const upstream = { provider: access.provider, secret: access.secret, adapter };
  const exchange = try_.open(submitRequest(upstream, body));
  const response = await try_.respond(exchange);
  const answer = parseJson(await readWhole(response.body, limits.videoAnswerBytes));
  const upstreamId = answer === undefined ? undefined : readUpstreamId(adapter, answer);
  if (answer === undefined || upstreamId === undefined) {
    throw new GatewayError("upstream_unreachable", "The provider of this model named no task");
  }
  const { state, error } = readSighting(adapter, answer, 0);
  if (state === "failed" || state === "cancelled") {
    // Accepted and refused in one answer: as good as a 400, and nothing is charged.
    throw new GatewayError(
      "content_policy_violation",
      error?.message ?? "The provider refused to make this video",
    );
  }
  return upstreamId;
}
