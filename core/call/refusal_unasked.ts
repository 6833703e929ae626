/** What is wrong with a chat request itself, found without a word to any provider. */
import type { Route } from "../catalog/catalog.ts";
import type { ProviderEntry } from "../catalog/schema.ts";
import { GatewayError } from "../errors.ts";
import type { Transport } from "../upstream/transport.ts";
import { type ChatCall, startChatExchange } from "./chat_exchange.ts";

/** Nothing goes out. */
const nowhere: Transport = {
  open: () => ({ response: Promise.withResolvers<never>().promise, cancel() {} }),
};

/**
 * The refusal in which all routes agree before they would ask their providers: a feature that none offers, a request
 * that none can carry. `undefined` if one could go out. For callers that are refused for another reason anyway: who
 * cannot pay yet should not learn only afterwards that the request is wrong.
 */
export function refusalUnasked(
  call: ChatCall,
  routes: readonly Route[],
  providerOf: (route: Route) => ProviderEntry | undefined,
): GatewayError | undefined {
  let refusal: GatewayError | undefined;
  for (const route of routes) {
    const provider = providerOf(route);
    if (provider === undefined) return undefined;
    try {
      startChatExchange(call, route, {
        provider,
        secret: undefined,
        transport: nowhere,
        onStatus() {},
        mayRepeat: () => false,
        onSentAgain() {},
      });
      return undefined;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status !== 400) return undefined;
      refusal ??= error;
    }
  }
  return refusal;
}
