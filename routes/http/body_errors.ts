/** The errors that a request body can be refused with. */
import { GatewayError } from "../../core/errors.ts";

export function tooLarge(maxBytes: number): GatewayError {
  const kilobytes = Math.floor(maxBytes / 1024);
  const size = kilobytes < 1024 ? `${kilobytes} KB` : `${Math.floor(kilobytes / 1024)} MB`;
  return new GatewayError("request_too_large", `The request body has more than ${size}`);
}

export function tooSlow(): GatewayError {
  return new GatewayError("request_timeout", "The request body came too slowly");
}

export function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The request body broke off", { cause });
}
