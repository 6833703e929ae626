/**
 * One attempt on a speech route, up to the first bytes of audio.
 *
 * - Folder `core/media/speech/`: speech calls: requests, and audio as bytes or as events.
 * - In: a read speech request and one route.
 * - Out: audio as the provider sent it, or as events where the client asked for them.
 * - Never: settles the call; `routes/api/media/` does.
 */
import { isEventStream, type StartedStream, startStream } from "../../calls/attempts/attempt.ts";
import { withFields } from "../../calls/body/changed_body.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole } from "../../net/transport/read_whole.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { maxErrorBodyBytes } from "../../net/transport/read_whole.ts";
import type { MediaExchange, MediaWork } from "../base/exchange.ts";
import { parseJson } from "../base/refusal.ts";
import type {
  ByteReader,
  UpstreamExchange,
  UpstreamResponse,
} from "../../net/transport/transport.ts";
import { AudioAsEvents, createSpeechPipe } from "./events.ts";
import type { SpeechRequest } from "./request.ts";

/** The beginning of speech, which commits the call to the route. */
export type SpeechResult =
  | StartedAudio
  | { readonly kind: "events"; readonly started: StartedStream };

interface StartedAudio {
  readonly kind: "audio";
  readonly exchange: UpstreamExchange;
  readonly body: ByteReader;
  readonly firstChunk: Uint8Array;
  readonly contentType: string;
}

/**
 * The audio types of providers. Anything else is not audio and must not be delivered under a type
 * that the provider chose.
 */
const audioTypes =
  /^(?:audio\/[a-z0-9.+-]+|(?:application|binary)\/octet-stream|application\/ogg|text\/event-stream)\s*(?:;|$)/i;

/** Describes a speech call for its routes. */
export function speechWork(request: SpeechRequest, requestId: string): MediaWork<SpeechResult> {
  return {
    prepare(route) {
      const changes = route.upstreamModel === request.model ? {} : { model: route.upstreamModel };
      const body = withFields(request.body, changes);
      return Promise.resolve(({ provider, secret }) => {
        const outgoing = providerRequest({
          provider,
          style: "speech",
          model: route.upstreamModel,
          secret,
          body,
          stream: request.events,
          clientHeader: () => undefined,
        });
        const headers = outgoing.headers.filter(([name]) => name !== "accept");
        return { ...outgoing, headers: [...headers, ["accept", "*/*"]] };
      });
    },
    receive: (asked) => request.events ? receiveEvents(asked, requestId) : receiveAudio(asked),
  };
}

/** Reads the audio type. Success is binary, so JSON in a 200 is in fact an error. */
async function audioTypeOf(response: UpstreamResponse): Promise<string> {
  const contentType = response.header("content-type")?.trim() || "audio/mpeg";
  if (audioTypes.test(contentType)) return contentType;
  const bytes = await readWhole(response, maxErrorBodyBytes);
  throw readProviderError(parseJson(bytes));
}

async function receiveEvents(
  { exchange, answered }: MediaExchange,
  requestId: string,
): Promise<SpeechResult> {
  const response = await answered();
  if (isEventStream(response)) {
    const started = await startStream(exchange, response, createSpeechPipe(requestId));
    return { kind: "events", started };
  }
  await audioTypeOf(response);
  const started = await startStream(exchange, response, new AudioAsEvents(requestId));
  return { kind: "events", started };
}

async function receiveAudio({ exchange, answered }: MediaExchange): Promise<StartedAudio> {
  const response = await answered();
  const contentType = await audioTypeOf(response);
  for (;;) {
    const chunk = await response.body.read();
    if (chunk === null) {
      throw new GatewayError("upstream_unreachable", "The provider of this model sent no audio");
    }
    if (chunk.length === 0) continue;
    return { kind: "audio", exchange, body: response.body, firstChunk: chunk.slice(), contentType };
  }
}
