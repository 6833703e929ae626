/**
 * Routes media requests of the sandbox to images, speech, transcripts and videos.
 *
 * - Folder `sandbox/provider/media/`: images, speech, transcripts and videos in the sandbox.
 * - In: media requests as JSON or as forms.
 * - Out: small pictures, sounds and clips, texts, tasks whose state depends on the clock.
 * - Never: stores a task: its id says when it was created and how it ends; cancellations are kept in memory only.
 */
import type { UpstreamRequest } from "../../../core/net/transport/transport.ts";
import { answerImages } from "./media_images.ts";
import {
  mediaFields,
  mediaTrouble,
  optionalText,
  readMediaTriggers,
  requiredText,
} from "./media_request.ts";
import { SandboxVideos } from "./media_videos.ts";
import { jsonReply, type Reply, type Step, type StreamEvent, streamReply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { vendorError, vendorErrorBody } from "../base/vendor_error.ts";
import type { MediaFields } from "../../../core/calls/body/fields.ts";
import { chimeMp3Base64 } from "./assets/chime_mp3.ts";
import type { Triggers } from "../base/triggers.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { audioSeconds } from "../../../core/media/audio/measure.ts";
import { cutIntoPieces } from "../base/tokens.ts";

// Answers `POST /audio/speech` in the sandbox, with a chord as MP3, or a tone as WAV or raw PCM.

const sampleRate = 24_000;
const seconds = 0.5;

/** Synthesizes a tone of half a second, 16 bits, mono. */
function tonePcm(): Uint8Array {
  const samples = new Int16Array(sampleRate * seconds);
  for (let i = 0; i < samples.length; i++) {
    samples[i] = Math.round(8_000 * Math.sin(2 * Math.PI * 440 * i / sampleRate));
  }
  return new Uint8Array(samples.buffer);
}

/** Prepends the 44-byte header of a PCM WAV file. */
function wavFile(pcm: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(44 + pcm.length);
  const view = new DataView(bytes.buffer);
  const ascii = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  ascii(0, "RIFF");
  view.setUint32(4, 36 + pcm.length, true);
  ascii(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  ascii(36, "data");
  view.setUint32(40, pcm.length, true);
  bytes.set(pcm, 44);
  return bytes;
}

function audioOf(format: string): { readonly type: string; readonly bytes: Uint8Array } {
  switch (format) {
    case "mp3":
      return { type: "audio/mpeg", bytes: Uint8Array.fromBase64(chimeMp3Base64.join("")) };
    case "wav":
      return { type: "audio/wav", bytes: wavFile(tonePcm()) };
    case "pcm":
      return { type: "audio/pcm", bytes: tonePcm() };
    default:
      throw new SandboxRefusal("response_format: the sandbox makes mp3, wav and pcm");
  }
}

const pieceBytes = 1_024;

function* pieces(bytes: Uint8Array, triggers: Triggers): Generator<Step> {
  if (triggers.stall) yield { do: "stall" };
  const size = triggers.splitBytes ?? pieceBytes;
  let count = 0;
  for (let at = 0; at < bytes.length; at += size) {
    if (count === triggers.cutAfter) yield { do: "cut" };
    if (count === triggers.stallAfter) yield { do: "stall" };
    if (count > 0 && triggers.paceMs !== undefined) yield { do: "wait", ms: triggers.paceMs };
    yield { do: "send", bytes: bytes.subarray(at, at + size) };
    count++;
  }
}

/** Answers a speech request. @throws {SandboxRefusal} */
function answerSpeech(fields: MediaFields): Reply {
  requiredText(fields, "model");
  const triggers = readMediaTriggers(requiredText(fields, "input"));
  const trouble = mediaTrouble(triggers);
  if (trouble !== undefined) return trouble;
  const { type, bytes } = audioOf(optionalText(fields, "response_format") ?? "mp3");
  return {
    status: 200,
    headers: new Map([["content-type", type]]),
    waitMs: triggers.common.slowMs ?? 0,
    steps: triggers.common.empty ? [] : pieces(bytes, triggers.common),
  };
}

// Answers `POST /audio/transcriptions` and `/audio/translations` in the sandbox: the text says how long the audio is.

interface Transcript {
  readonly task: "transcribe" | "translate";
  readonly text: string;
  readonly seconds: number;
}

function secondsOf(fields: MediaFields): number {
  const [file] = fields.get("file") ?? [];
  if (file?.kind !== "file") throw new SandboxRefusal("file: is required");
  try {
    return audioSeconds(file.bytes, "file");
  } catch (error) {
    if (error instanceof GatewayError) throw new SandboxRefusal(error.message);
    throw error;
  }
}

/** Writes a time as subtitles have it. */
function timeOf(seconds: number, separator: "," | "."): string {
  const whole = Math.floor(seconds);
  const part = (value: number) => String(value).padStart(2, "0");
  const milliseconds = String(Math.floor(seconds * 1_000) % 1_000).padStart(3, "0");
  const clock = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60].map(part);
  return `${clock.join(":")}${separator}${milliseconds}`;
}

function verbose({ task, text, seconds }: Transcript): JsonObject {
  const segment = { id: 0, seek: 0, start: 0, end: seconds, text, tokens: [], temperature: 0 };
  return { task, language: "english", duration: seconds, text, segments: [segment] };
}

function usageOf({ seconds }: Transcript): JsonObject {
  return { type: "duration", seconds: Math.ceil(seconds) };
}

function textReply(text: string, contentType: string, triggers: Triggers): Reply {
  const bytes = new TextEncoder().encode(text);
  const reply = jsonReply(200, null, triggers);
  const headers = new Map([["content-type", contentType], ["content-length", `${bytes.length}`]]);
  return { ...reply, headers, steps: [{ do: "send", bytes }] };
}

function* events(transcript: Transcript): Generator<StreamEvent> {
  const { text } = transcript;
  for (const delta of cutIntoPieces(text, 3)) {
    yield { data: JSON.stringify({ type: "transcript.text.delta", delta }), delta: true };
  }
  const done = { type: "transcript.text.done", text, usage: usageOf(transcript) };
  yield { data: JSON.stringify(done), delta: false };
}

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify({ type: "error", ...vendorErrorBody("chat", 500) }),
  delta: false,
};

function written(transcript: Transcript, format: string, triggers: Triggers): Reply {
  const { text, seconds } = transcript;
  switch (format) {
    case "json":
      return jsonReply(200, { text, usage: usageOf(transcript) }, triggers);
    case "verbose_json":
      return jsonReply(200, { ...verbose(transcript), usage: usageOf(transcript) }, triggers);
    case "text":
      return textReply(`${text}\n`, "text/plain; charset=utf-8", triggers);
    case "srt": {
      const times = `${timeOf(0, ",")} --> ${timeOf(seconds, ",")}`;
      return textReply(`1\n${times}\n${text}\n\n`, "application/x-subrip", triggers);
    }
    case "vtt": {
      const times = `${timeOf(0, ".")} --> ${timeOf(seconds, ".")}`;
      return textReply(`WEBVTT\n\n${times}\n${text}\n`, "text/vtt", triggers);
    }
    default:
      throw new SandboxRefusal("response_format: must be json, text, srt, verbose_json or vtt");
  }
}

/** Answers a request for a transcript. @throws {SandboxRefusal} */
function answerTranscript(fields: MediaFields, task: Transcript["task"]): Reply {
  requiredText(fields, "model");
  const triggers = readMediaTriggers(optionalText(fields, "prompt") ?? "");
  const { common } = triggers;
  const seconds = secondsOf(fields);
  const trouble = mediaTrouble(triggers);
  if (trouble !== undefined) return trouble;
  if (common.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), common);
  const text = common.empty ? "" : `This is a recording of ${seconds.toFixed(1)} seconds.`;
  const transcript = { task, text, seconds };
  if (optionalText(fields, "stream") === "true") {
    return streamReply(events(transcript), common, errorEvent);
  }
  return written(transcript, optionalText(fields, "response_format") ?? "json", common);
}

/** Answers media requests; returns `undefined` for other paths. */
export type MediaSandbox = (request: UpstreamRequest, nowMs: number) => Reply | undefined;

/**
 * Creates the part of the sandbox that answers media requests.
 *
 * @example
 * ```ts
 * import { createMediaSandbox } from "./media.ts";
 * const answer = createMediaSandbox();
 * const body = new TextEncoder().encode('{"model":"m","input":"Xin chào"}');
 * const headers = [["content-type", "application/json"]] as const;
 * const reply = answer({ method: "POST", url: "http://x.invalid/v1/audio/speech", headers, body }, 0);
 * if (reply?.headers.get("content-type") !== "audio/mpeg") throw new Error("no MP3");
 * ```
 */
export function createMediaSandbox(): MediaSandbox {
  const videos = new SandboxVideos();

  const route = (request: UpstreamRequest, nowMs: number): Reply | undefined => {
    const { pathname } = new URL(request.url);
    const nowSeconds = Math.floor(nowMs / 1_000);
    if (request.method === "POST") {
      if (pathname.endsWith("/images/generations")) {
        return answerImages(mediaFields(request), "image_generation", nowSeconds);
      }
      if (pathname.endsWith("/images/edits")) {
        return answerImages(mediaFields(request), "image_edit", nowSeconds);
      }
      if (pathname.endsWith("/audio/speech")) return answerSpeech(mediaFields(request));
      if (pathname.endsWith("/audio/transcriptions")) {
        return answerTranscript(mediaFields(request), "transcribe");
      }
      if (pathname.endsWith("/audio/translations")) {
        return answerTranscript(mediaFields(request), "translate");
      }
      if (pathname.endsWith("/videos")) return videos.create(mediaFields(request), nowMs);
      return undefined;
    }
    const below = /\/videos\/([^/]+)(?:\/(content))?$/.exec(pathname);
    if (below === null) return undefined;
    const rest = below[2] === undefined ? [below[1]!] : [below[1]!, below[2]];
    return videos.answer(request, rest.map(decodeURIComponent), nowMs);
  };

  return (request, nowMs) => {
    try {
      return route(request, nowMs);
    } catch (error) {
      if (error instanceof SandboxRefusal) return vendorError("chat", 400, error.message);
      throw error;
    }
  };
}
