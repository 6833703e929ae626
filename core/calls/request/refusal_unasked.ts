/** What is wrong with a request itself, found without a word to any provider. */
import { withResolvers } from "../../lib/runtime/mod.ts";
import type { Route } from "../../catalog/catalog.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import { GatewayError } from "../../errors.ts";
import type { Transport } from "../../upstream/transport.ts";
import { anyDocument } from "./remote_documents.ts";
import { type ChatCall, startChatExchange } from "../chat_exchange.ts";

/**
 * The refusal in which all routes agree before they would ask their providers: a feature that none offers, a request
 * that none can carry. `undefined` if one could go out. For callers that are refused for another reason anyway: who
 * cannot pay yet should not learn only afterwards that the request is wrong.
 *
 * @param prepare makes the request of a route as it would go out, and throws what the route refuses
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../errors.ts";
 * import { refusalUnasked } from "./refusal_unasked.ts";
 * const wrong = new GatewayError("invalid_request", "image: is not valid base64");
 * const routes = ["a", "b"];
 * const of = (refusing: string) => refusalUnasked(routes, (route) => {
 *   if (refusing.includes(route)) throw wrong;
 * });
 * if (await of("ab") !== wrong) throw new Error("all refuse");
 * if (await of("a") !== undefined) throw new Error("one could go out");
 * ```
 */
export async function refusalUnasked<Choice>(
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

/** Nothing goes out. */
const nowhere: Transport = {
  open: () => ({ response: withResolvers<never>().promise, cancel() {} }),
};

/** The same for a chat call. */
export function chatRefusalUnasked(
  call: ChatCall,
  routes: readonly Route[],
  providerOf: (route: Route) => ProviderEntry | undefined,
): Promise<GatewayError | undefined> {
  return refusalUnasked(routes, (route) => {
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
