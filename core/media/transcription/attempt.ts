/** One attempt on a transcription route: a whole answer, or a stream up to its first text. */
import { isEventStream, type StartedStream, startStream } from "../../calls/attempts/attempt.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole } from "../../net/transport/read_whole.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import type { UpstreamResponse } from "../../net/transport/transport.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import type { MediaExchange, MediaWork } from "../base/exchange.ts";
import { readListAnswer } from "../base/list_answer.ts";
import { replaceField } from "../../calls/body/multipart.ts";
import { parseJson } from "../base/refusal.ts";
import { createTranscriptPipe, transcriptAsEvents } from "./events.ts";
import type { TranscriptionRequest } from "./request.ts";

/** Bytes of a whole answer: nine hours with the time of each word have some 20 MB. */
const maxTranscriptBytes = 32 * 1024 * 1024;

/** The types of answers: JSON, or text with times or without. Nothing that a browser would run. */
const transcriptTypes =
  /^(?:application\/(?:json|x-subrip|octet-stream)|text\/(?:plain|vtt|srt|x-srt|event-stream))\s*(?:;|$)/i;

/** The answer of a route: whole, or a stream that has begun. */
export type TranscriptionResult =
  | { readonly kind: "answer"; readonly bytes: Uint8Array; readonly contentType: string }
  | { readonly kind: "events"; readonly started: StartedStream };

/** Describes a transcription call for its routes. */
export function transcriptionWork(
  request: TranscriptionRequest,
  requestId: string,
): MediaWork<TranscriptionResult> {
  const { body, model, stream, task } = request;
  return {
    prepare(route) {
      const { upstreamModel } = route;
      const bytes = upstreamModel === model
        ? body.bytes
        : replaceField(body.bytes, body.boundary, { name: "model", text: upstreamModel });
      return Promise.resolve(({ provider, secret }) => {
        const outgoing = providerRequest({
          provider,
          style: "transcriptions",
          model: route.upstreamModel,
          subpath: `/${task}`,
          secret,
          body: bytes,
          contentType: `multipart/form-data; boundary="${body.boundary}"`,
          stream,
          clientHeader: () => undefined,
        });
        if (stream) return outgoing;
        const headers = outgoing.headers.filter(([name]) => name !== "accept");
        return { ...outgoing, headers: [...headers, ["accept", "*/*"]] };
      });
    },
    receive: (asked) => stream ? receiveEvents(asked, requestId) : receiveAnswer(asked),
  };
}

/** @throws {GatewayError} for an answer that is no text, or an error object */
async function readTranscript(
  response: UpstreamResponse,
  { counter }: MediaExchange,
): Promise<TranscriptionResult & { readonly kind: "answer" }> {
  const contentType = response.header("content-type")?.trim() || "text/plain; charset=utf-8";
  const bytes = await readWhole(response, maxTranscriptBytes, counter);
  const isError = readListAnswer(bytes, [])?.hasError === true;
  if (isError) throw readProviderError(parseJson(bytes));
  if (!transcriptTypes.test(contentType)) {
    throw new GatewayError("upstream_unreachable", "The provider of this model sent no transcript");
  }
  return { kind: "answer", bytes, contentType };
}

async function receiveAnswer(asked: MediaExchange): Promise<TranscriptionResult> {
  return await readTranscript(await asked.answered(), asked);
}

async function receiveEvents(
  asked: MediaExchange,
  requestId: string,
): Promise<TranscriptionResult> {
  const { exchange } = asked;
  const response = await asked.answered();
  if (isEventStream(response)) {
    const pipe = createTranscriptPipe(requestId);
    return { kind: "events", started: await startStream(exchange, response, pipe) };
  }
  const { bytes } = await readTranscript(response, asked);
  const value = parseJson(bytes);
  const text = isJsonObject(value) ? value["text"] : new TextDecoder().decode(bytes);
  if (typeof text !== "string") {
    throw new GatewayError("upstream_unreachable", "The provider of this model sent no transcript");
  }
  const usage = isJsonObject(value) ? value["usage"] : undefined;
  const written = transcriptAsEvents(text, usage, requestId);
  return {
    kind: "events",
    started: { kind: "stream", exchange, body: response.body, bodyEnded: true, ...written },
  };
}
