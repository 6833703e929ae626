/** What the way of a call needs from routing. */
import type { Model, Route, RouteStyle } from "../catalog/catalog.ts";
import type { AttemptResult } from "../call/attempt_loop.ts";
import type { RouteAccess } from "../call/chat_exchange.ts";

/** What a call does on a route; health is kept per route and operation. */
export type Operation = "chat" | "chat_stream" | "count_tokens" | "image" | "speech" | "video";

export interface Router {
  /** Routes worth trying for a call, best first. Empty when every route is out. */
  candidates(model: Model, wanted: { style: RouteStyle; operation: Operation }): readonly Route[];
  /** How to reach a route right now: its provider, a credential that is not resting, its connections. */
  access(route: Route): RouteAccess;
  /** Learns from a try. A caller's own mistake never counts against a route. */
  report(route: Route, operation: Operation, result: AttemptResult): void;
}
