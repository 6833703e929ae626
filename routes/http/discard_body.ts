/** Reads and throws away the body of a refused request, so that its client can finish sending and read the answer. */
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { type Pieces, piecesOf } from "./body_pieces.ts";

/**
 * Bytes of a refused body that are still read and thrown away, so that the client gets to read the answer.
 */
const discardedBodyBytes = 64 * 1024 * 1024;

/** Milliseconds for which a refused body is read on; a client that keeps sending is cut off. */
const discardMs = 30_000;

/**
 * Reads on and throws away, so that the client can finish sending and read our answer: the server would otherwise
 * reset the connection under it. Bounded: past that the reset is the client's own doing.
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

/** A refused client that sends nothing for this long gets its answer: it may have nothing more to send. */
const refusedStallMs = 3_000;

/**
 * Throws the body of a refused request away, within the same bounds of size and time, as long as it comes. Never throws.
 */
export async function discardRequestBody(request: Request, deadlines: Deadlines): Promise<void> {
  const { body } = request;
  if (body === null || body.locked) return;
  const pieces = piecesOf(body);
  const cutOff = () => void pieces.cancel().catch(() => {});
  const deadline = deadlines.create(cutOff);
  const stall = deadlines.create(cutOff);
  deadline.arm(discardMs);
  stall.arm(refusedStallMs);
  try {
    await discard(pieces, () => stall.arm(refusedStallMs));
  } catch {
    // The client broke off: there is no one to answer.
  } finally {
    deadline.disarm();
    stall.disarm();
  }
}
