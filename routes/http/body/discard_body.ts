/** Reads and throws away the body of a refused request, so that its client can finish sending and read the answer. */
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { HttpRequest, Pieces } from "./http_request.ts";
import { piecesOf } from "./body_pieces.ts";

/** Most bytes of a refused body that are read; then the connection is reset. */
const discardedBodyBytes = 64 * 1024 * 1024;

/** Milliseconds for which a refused body is read; a client that still sends is cut off. */
const discardMs = 30_000;

/**
 * Reads and discards the rest of a body. Otherwise the server would reset the connection before the client has read
 * the answer.
 */
export async function discard(pieces: Pieces, onPiece = () => {}): Promise<void> {
  let discardedBytes = 0;
  while (discardedBytes < discardedBodyBytes) {
    const piece = await pieces.read();
    if (piece === undefined) return;
    onPiece();
    discardedBytes += piece.length;
  }
  await pieces.cancel();
}

/** Milliseconds without a byte after which a refused client gets its answer: it may have nothing more to send. */
const refusedStallMs = 3_000;

/** Discards the body of a refused request, within bounds of size and time. Never throws. */
export async function discardRequestBody(
  request: Pick<HttpRequest, "body" | "pieces" | "isBodyHeldBack">,
  deadlines: Deadlines,
): Promise<void> {
  // Reading it would ask for it. Its client reads the answer first.
  if (request.isBodyHeldBack === true) return;
  if (request.pieces === undefined && request.body?.locked === true) return;
  const pieces = piecesOf(request);
  if (pieces === undefined) return;
  const cutOff = () => void pieces.cancel().catch(() => {});
  const deadline = deadlines.create(cutOff);
  const stall = deadlines.create(cutOff);
  deadline.arm(discardMs);
  stall.arm(refusedStallMs);
  try {
    await discard(pieces, () => stall.arm(refusedStallMs));
  } catch {
    // The client broke off: no answer is needed.
  } finally {
    deadline.disarm();
    stall.disarm();
  }
}
