/** Reads and writes sound in requests: the `input_audio` part of Chat and Responses, and media types. */
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { AudioBlock } from "../conversation/mod.ts";
import { dataUrl } from "../content/citations.ts";
import { invalid, refuse, requiredObject, requiredString } from "./fields.ts";

/** The words for formats in `input_audio`, by media type. */
const formats: ReadonlyMap<string, "wav" | "mp3"> = new Map(
  [
    ["audio/wav", "wav"],
    ["audio/x-wav", "wav"],
    ["audio/wave", "wav"],
    ["audio/mp3", "mp3"],
    ["audio/mpeg", "mp3"],
  ] as const,
);

/** Chat and Responses: reads an `input_audio` part. Some clients send a data URL in the place of the data. */
export function readInputAudio(part: Json | undefined, path: string): AudioBlock {
  const at = `${path}.input_audio`;
  const audio = requiredObject(isJsonObject(part) ? part["input_audio"] : undefined, at);
  const given = requiredString(audio, "data", `${at}.data`);
  if (/^https?:/i.test(given)) refuse(`${at}.data`, "sound can be carried only as data");
  const data = dataUrl(given)?.data ?? given;
  const format = requiredString(audio, "format", `${at}.format`).toLowerCase();
  if (!/^[a-z0-9]{1,16}$/.test(format)) invalid(`${at}.format`, "must be wav or mp3");
  return { type: "audio", path, source: { mediaType: `audio/${format}`, data } };
}

/** Chat: writes an `input_audio` part. */
export function writeInputAudio(
  { source, path }: AudioBlock,
  capabilities: ResolvedCapabilities,
): { type: "input_audio"; input_audio: { data: string; format: string } } {
  requireAudio(path, capabilities);
  const format = formats.get(source.mediaType) ??
    refuse(path, "this model hears only WAV and MP3");
  return { type: "input_audio", input_audio: { data: source.data, format } };
}

/**
 * Requires that the model hears.
 *
 * @throws {GatewayError} `conversion_refused` if it does not
 */
export function requireAudio(path: string, capabilities: ResolvedCapabilities): void {
  if (!capabilities.audio) refuseAudio(path);
}

/** Refuses sound for a style that has no place for it. */
export function refuseAudio(path: string): never {
  return refuse(path, "audio input cannot be carried to this model");
}
