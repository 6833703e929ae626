/**
 * Sends a chat call to one route: unchanged where the styles agree, converted where they differ.
 *
 * - Folder `core/calls/exchange/`: one chat call on one route: the request to the provider, and its answer in the
 *   client's style.
 * - In: a read request, the route with its transport and credential.
 * - Out: an answer, whole or as a pipe, native or converted, with its usage; refusals that need no provider.
 * - Never: chooses a route, or reserves, charges or settles.
 */
import type { Route } from "../../catalog/catalog.ts";
import { ArrayStream } from "./gemini_body.ts";
import { ItemTap, type ItemVisitor, visitItems } from "./item_tap.ts";
import { defined } from "../../lib/base/defined.ts";
import type { ChatCall, ChatExchange, ChatRouteAccess } from "./chat_call.ts";
import { startNative } from "./native_exchange.ts";
import { chatStyle, compactsHere, startCompacting, startConverted } from "./converted_exchange.ts";
import { startSearching } from "./searching_exchange.ts";

/**
 * Starts a chat call on a route.
 *
 * @throws {GatewayError} before anything is sent, when the request cannot be converted to the route's style or asks
 * for what this route does not allow
 */
export function startChatExchange(
  call: ChatCall,
  route: Route,
  access: ChatRouteAccess,
): ChatExchange {
  const style = chatStyle(route);
  const { searcher } = call;
  const exchange = searcher !== undefined
    ? startSearching(call, route, style, access, searcher)
    : compactsHere(call, route, style)
    ? startCompacting(call, route, style, access)
    : style === call.request.style
    ? startNative(call, route, call.request.style, access)
    : startConverted(call, route, style, access);
  if (call.request.inArray === true) {
    return { ...exchange, createPipe: () => new ArrayStream(exchange.createPipe()) };
  }
  return call.onItem === undefined ? exchange : tapped(exchange, call.onItem);
}

function visited(
  fromStream: NonNullable<ChatExchange["fromStream"]>,
  visit: ItemVisitor,
): NonNullable<ChatExchange["fromStream"]> {
  return (bytes) => {
    const answer = fromStream(bytes);
    visitItems(answer.clientBytes, visit);
    return answer;
  };
}

function tapped(exchange: ChatExchange, visit: ItemVisitor): ChatExchange {
  const { fromStream } = exchange;
  return {
    ...exchange,
    createPipe: () => new ItemTap(exchange.createPipe(), visit),
    toClient(answer) {
      const bytes = exchange.toClient(answer);
      visitItems(bytes, visit);
      return bytes;
    },
    ...defined({ fromStream: fromStream && visited(fromStream, visit) }),
  };
}
