/** Rejects locally what every route would refuse, before contacting a provider. */
import { withResolvers } from "../../lib/runtime/mod.ts";
import type { Route } from "../../catalog/catalog.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { Transport } from "../../net/transport/transport.ts";
import { anyDocument } from "../request/remote_documents.ts";
import type { ChatCall } from "./chat_call.ts";
import { startChatExchange } from "./chat_exchange.ts";

/**
 * Finds the error with which every route refuses a request before it is sent: a feature that no route offers, a
 * request that no route can carry. `undefined` if a route could send it. Used for callers who cannot pay: they learn
 * at once that the request is wrong, not only after a top-up.
 *
 * @param prepare builds the request of a route without sending it, and throws what the route refuses
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../lib/errors/errors.ts";
 * import { localRefusal } from "./local_refusal.ts";
 * const wrong = new GatewayError("invalid_request", "image: is not valid base64");
 * const routes = ["a", "b"];
 * const of = (refusing: string) => localRefusal(routes, (route) => {
 *   if (refusing.includes(route)) throw wrong;
 * });
 * if (await of("ab") !== wrong) throw new Error("all refuse");
 * if (await of("a") !== undefined) throw new Error("one could go out");
 * ```
 */
export async function localRefusal<Choice>(
  routes: readonly Choice[],
  prepare: (route: Choice) => unknown,
): Promise<GatewayError | undefined> {
  let refusal: GatewayError | undefined;
  for (const route of routes) {
    try {
      await prepare(route);
      return undefined;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status !== 400) return undefined;
      refusal ??= error;
    }
  }
  return refusal;
}

/** A transport that sends nothing. */
const nowhere: Transport = {
  open: () => ({ response: withResolvers<never>().promise, cancel() {} }),
};

/** Finds the error with which every route refuses a chat call. */
export function localChatRefusal(
  call: ChatCall,
  routes: readonly Route[],
  providerOf: (route: Route) => ProviderEntry | undefined,
): Promise<GatewayError | undefined> {
  return localRefusal(routes, (route) => {
    const provider = providerOf(route);
    if (provider === undefined) return;
    startChatExchange({ ...call, documents: anyDocument }, route, {
      provider,
      secret: undefined,
      transport: nowhere,
      onStatus() {},
      mayRepeat: () => false,
      onSentAgain() {},
    });
  });
}
