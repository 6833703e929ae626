/** Answers `POST /audio/transcriptions` and `/audio/translations` in the sandbox: the text says how long the audio is. */
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { audioSeconds } from "../../../core/media/audio/measure.ts";
import type { MediaFields } from "../../../core/calls/body/fields.ts";
import { mediaTrouble, optionalText, readMediaTriggers, requiredText } from "./media_request.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { cutIntoPieces } from "../base/tokens.ts";
import type { Triggers } from "../base/triggers.ts";
import { vendorErrorBody } from "../base/vendor_error.ts";

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
export function answerTranscript(fields: MediaFields, task: Transcript["task"]): Reply {
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
