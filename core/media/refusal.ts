/** A provider's answer that is no success, in our terms. */
import type { AttemptTime } from "../call/attempt.ts";
import { readBeginning } from "../call/read_whole.ts";
import { retryAfterSeconds } from "../call/retry_after.ts";
import { readProviderError } from "../dialects/provider_error.ts";
import { GatewayError } from "../errors.ts";
import { parseExactly } from "../exact_json.ts";
import type { Json } from "../json.ts";
import { limits } from "../limits.ts";
import type { UpstreamExchange, UpstreamResponse } from "../upstream/transport.ts";

/** The JSON of a body; `undefined` if it is none. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    return parseExactly(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Turns a refusal into an error. It speaks by its status; its body only refines that, so it gets little time. */
export async function readRefusal(
  exchange: UpstreamExchange,
  response: UpstreamResponse,
  time: AttemptTime,
): Promise<GatewayError> {
  const patience = time.deadlines.create(() => exchange.cancel());
  patience.arm(limits.refusalBodyMs);
  const bytes = await readBeginning(response.body, limits.errorBodyBytes);
  patience.disarm();
  const error = readProviderError(parseJson(bytes), response.status);
  const seconds = retryAfterSeconds(response.header, time.clock);
  if (seconds === undefined || error.retryAfterSeconds !== undefined) return error;
  return new GatewayError(error.code, error.message, { retryAfterSeconds: seconds });
}
