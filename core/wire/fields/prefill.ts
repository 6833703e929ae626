/** A trailing assistant message: the client wants the model to continue it. */
import type { ResolvedCapabilities } from "../capabilities.ts";
import { refuse } from "./fields.ts";

/**
 * Refuses it for a model that cannot: an answer that starts anew is not what was asked for.
 *
 * @throws {GatewayError} `conversion_refused` naming the message
 */
export function requirePrefill(path: string, capabilities: ResolvedCapabilities): void {
  if (capabilities.prefill === "no") {
    refuse(path, "this model does not continue an assistant message; end with a user message");
  }
}
