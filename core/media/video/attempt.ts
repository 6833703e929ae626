/** One attempt on a video route: the task submitted and accepted, or not. */
import { readWhole } from "../../net/transport/read_whole.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { MediaExchange, MediaWork } from "../base/exchange.ts";
import { parseJson } from "../base/refusal.ts";
import { videoAdapterOf } from "../../catalog/entries/video_adapter.ts";
import { readSighting, readUpstreamId } from "./provider_answer.ts";
import type { VideoRequest } from "./request.ts";
import { videoSubmitBody } from "./submit_body.ts";
import { submitRequest } from "./upstream_requests.ts";

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

async function receiveTask({ route, answered }: MediaExchange): Promise<string> {
  const adapter = videoAdapterOf(route.capabilities);
  const response = await answered();
  const answer = parseJson(await readWhole(response, maxVideoAnswerBytes));
  const upstreamId = answer === undefined ? undefined : readUpstreamId(adapter, answer);
  if (answer === undefined || upstreamId === undefined) {
    throw new GatewayError("upstream_unreachable", "The provider of this model named no task");
  }
  const { state, error } = readSighting(adapter, answer, 0);
  if (state === "failed" || state === "cancelled") {
    // Accepted and refused in one answer: equivalent to a 400, and nothing is charged.
    throw new GatewayError(
      "content_policy_violation",
      error?.message ?? "The provider refused to make this video",
    );
  }
  return upstreamId;
}
