/**
 * Reads `POST /v1/audio/transcriptions` and `/v1/audio/translations`. Fields that are not checked here are forwarded
 * unchanged. See docs/endpoints.md#transcription.
 *
 * - Folder `core/media/transcription/`: transcriptions and translations of audio: requests and answers.
 * - In: a form with one audio file, and one route.
 * - Out: the text as the provider sent it, whole or as events.
 * - Never: settles the call, or takes the length of audio from anything but the audio.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { audioSeconds } from "../audio/measure.ts";
import { type MediaBody, readMediaBody } from "../../calls/body/body.ts";
import { booleanField, fieldsOfForm, modelField } from "../../calls/body/fields.ts";
import type { FormPart } from "../../calls/body/multipart.ts";

/** Bytes of one audio file: the bound of the vendors. */
const maxAudioBytes = 25 * 1024 * 1024;
/** Bytes of the whole form: prompts, and short samples of known speakers, are beside the file. */
export const maxTranscriptionBodyBytes = maxAudioBytes + 1024 * 1024;

/** What the text is written in: the language of the audio, or English. */
export type TranscriptionTask = "transcriptions" | "translations";

/** A request that was read, checked and measured. */
export interface TranscriptionRequest {
  readonly task: TranscriptionTask;
  readonly model: string;
  readonly stream: boolean;
  /** Seconds that are billed: of the audio, to the nearest, at least 1. */
  readonly seconds: number;
  readonly body: MediaBody & { readonly kind: "form" };
}

/** Fields by which some providers take audio that is somewhere else, so that its length is not known here. */
const remoteFields: ReadonlySet<string> = new Set([
  ...["url", "uri", "audio", "audio_url", "file_url", "file_id", "file_uri", "audio_data"],
]);

function refuse(field: string, why: string): never {
  throw new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
}

/** Finds the one file. A second one, under whatever name, might be the one that a provider takes. */
function audioFile(parts: readonly FormPart[]): Uint8Array {
  let file: Uint8Array | undefined;
  for (const { name, fileName, body } of parts) {
    const plain = name.replace(/\[.*$/s, "").trim().toLowerCase();
    if (remoteFields.has(plain)) refuse(name, "is not supported; send the audio as a file");
    if (fileName === undefined && plain !== "file") continue;
    if (name !== "file" || fileName === undefined) {
      refuse(name, "the audio must be one file, in the field file, with a file name");
    }
    if (file !== undefined) refuse("file", "must be given once");
    file = body;
  }
  if (file === undefined) refuse("file", "is required: the audio, as a file");
  if (file.length > maxAudioBytes) {
    refuse("file", `must be at most ${maxAudioBytes / 1024 / 1024} MB`);
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
  const model = modelField(fields);
  const stream = booleanField(fields, "stream") ?? false;
  const seconds = Math.max(1, Math.round(audioSeconds(file, "file")));
  return { task, model, stream, seconds, body };
}
