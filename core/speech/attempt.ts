/** One try of a speech route, up to the first bytes of audio. */
import { withFields } from "../call/changed_body.ts";
import { providerRequest } from "../call/provider_request.ts";
import { readWhole } from "../call/read_whole.ts";
import { readProviderError } from "../dialects/provider_error.ts";
import { GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { MediaExchange, MediaWork } from "../media/exchange.ts";
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
  /^(?:audio\/[a-z0-9.+-]+|(?:application|binary)\/octet-stream|application\/ogg|text\/event-stream)\s*(?:;|$)/i;

/** What a speech call asks of its routes. */
export function speechWork(request: SpeechRequest): MediaWork<StartedSpeech> {
  return {
    prepare(route) {
      const changes = route.upstreamModel === request.model ? {} : { model: route.upstreamModel };
      const body = withFields(request.body, changes);
      return Promise.resolve(({ provider, secret }) => {
        const outgoing = providerRequest({
          provider,
          style: "speech",
          secret,
          body,
          stream: request.events,
          clientHeader: () => undefined,
        });
        const headers = outgoing.headers.filter(([name]) => name !== "accept");
        return { ...outgoing, headers: [...headers, ["accept", "*/*"]] };
      });
    },
    receive: receiveAudio,
  };
}

async function receiveAudio({ exchange, answered }: MediaExchange): Promise<StartedSpeech> {
  const response = await answered();
  const contentType = response.header("content-type")?.trim() || "audio/mpeg";
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
