/** Reads a request body within bounds of size and time, whatever its framing says. */
import type { ByteRoom } from "../../core/byte_budget.ts";
import type { Deadlines } from "../../core/deadlines.ts";
import { GatewayError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";

function tooLarge(maxBytes: number): GatewayError {
  const kilobytes = Math.floor(maxBytes / 1024);
  const size = kilobytes < 1024 ? `${kilobytes} KB` : `${Math.floor(kilobytes / 1024)} MB`;
  return new GatewayError("request_too_large", `The request body has more than ${size}`);
}

function tooSlow(): GatewayError {
  return new GatewayError("request_timeout", "The request body came too slowly");
}

function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The request body broke off", { cause });
}

/**
 * Reads on and throws away, so that the client can finish sending and read our answer: the server would otherwise
 * reset the connection under it. Bounded: past that the reset is the client's own doing.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let discardedBytes = 0;
  while (discardedBytes < limits.discardedBodyBytes) {
    const { done, value } = await reader.read();
    if (done) return;
    discardedBytes += value.length;
  }
  await reader.cancel();
}

/** Throws the body of a refused request away, within the same bounds of size and time. Never throws. */
export async function discardRequestBody(request: Request, deadlines: Deadlines): Promise<void> {
  const { body } = request;
  if (body === null || body.locked) return;
  const reader = body.getReader();
  const patience = deadlines.create(() => void reader.cancel().catch(() => {}));
  patience.arm(limits.discardMs);
  try {
    await discard(reader);
  } catch {
    // The client broke off: nobody is left to be told.
  } finally {
    patience.disarm();
  }
}

export interface BodyBounds {
  /** Default: `limits.requestBodyBytes`. */
  readonly maxBytes?: number;
  /** Asked for room before it is filled, by bodies above `limits.uncountedBodyBytes`; who gave it gets it back. */
  readonly room?: ByteRoom;
  /** Reads a small body so that the next one of its connection comes with its head; see `limits.widelyReadBodyBytes`. */
  readonly isReadWidely?: boolean;
}

/** First room for a body that does not say how long it is. */
const undeclaredBytes = limits.uncountedBodyBytes;

/**
 * Reads into one buffer as the bytes come, so that a large body is in memory once. Its declared length is room set
 * aside, not trusted: pages that nothing is written to cost nothing.
 */
async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { maxBytes, declaredBytes, room }: SlowRead,
): Promise<Uint8Array> {
  let whole = new Uint8Array(declaredBytes ?? undeclaredBytes);
  let counted = declaredBytes ?? 0;
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return whole.subarray(0, length);
      if (length + value.length > maxBytes) throw tooLarge(maxBytes);
      if (length + value.length > whole.length) {
        const larger = Math.min(maxBytes, Math.max(whole.length * 2, length + value.length));
        room?.take(larger - counted);
        counted = larger;
        const grown = new Uint8Array(larger);
        grown.set(whole.subarray(0, length));
        whole = grown;
      }
      whole.set(value, length);
      length += value.length;
    }
  } catch (refusal) {
    if (!(refusal instanceof GatewayError)) throw refusal;
    whole = new Uint8Array(0);
    room?.release();
    await discard(reader);
    throw refusal;
  }
}

/**
 * Reads through a view with room for a head beside the body: the server reads the connection in such pieces from then
 * on. A body that is there already has no stream of bytes and comes as it is.
 */
async function readWidely(request: Request, declaredBytes: number): Promise<Uint8Array> {
  let reader: ReadableStreamBYOBReader | undefined;
  try {
    reader = request.body?.getReader({ mode: "byob" });
  } catch {
    // It is there already.
  }
  if (reader === undefined) return await request.bytes();
  let wideBytes = 2 * limits.wideReadHeadBytes;
  while (wideBytes < limits.wideReadHeadBytes + declaredBytes) wideBytes *= 2;
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

/** Bodies that are declared small are read in one go, without a stream between: the cheapest way there is. */
function readAtOnce(
  deadlines: Deadlines,
  reading: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const patience = deadlines.create(() => reject(tooSlow()));
    patience.arm(limits.requestBodyMs);
    reading().then(
      (bytes) => {
        patience.disarm();
        resolve(bytes);
      },
      (error) => {
        patience.disarm();
        reject(brokenOff(error));
      },
    );
  });
}

interface SlowRead {
  readonly maxBytes: number;
  /** At most `maxBytes`, and room was taken for it. */
  readonly declaredBytes: number | undefined;
  readonly room: ByteRoom | undefined;
}

async function readSlowly(
  request: Request,
  deadlines: Deadlines,
  options: SlowRead,
): Promise<Uint8Array> {
  const reader = request.body?.getReader();
  if (reader === undefined) return new Uint8Array(0);
  let timedOut = false;
  const patience = deadlines.create(() => {
    timedOut = true;
    reader.cancel().catch(() => {});
  });
  patience.arm(limits.requestBodyMs);
  try {
    const bytes = await readChunks(reader, options);
    // A cancelled reader ends like a body that was whole.
    if (timedOut) throw tooSlow();
    return bytes;
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw timedOut ? tooSlow() : brokenOff(error);
  } finally {
    patience.disarm();
  }
}

/** Refuses a body of which nothing was read yet. */
async function refuse(
  request: Request,
  deadlines: Deadlines,
  refusal: unknown,
): Promise<never> {
  await discardRequestBody(request, deadlines);
  throw refusal;
}

/**
 * Reads the body of a request.
 *
 * @throws {GatewayError} `request_too_large` above `maxBytes` (also for chunked bodies), `request_timeout` when the
 * client sends too slowly, `invalid_request` when it breaks off, and whatever the room says when it is full
 */
export function readRequestBody(
  request: Request,
  deadlines: Deadlines,
  { maxBytes = limits.requestBodyBytes, room, isReadWidely = false }: BodyBounds = {},
): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  const declaredBytes = /^\d{1,15}$/.test(declared ?? "") ? Number(declared) : undefined;
  if (declaredBytes !== undefined) {
    if (declaredBytes > maxBytes) return refuse(request, deadlines, tooLarge(maxBytes));
    if (declaredBytes > limits.uncountedBodyBytes) {
      try {
        room?.take(declaredBytes);
      } catch (refusal) {
        return refuse(request, deadlines, refusal);
      }
    }
    // The server holds the client to its content-length, so this is bounded.
    if (isReadWidely && declaredBytes <= limits.widelyReadBodyBytes) {
      return readAtOnce(deadlines, () => readWidely(request, declaredBytes));
    }
    if (declaredBytes <= limits.bodyAtOnceBytes) {
      return readAtOnce(deadlines, () => request.bytes());
    }
  }
  return readSlowly(request, deadlines, { maxBytes, declaredBytes, room });
}
