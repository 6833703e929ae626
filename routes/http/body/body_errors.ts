/** The errors that a request body can be refused with. */
import { GatewayError } from "../../../core/lib/errors/errors.ts";

/** Makes the error for a body above its bound. */
export function tooLarge(maxBytes: number): GatewayError {
  const kilobytes = Math.floor(maxBytes / 1024);
  const size = kilobytes < 1024 ? `${kilobytes} KB` : `${Math.floor(kilobytes / 1024)} MB`;
  return new GatewayError("request_too_large", `The request body has more than ${size}`);
}

/** Makes the error for a body that came too slowly. */
export function tooSlow(): GatewayError {
  return new GatewayError("request_timeout", "The request body came too slowly");
}

/** Makes the error for a body that ended before it was complete. */
export function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The request body broke off", { cause });
}
