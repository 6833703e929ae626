/** A provider's answer that is no success, in our terms. */
import { readWhole } from "../call/read_whole.ts";
import { readProviderError } from "../dialects/provider_error.ts";
import { GatewayError } from "../errors.ts";
import type { Json } from "../json.ts";
import { limits } from "../limits.ts";
import type { UpstreamResponse } from "../upstream/transport.ts";

/** `retry-after` in seconds, where it is a plain number. */
export function retryAfterSeconds(response: UpstreamResponse): number | undefined {
  const text = response.header("retry-after")?.trim();
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/** The JSON of a body; `undefined` if it is none. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    const value: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return value;
  } catch {
    return undefined;
  }
}

/**
 * Reads a refusal to its end and turns it into an error.
 *
 * @throws {UpstreamFailure} when the connection breaks
 */
export async function readRefusal(response: UpstreamResponse): Promise<GatewayError> {
  const bytes = await readWhole(response.body, limits.errorBodyBytes);
  const error = readProviderError(parseJson(bytes), response.status);
  const seconds = retryAfterSeconds(response);
  if (seconds === undefined || error.retryAfterSeconds !== undefined) return error;
  return new GatewayError(error.code, error.message, { retryAfterSeconds: seconds });
}
