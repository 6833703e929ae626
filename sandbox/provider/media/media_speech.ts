/** Answers `POST /audio/speech` in the sandbox, with a chord as MP3, or a tone as WAV or raw PCM. */
import type { MediaFields } from "../../../core/calls/body/fields.ts";
import { chimeMp3Base64 } from "./assets/chime_mp3.ts";
import { mediaTrouble, optionalText, readMediaTriggers, requiredText } from "./media_request.ts";
import type { Reply, Step } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import type { Triggers } from "../base/triggers.ts";

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
export function answerSpeech(fields: MediaFields): Reply {
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
