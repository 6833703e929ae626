/**
 * One attempt on a speech route, up to the first bytes of audio.
 *
 * - Folder `core/media/speech/`: speech calls: requests, and audio as bytes or as events.
 * - In: a read speech request and one route.
 * - Out: audio as the provider sent it, or as events where the client asked for them.
 * - Never: settles the call; `routes/api/media/` does.
 */
import type { DescribedMember } from "../../lib/json/schemas.ts";
import { isEventStream, type StartedStream, startStream } from "../../calls/attempts/attempt.ts";
import {
  type JsonBody,
  parseJsonBody,
  refuseMergedFields,
  withFields,
} from "../../calls/body/json_body.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { maxErrorBodyBytes, readWhole } from "../../net/transport/read_whole.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import { type MediaExchange, type MediaWork, readNoResult } from "../base/exchange.ts";
import type {
  ByteReader,
  UpstreamExchange,
  UpstreamResponse,
} from "../../net/transport/transport.ts";
import { encodeBase64 } from "../../lib/runtime/built_ins.ts";
import { BytePipe } from "../../wire/stream/byte_pipe.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import { type FrameFate, newStreamReading } from "../../wire/stream/reading.ts";
import {
  mayBeOutput,
  mediaErrorEvent,
  type MediaEvent,
  MediaMeter,
  noOutput,
} from "../base/events.ts";
import { encodeSseEvent } from "../../lib/sse/writer.ts";
import { fieldsOfJson, textField } from "../../calls/body/fields.ts";
import { modelName, requiredText } from "../../calls/body/request_field.ts";

// Speech as events (`stream_format: "sse"`): the provider's own events, or events made of plain
// audio if the provider ignores the request for a stream.

const nothing = new Uint8Array(0);

class SpeechMeter extends MediaMeter {
  constructor() {
    super(["audio"]);
  }

  protected override readEvent(event: MediaEvent): FrameFate {
    if (event.type === "speech.audio.done") return this.end("audio");
    const hasAudio = event.type === "speech.audio.delta"
      ? (event.contentBytes ?? 0) > 0
      : mayBeOutput(event);
    if (hasAudio) this.reading.sawOutput = true;
    return "pass";
  }
}

/**
 * Creates a pipe for a stream of `speech.audio.*` events. A stream that ends cleanly after some
 * audio has finished too.
 */
function createSpeechPipe(requestId: string): StreamPipe {
  const meter = new SpeechMeter();
  return new BytePipe(meter, {
    errorEvent: (error) => mediaErrorEvent(error, requestId),
    missingEnd: () => meter.reading.sawOutput ? nothing : undefined,
  });
}

/** Creates from plain audio the events that the client requested. */
class AudioAsEvents implements StreamPipe {
  readonly reading = newStreamReading();
  readonly #requestId: string;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0) return nothing;
    this.reading.sawOutput = true;
    return encodeSseEvent(`{"type":"speech.audio.delta","audio":"${encodeBase64(bytes)}"}`);
  }

  end(): Uint8Array {
    this.reading.state = "completed";
    return encodeSseEvent('{"type":"speech.audio.done"}');
  }

  fail(error: GatewayError): Uint8Array {
    return mediaErrorEvent(error, this.#requestId);
  }

  stopForLength(): undefined {
    return undefined;
  }
}

// Reads `POST /v1/audio/speech`. Fields that are not checked here are forwarded unchanged. See
// docs/media.md#speech.

/** Characters of one speech call, which has one price: the largest bound of any provider. */
const maxSpeechInputChars = 40_000;

/** A speech request that was read and checked. */
export interface SpeechRequest {
  readonly model: string;
  /** Whether the client requested events instead of audio. */
  readonly events: boolean;
  readonly body: JsonBody;
}

const input = requiredText("input", maxSpeechInputChars);

/** The fields that the document names. */
export const speechFields: readonly DescribedMember[] = [
  modelName,
  input,
  { name: "voice", schema: { description: "One of the provider's voices." } },
  { name: "response_format", schema: { type: "string" } },
  { name: "speed", schema: { type: "number" } },
  {
    name: "stream_format",
    schema: { type: "string", description: "`sse`: events instead of audio." },
  },
];

/**
 * Reads a speech request. The text is bounded, since a call has one price whatever its length.
 *
 * @example
 * ```ts
 * import { readSpeechRequest } from "./attempt.ts";
 * const body = new TextEncoder().encode('{"model":"speech-1","input":"Xin chào","voice":"lan"}');
 * if (readSpeechRequest(body).model !== "speech-1") throw new Error("not read");
 * ```
 *
 * @throws {GatewayError} `invalid_request` or `invalid_json`, naming the field at fault
 */
export function readSpeechRequest(bytes: Uint8Array): SpeechRequest {
  const body = parseJsonBody(bytes);
  refuseMergedFields(body.value);
  const fields = fieldsOfJson(body.value);
  const model = modelName.read(fields);
  input.read(fields);
  return { model, events: textField(fields, "stream_format") === "sse", body };
}

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
  /^(?:audio\/[a-z0-9.+-]+|(?:application|binary)\/octet-stream|application\/ogg)\s*(?:;|$)/i;

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
  throw readNoResult(await readWhole(response, maxErrorBodyBytes), "no audio");
}

/** Bytes by which text is told from audio: samples of 16 bits are not printable for as long. */
const leastTextBytes = 16;

/** The first characters of JSON, of events and of pages, all printable. */
const beginsAsText = /^\s*(?:\{\s*["}]|\[\s*[\]{"]|data:|event:|<[!?a-z])[\x20-\x7e\s]*$/i;

/** Whether the beginning of a body is an error in text, whatever its type says. */
function isTextual(beginning: Uint8Array): boolean {
  if (beginning.length < leastTextBytes && beginning[0] !== 0x7b) return false;
  return beginsAsText.test(new TextDecoder("latin1").decode(beginning.subarray(0, 64)));
}

/**
 * Reads the body up to its first bytes.
 *
 * @throws {GatewayError} for a body that is empty, or text
 */
async function firstAudio(response: UpstreamResponse): Promise<Uint8Array> {
  for (;;) {
    const chunk = await response.body.read();
    if (chunk === null) throw noOutput("audio");
    if (chunk.length === 0) continue;
    const beginning = chunk.slice();
    if (!isTextual(beginning)) return beginning;
    const rest = await readWhole(response, maxErrorBodyBytes);
    throw readNoResult(joined([beginning, rest]), "no audio");
  }
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
  const pipe = new AudioAsEvents(requestId);
  const preamble = pipe.push(await firstAudio(response));
  const started = { kind: "stream", exchange, body: response.body, pipe, preamble } as const;
  return { kind: "events", started: { ...started, bodyEnded: false } };
}

async function receiveAudio({ exchange, answered }: MediaExchange): Promise<StartedAudio> {
  const response = await answered();
  const contentType = await audioTypeOf(response);
  const firstChunk = await firstAudio(response);
  return { kind: "audio", exchange, body: response.body, firstChunk, contentType };
}
