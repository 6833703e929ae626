/** Reads the bodies that operators send, for the HTTP API and the commands alike. */
import { ambiguousNumbers } from "../../../../core/billing/money/read_amount.ts";
import { decodeUtf8 } from "../../../../core/lib/bytes/byte_parts.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";

/**
 * Reads a body as JSON; an empty one counts as an empty object.
 *
 * @throws {GatewayError} if it is no JSON in UTF-8, or has prices that could be two
 */
export function operatorBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  let text: string;
  let value: unknown;
  try {
    text = decodeUtf8(bytes);
    value = JSON.parse(text);
  } catch {
    throw new GatewayError("invalid_json", "The body is not JSON");
  }
  const problems = ambiguousNumbers(text);
  if (problems.length > 0) throw new GatewayError("invalid_request", problems.join("; "));
  return value;
}
