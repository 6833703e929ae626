/**
 * Decides whether a request is sent a second time after the kept connection that took it has ended.
 */
import type { UpstreamRequest } from "../transport/transport.ts";
import type { Link } from "./link.ts";

/**
 * Waits one turn of the event loop, so that reads and writes that have ended settle their promises.
 */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * Whether repeating the request does no more than making it once (RFC 9110 section 9.2.2), or the
 * caller takes the risk.
 */
export function isRepeatable({ method, onSentAgain }: UpstreamRequest): boolean {
  return method !== "POST" || onSentAgain !== undefined;
}

/**
 * Returns whether a request may be sent again after `pooled` has ended under it, and notifies its
 * caller if the peer may have acted on the first.
 *
 * A peer may close an idle connection while the request is on its way. From here that looks the
 * same as a peer that read the request, acted on it and died: no byte came back. The one certain
 * case is that a request which was not written completely was not acted on.
 */
export async function maySendAgain(request: UpstreamRequest, pooled: Link): Promise<boolean> {
  if (pooled.answered) return false;
  // A write that has just ended may not have settled its promise yet.
  await eventLoopTurn();
  if (!pooled.requestWritten) return true;
  request.onSentAgain?.();
  return isRepeatable(request);
}
