/**
 * Reads `POST /v1/audio/speech`. Fields that are not checked here are forwarded unchanged. See
 * docs/media.md#speech.
 */
import { refuseMergedFields } from "../../calls/body/decisive_fields.ts";
import { type JsonBody, parseJsonBody } from "../../calls/body/json_body.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { fieldsOfJson, modelField, textField } from "../../calls/body/fields.ts";

/** Characters of one speech call, which has one price: the largest bound of any provider. */
export const maxSpeechInputChars = 40_000;

/** A speech request that was read and checked. */
export interface SpeechRequest {
  readonly model: string;
  /** Whether the client requested events instead of audio. */
  readonly events: boolean;
  readonly body: JsonBody;
}

/**
 * Reads a speech request. The text is bounded, since a call has one price whatever its length.
 *
 * @example
 * ```ts
 * import { readSpeechRequest } from "./request.ts";
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
  const model = modelField(fields);
  const input = textField(fields, "input");
  const refuse = (why: string): never => {
    throw new GatewayError("invalid_request", `input: ${why}`, { param: "input" });
  };
  if (input === undefined || input.trim() === "") refuse("is required");
  if ((input ?? "").length > maxSpeechInputChars) {
    refuse(`must be at most ${maxSpeechInputChars} characters`);
  }
  return { model, events: textField(fields, "stream_format") === "sse", body };
}
