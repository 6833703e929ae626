/** Checks a trailing assistant message, which the client wants the model to continue. */
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { refuse } from "./fields.ts";

/**
 * Refuses a trailing assistant message for a model that cannot continue it and would begin a new answer.
 *
 * @throws {GatewayError} `conversion_refused` naming the message
 */
export function requirePrefill(path: string, capabilities: ResolvedCapabilities): void {
  if (capabilities.prefill === "no") {
    refuse(path, "this model does not continue an assistant message; end with a user message");
  }
}
