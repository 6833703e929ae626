/** When a request may go out a second time, because the kept connection that took it has ended. */
import type { UpstreamRequest } from "../../upstream/transport.ts";
import type { Link } from "./link.ts";

/** Lets the event loop tell what has happened already: reads and writes that have ended, but whose promises wait. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Making it twice does no more than making it once (RFC 9110 section 9.2.2), or the caller takes the risk. */
export function isRepeatable({ method, onSentAgain }: UpstreamRequest): boolean {
  return method !== "POST" || onSentAgain !== undefined;
}

/**
 * Tells whether a request may be sent again after `pooled` has ended under it, and tells its caller if the peer may
 * have acted on the first.
 *
 * A peer may close an idle connection while our request is on its way. From here that looks the same as a peer that
 * has read the request, acted on it and died: no byte came back. Sure is only that what was not written whole cannot
 * have been acted on.
 */
export async function maySendAgain(request: UpstreamRequest, pooled: Link): Promise<boolean> {
  if (pooled.answered) return false;
  // A write that has just ended may not have told us yet.
  await eventLoopTurn();
  if (!pooled.requestWritten) return true;
  request.onSentAgain?.();
  return isRepeatable(request);
}
