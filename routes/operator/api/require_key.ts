/** The guard of paths that need the operator's key. */
import type { Context, Next } from "hono";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { sameSecret } from "../../../core/lib/hash/sha256.ts";
import { errorResponse } from "../../http/error_response.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";

/**
 * Admits only requests with the operator's key as `Authorization: Bearer`. Without a sent or a configured key the path
 * does not exist.
 */
export function requireOperatorKey(
  { config, clock }: Pick<Gateway, "config" | "clock">,
): (context: Context, next: Next) => Promise<Response | undefined> {
  return async (context, next) => {
    const sent = /^bearer +(\S+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    if (config.operatorKey === undefined || sent === undefined) return context.notFound();
    if (!await sameSecret(sent, config.operatorKey)) {
      const error = new GatewayError("invalid_api_key", "The operator key is wrong");
      return errorResponse(error, "chat", newId("request", clock.nowMs()));
    }
    await next();
    return undefined;
  };
}
