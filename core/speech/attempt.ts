/** One try of a speech route, up to the first bytes of audio. */
import { withFields } from "../call/json_body.ts";
import { providerRequest } from "../call/provider_request.ts";
import { readWhole } from "../call/read_whole.ts";
import { readProviderError } from "../dialects/provider_error.ts";
import { GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { MediaTry } from "../media/attempts.ts";
import { parseJson } from "../media/refusal.ts";
import type { ByteReader, UpstreamExchange } from "../upstream/transport.ts";
import type { SpeechRequest } from "./request.ts";

/** Audio has begun: the route is committed. */
export interface StartedSpeech {
  readonly exchange: UpstreamExchange;
  readonly body: ByteReader;
  readonly firstChunk: Uint8Array;
  readonly contentType: string;
}

/** What providers send; anything else is no audio and must not be shown under a type of its own choosing. */
const audioTypes =
  /^(?:audio\/[a-z0-9.+-]+|application\/(?:octet-stream|ogg)|text\/event-stream)\s*(?:;|$)/i;

/**
 * Asks one route.
 *
 * @throws {GatewayError | UpstreamFailure} when no audio came
 */
export async function attemptSpeech(
  request: SpeechRequest,
  try_: MediaTry,
): Promise<StartedSpeech> {
  const { route, access } = try_;
  const changes = route.upstreamModel === request.model ? {} : { model: route.upstreamModel };
  const outgoing = providerRequest({
    provider: access.provider,
    style: "speech",
    secret: access.secret,
    body: withFields(request.body, changes),
    stream: request.events,
    clientHeader: () => undefined,
  });
  const headers = outgoing.headers.filter(([name]) => name !== "accept");
  const exchange = try_.open({ ...outgoing, headers: [...headers, ["accept", "*/*"]] });
  const response = await try_.respond(exchange);
  const contentType = response.header("content-type") ?? "audio/mpeg";
  if (!audioTypes.test(contentType)) {
    // Success is binary, so JSON in a 200 is an error in truth.
    const bytes = await readWhole(response.body, limits.errorBodyBytes);
    throw readProviderError(parseJson(bytes));
  }
  for (;;) {
    const chunk = await response.body.read();
    if (chunk === null) {
      throw new GatewayError("upstream_unreachable", "The provider of this model sent no audio");
    }
    if (chunk.length === 0) continue;
    return { exchange, body: response.body, firstChunk: chunk.slice(), contentType };
  }
}
