/**
 * One attempt on a transcription route: a whole answer, or a stream up to its first text.
 *
 * - Folder `core/media/transcription/`: transcriptions and translations of audio: requests and answers.
 * - In: a form with one audio file, and one route.
 * - Out: the text as the provider sent it, whole or as events.
 * - Never: settles the call, or takes the length of audio from anything but the audio.
 */
import { type DescribedMember, text, writtenSchema } from "../../lib/json/schemas.ts";
import { isEventStream, type StartedStream, startStream } from "../../calls/attempts/attempt.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole } from "../../net/transport/read_whole.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { UpstreamResponse } from "../../net/transport/transport.ts";
import { type MediaExchange, type MediaWork, parseJson, readNoResult } from "../base/exchange.ts";
import { hasShape, readWhere, reportedUsageSchema, type ResultShape } from "../base/json_call.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import { type FormPart, replaceField } from "../../calls/body/multipart.ts";
import { defined } from "../../lib/base/defined.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { encodeSseEvent } from "../../lib/sse/writer.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import { BytePipe } from "../../wire/stream/byte_pipe.ts";
import type { FrameFate } from "../../wire/stream/reading.ts";
import {
  mayBeOutput,
  mediaErrorEvent,
  type MediaEvent,
  MediaMeter,
  WrittenPipe,
} from "../base/events.ts";
import { audioSeconds } from "../audio/measure.ts";
import { type MediaBody, readMediaBody } from "../../calls/body/body.ts";
import { fieldsOfForm, refuseField, textField } from "../../calls/body/fields.ts";
import { eventsFlag, modelName } from "../../calls/body/request_field.ts";

/** The schema of an answer in JSON, which is the provider's. */
export const transcriptSchema: JsonObject = writtenSchema(
  "What is said in the recording.",
  { text, usage: reportedUsageSchema },
  ["text"],
);

// Transcripts as events (`stream: true`): the provider's own, or events made of a whole answer.

const nothing = new Uint8Array(0);

/** Events with a text. */
const textEvents: ReadonlySet<string> = new Set([
  "transcript.text.delta",
  "transcript.text.segment",
  "transcript.text.done",
]);

class TranscriptMeter extends MediaMeter {
  constructor() {
    super(["delta", "text"]);
  }

  protected override readEvent(event: MediaEvent): FrameFate {
    const { type, contentBytes } = event;
    const isEnd = type === "transcript.text.done";
    // The whole text of silence is empty.
    const hasText = textEvents.has(type)
      ? contentBytes !== undefined && (isEnd || contentBytes > 0)
      : mayBeOutput(event);
    if (hasText) this.reading.sawOutput = true;
    return isEnd ? this.end("transcript") : "pass";
  }
}

/**
 * Creates a pipe for a stream of `transcript.text.*` events. Servers without the last event end the body after the
 * text.
 */
function createTranscriptPipe(requestId: string): StreamPipe {
  const meter = new TranscriptMeter();
  return new BytePipe(meter, {
    errorEvent: (error) => mediaErrorEvent(error, requestId),
    missingEnd: () => meter.reading.sawOutput ? nothing : undefined,
  });
}

/** Creates the events of a whole transcript, for providers that ignore the request for a stream. */
function transcriptAsEvents(
  text: string,
  usage: Json | undefined,
  requestId: string,
): Pick<StartedStream, "pipe" | "preamble"> {
  const event = (value: Record<string, Json>) => encodeSseEvent(stringifyExactly(value));
  const done = { type: "transcript.text.done", text, ...defined({ usage }) };
  return {
    preamble: event({ type: "transcript.text.delta", delta: text }),
    pipe: new WrittenPipe(event(done), requestId),
  };
}

// Reads `POST /v1/audio/transcriptions` and `/v1/audio/translations`. Fields that are not checked here are forwarded
// unchanged. See docs/endpoints.md#transcription.

/** Bytes of one audio file: the bound of the vendors. */
const maxAudioBytes = 25 * 1024 * 1024;
/** Bytes of the whole form: prompts, and short samples of known speakers, are beside the file. */
export const maxTranscriptionBodyBytes = maxAudioBytes + 1024 * 1024;

/** Language that the text is written in: that of the audio, or English. */
export type TranscriptionTask = "transcriptions" | "translations";

/** A request that was read, checked and measured. */
export interface TranscriptionRequest {
  readonly task: TranscriptionTask;
  readonly model: string;
  readonly stream: boolean;
  /** Whether the text is asked for as a member of a JSON object, as it is by default. */
  readonly asJson: boolean;
  /** Seconds that are billed: of the audio, to the nearest, at least 1. */
  readonly seconds: number;
  readonly body: MediaBody & { readonly kind: "form" };
}

/** The formats that are JSON objects with the whole text in `text`. */
const jsonFormats: ReadonlySet<string> = new Set(["json", "verbose_json", "diarized_json"]);

/** Fields by which some providers take audio that is somewhere else, so that its length is not known here. */
const remoteFields: ReadonlySet<string> = new Set([
  ...["url", "uri", "audio", "audio_url", "file_url", "file_id", "file_uri", "audio_data"],
]);

/** The fields that the document names. */
export const transcriptionFields: readonly DescribedMember[] = [
  modelName,
  {
    name: "file",
    isRequired: true,
    schema: {
      type: "string",
      format: "binary",
      description: `One audio file with a file name, of at most ${maxAudioBytes / 1024 / 1024} MB.`,
    },
  },
  eventsFlag,
  { name: "language", schema: { type: "string" } },
  { name: "prompt", schema: { type: "string" } },
  {
    name: "response_format",
    schema: {
      type: "string",
      description:
        "`json`, `verbose_json`, `text`, `srt`, `vtt`, or what else the provider writes.",
    },
  },
  { name: "temperature", schema: { type: "number" } },
];

/** Finds the one file. A second one, under whatever name, might be the one that a provider takes. */
function audioFile(parts: readonly FormPart[]): Uint8Array {
  let file: Uint8Array | undefined;
  for (const { name, fileName, body } of parts) {
    const plain = name.replace(/\[.*$/s, "").trim().toLowerCase();
    if (remoteFields.has(plain)) refuseField(name, "is not supported; send the audio as a file");
    if (fileName === undefined && plain !== "file") continue;
    if (name !== "file" || fileName === undefined) {
      refuseField(name, "the audio must be one file, in the field file, with a file name");
    }
    if (file !== undefined) refuseField("file", "must be given once");
    file = body;
  }
  if (file === undefined) refuseField("file", "is required: the audio, as a file");
  if (file.length > maxAudioBytes) {
    refuseField("file", `must be at most ${maxAudioBytes / 1024 / 1024} MB`);
  }
  return file;
}

/**
 * Reads a request, and measures its audio.
 *
 * @throws {GatewayError} `invalid_request` or `unsupported_media_type`, naming the field at fault
 */
export function readTranscriptionRequest(
  task: TranscriptionTask,
  bytes: Uint8Array,
  contentType: string,
): TranscriptionRequest {
  const body = readMediaBody(bytes, contentType);
  if (body.kind !== "form") {
    throw new GatewayError(
      "unsupported_media_type",
      "The content type must be multipart/form-data",
      { param: "content-type" },
    );
  }
  const file = audioFile(body.parts);
  const fields = fieldsOfForm(body.parts);
  const model = modelName.read(fields);
  const stream = eventsFlag.read(fields);
  const seconds = Math.max(1, Math.round(audioSeconds(file, "file")));
  const format = textField(fields, "response_format") ?? "json";
  return { task, model, stream, asJson: jsonFormats.has(format), seconds, body };
}

/** Bytes of a whole answer: nine hours with the time of each word have some 20 MB. */
const maxTranscriptBytes = 32 * 1024 * 1024;

/** The types of answers: JSON, or text with times or without. Nothing that a browser would run. */
const transcriptTypes =
  /^(?:application\/(?:json|x-subrip|octet-stream)|text\/(?:plain|vtt|srt|x-srt))\s*(?:;|$)/i;

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
    receive: async (asked) =>
      stream
        ? await receiveEvents(asked, request, requestId)
        : await readTranscript(await asked.answered(), asked, request),
  };
}

const readText = readWhere(({ isString }) => isString);
/** A list begins with a bracket. */
const readList = readWhere(({ first }) => first === 0x5b);

/** A transcript in JSON. Its text is empty where nothing is said. */
const transcriptMembers: ResultShape = [
  { keys: [jsonKey("text")], isRequired: true, read: readText },
  { keys: [jsonKey("segments"), jsonKey("words")], isRequired: false, read: readList },
];

/** The first bytes of JSON objects, after white space. */
const beginsAsObject = /^\s*\{/;

/**
 * Reads a whole transcript. Plain text from a server that knows no other format becomes the JSON that was asked for.
 *
 * @throws {GatewayError} for an answer without a text, or an error object
 */
async function readTranscript(
  response: UpstreamResponse,
  { counter }: MediaExchange,
  { asJson }: TranscriptionRequest,
): Promise<TranscriptionResult & { readonly kind: "answer" }> {
  const contentType = response.header("content-type")?.trim() || "text/plain; charset=utf-8";
  const bytes = await readWhole(response, maxTranscriptBytes, counter);
  const isObject = beginsAsObject.test(new TextDecoder().decode(bytes.subarray(0, 64)));
  const hasText = isObject ? hasShape(bytes, transcriptMembers) : bytes.length > 0;
  if (!hasText || !transcriptTypes.test(contentType)) throw readNoResult(bytes, "no transcript");
  if (isObject || !asJson) return { kind: "answer", bytes, contentType };
  const text = new TextDecoder().decode(bytes).trim();
  if (text === "" || !contentType.startsWith("text/")) throw readNoResult(bytes, "no transcript");
  const written = new TextEncoder().encode(stringifyExactly({ text }));
  return { kind: "answer", bytes: written, contentType: "application/json" };
}

async function receiveEvents(
  asked: MediaExchange,
  request: TranscriptionRequest,
  requestId: string,
): Promise<TranscriptionResult> {
  const { exchange } = asked;
  const response = await asked.answered();
  if (isEventStream(response)) {
    const pipe = createTranscriptPipe(requestId);
    return { kind: "events", started: await startStream(exchange, response, pipe) };
  }
  const { bytes } = await readTranscript(response, asked, request);
  const value = parseJson(bytes);
  const text = isJsonObject(value) && typeof value["text"] === "string"
    ? value["text"]
    : new TextDecoder().decode(bytes);
  const usage = isJsonObject(value) ? value["usage"] : undefined;
  const written = transcriptAsEvents(text, usage, requestId);
  return {
    kind: "events",
    started: { kind: "stream", exchange, body: response.body, bodyEnded: true, ...written },
  };
}
