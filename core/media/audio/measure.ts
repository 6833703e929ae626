/**
 * Measures how long audio plays, by counting what a decoder decodes.
 *
 * Callers pay by the second, so nothing counts that a caller could write into a file without effect on its sound:
 * declared durations, time stamps, totals. WAV counts bytes of samples, the others their frames.
 *
 * - Folder `core/media/audio/`: the length of audio files.
 * - In: the bytes of a file.
 * - Out: seconds, or an error that names the containers which can be measured.
 * - Never: decodes audio, or believes a length that a file declares.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { asciiAt, measureFlac, measureMp3, measureOgg, measureWav } from "./mp3.ts";
import { measureMp4, measureWebm } from "./mp4.ts";

/** Containers by their first bytes; MP3 has none and is tried last. */
function measured(bytes: Uint8Array): number | undefined {
  if (asciiAt(bytes, 8, "WAVE") && /^(?:RIFF|RF64|BW64)$/.test(text(bytes))) {
    return measureWav(bytes);
  }
  if (asciiAt(bytes, 0, "fLaC")) return measureFlac(bytes);
  if (asciiAt(bytes, 0, "OggS")) return measureOgg(bytes);
  if (asciiAt(bytes, 0, "\x1a\x45\xdf\xa3")) return measureWebm(bytes);
  if (asciiAt(bytes, 4, "ftyp")) return measureMp4(bytes);
  return measureMp3(bytes);
}

function text(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, 4));
}

/**
 * Returns the seconds that a file plays.
 *
 * @param field the name of the field, for the error
 * @example
 * ```ts
 * import { audioSeconds } from "./measure.ts";
 * const wav = new Uint8Array(44 + 16_000);
 * const view = new DataView(wav.buffer);
 * wav.set(new TextEncoder().encode("RIFF....WAVEfmt "));
 * view.setUint32(16, 16, true);
 * view.setUint16(20, 1, true); // PCM
 * view.setUint16(22, 1, true); // mono
 * view.setUint32(24, 16_000, true);
 * view.setUint16(34, 16, true); // bits
 * wav.set(new TextEncoder().encode("data"), 36);
 * view.setUint32(40, 16_000, true);
 * if (audioSeconds(wav, "file") !== 0.5) throw new Error("miscounted");
 * ```
 *
 * @throws {GatewayError} `invalid_request` for a file that cannot be measured
 */
export function audioSeconds(bytes: Uint8Array, field: string): number {
  const seconds = measured(bytes);
  if (seconds !== undefined && Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new GatewayError(
    "invalid_request",
    `${field}: its length cannot be measured; send WAV (PCM), MP3, FLAC, Ogg (Opus or FLAC), WebM (Opus) or ` +
      "MP4/M4A (AAC or ALAC)",
    { param: field },
  );
}
