/** Reads request bodies that are declared small: in one go, without counting their memory. */
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { HttpRequest } from "./http_request.ts";
import { brokenOff, tooSlow } from "./body_errors.ts";

/**
 * Milliseconds within which a body must be complete: enough for the largest at 0.7 Mbit/s. The server itself has no
 * such limit.
 */
export const requestBodyMs = 240_000;

/**
 * Largest body in bytes that is read in one go as the first of its connection. The server reads a connection
 * 1 KB at a time until a larger read is asked for, and then keeps that size. A body that arrived with its
 * head needs no stream, which saves most of the cost of reading. Longer bodies arrive in several packets
 * anyway.
 */
export const widelyReadBodyBytes = 14 * 1024;

/**
 * Bytes of the wide read that are left for a head of usual size. The server doubles its buffer until both fit
 * and keeps it with the connection: 16 KB at most.
 */
const wideReadHeadBytes = 2 * 1024;

/**
 * Reads a body through a buffer with room for a head beside the body: from then on the server reads the connection in
 * pieces of that size. A body that is already in memory is taken as it is.
 */
export async function readWidely(request: HttpRequest, declaredBytes: number): Promise<Uint8Array> {
  let reader: ReadableStreamBYOBReader | undefined;
  try {
    reader = request.body?.getReader({ mode: "byob" });
  } catch {
    // It is already in memory.
  }
  if (reader === undefined) return await request.bytes();
  let wideBytes = 2 * wideReadHeadBytes;
  while (wideBytes < wideReadHeadBytes + declaredBytes) wideBytes *= 2;
  const whole = new Uint8Array(declaredBytes);
  let length = 0;
  let view = new Uint8Array(wideBytes);
  for (;;) {
    const { done, value } = await reader.read(view);
    if (done) return whole.subarray(0, length);
    whole.set(value, length);
    length += value.length;
    view = new Uint8Array(value.buffer);
  }
}

/** Runs a read of a whole body within the time bound. No stream is in between, which is the cheapest way. */
export function readAtOnce(
  deadlines: Deadlines,
  reading: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const deadline = deadlines.create(() => reject(tooSlow()));
    deadline.arm(requestBodyMs);
    reading().then(
      (bytes) => {
        deadline.disarm();
        resolve(bytes);
      },
      (error) => {
        deadline.disarm();
        reject(brokenOff(error));
      },
    );
  });
}
