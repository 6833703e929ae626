/**
 * Reads a request body within bounds of size and time, whatever its framing declares.
 *
 * - Folder `routes/http/body/`: request bodies: read within bounds, slowly where memory is short, or discarded.
 * - In: requests in any state, and bounds.
 * - Out: bytes, or the error with which a body is refused.
 * - Never: keeps a large body before it was admitted, or waits for a slow client without end.
 */
import type { Deadline, Deadlines } from "../../../core/lib/time/deadlines.ts";
import { uncountedBodyBytes } from "../../../core/net/transport/read_whole.ts";
import { maxRequestBodyBytes } from "../../../core/lib/base/limits.ts";
import {
  brokenOff,
  countedStepBytes,
  discard,
  discardRequestBody,
  piecesOf,
  tooLarge,
  tooSlow,
} from "./body_pieces.ts";
import type { HttpRequest, Pieces } from "./http_request.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";

// Reads request bodies that are declared small: in one go, without counting their memory.

/**
 * Milliseconds within which a body must be complete: enough for the largest at 0.7 Mbit/s. The server itself has no
 * such limit.
 */
const requestBodyMs = 240_000;

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
async function readWidely(request: HttpRequest, declaredBytes: number): Promise<Uint8Array> {
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
function readAtOnce(
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

// Reads request bodies that are large or of unknown length.
//
// Before such a body is kept, its admission is asked: once for the sender, then for each step of memory. While the body
// waits for memory nothing is read and its pace is not judged. A body that comes too slowly is cut off, so that it does
// not keep memory from others.

/**
 * Bytes that must arrive of a large body in each `paceWindowMs`: 64 kbit/s, which the slowest mobile connections
 * have.
 */
const paceWindowBytes = 160 * 1024;
const paceWindowMs = 20_000;

/**
 * The buffer of a body is at most this many times as long as what has arrived, so that a declared length alone costs
 * no memory.
 */
const aheadFactor = 4;

/** Bytes of the buffer of a body that is read in place, once something of it has arrived: most need no other. */
const placeBytes = 128 * 1024;

/** Bytes of the first read of such a body: as much as has arrived with a head. */
const firstReadBytes = 4 * 1024;

/** Grants memory to a body above `uncountedBodyBytes`. */
export interface BodyAdmission {
  /** Called once, before anything beyond that is read. Throws or rejects if the caller may not send so much. */
  begin(declaredBytes: number | undefined): Promise<void> | undefined;
  /** Called before bytes are kept; returns a promise if the caller has to wait for them. */
  grow(bytes: number): Promise<void> | undefined;
  /** The body is whole. */
  whole(): void;
  /** The body was given up. */
  release(): void;
}

/** Cuts off a body that comes more slowly than `paceWindowBytes`; paused while the body waits for memory. */
class Pace {
  readonly #deadline: Deadline;
  #newBytes = 0;

  constructor(deadlines: Deadlines, onSlow: () => void) {
    this.#deadline = deadlines.create(() => {
      if (this.#newBytes < paceWindowBytes) onSlow();
      else this.begin();
    });
  }

  begin(): void {
    this.#newBytes = 0;
    this.#deadline.arm(paceWindowMs);
  }

  came(bytes: number): void {
    this.#newBytes += bytes;
  }

  end(): void {
    this.#deadline.disarm();
  }
}

/** The body so far. Its buffer grows as bytes arrive, so that memory is used for received bytes only. */
class GrowingBody {
  readonly #expectedBytes: number;
  /** Made for the first piece: most of a body of some 100 KB comes with its second. */
  #buffer: Uint8Array = new Uint8Array(0);
  #length = 0;
  #countedBytes = 0;

  /** @param expectedBytes the length that it may grow to */
  constructor(expectedBytes: number) {
    this.#expectedBytes = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes to count before so many more are added; mostly 0. */
  uncounted(bytes: number): number {
    const length = this.#length + bytes;
    if (length <= uncountedBodyBytes || length <= this.#countedBytes) return 0;
    const counted = Math.ceil(length / countedStepBytes) * countedStepBytes;
    return Math.min(counted, Math.max(this.#expectedBytes, length)) - this.#countedBytes;
  }

  counted(bytes: number): void {
    this.#countedBytes += bytes;
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const larger = Math.max(length, Math.min(this.#expectedBytes, length * aheadFactor));
      const grown = new Uint8Array(larger);
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }
}

interface SlowRead {
  readonly maxBytes: number;
  /** At most `maxBytes`; the admission has been asked if it is large. */
  readonly declaredBytes: number | undefined;
  readonly admission: BodyAdmission | undefined;
}

/** Reads the pieces of a body, each only when there is memory for it. */
async function readPieces(
  pieces: Pieces,
  pace: Pace,
  { maxBytes, declaredBytes, admission }: SlowRead,
): Promise<Uint8Array> {
  const body = new GrowingBody(declaredBytes ?? maxBytes);
  let isAdmitted = declaredBytes !== undefined;
  if (isAdmitted) pace.begin();
  for (;;) {
    const piece = await pieces.read();
    if (piece === undefined) break;
    pace.came(piece.length);
    if (body.length + piece.length > maxBytes) throw tooLarge(maxBytes);
    const uncounted = body.uncounted(piece.length);
    if (uncounted > 0) {
      const begun = isAdmitted ? undefined : admission?.begin(undefined);
      if (begun !== undefined) await begun;
      if (!isAdmitted) pace.begin();
      isAdmitted = true;
      const waiting = admission?.grow(uncounted);
      if (waiting !== undefined) {
        pace.end();
        await waiting;
        pace.begin();
      }
      body.counted(uncounted);
    }
    body.add(piece);
  }
  admission?.whole();
  return body.bytes();
}

/** Reads a body of known length to where it stays, each part only when there is memory for it. */
async function readInPlace(
  readInto: NonNullable<Pieces["readInto"]>,
  pace: Pace,
  declaredBytes: number,
  admission: BodyAdmission | undefined,
): Promise<Uint8Array> {
  let body = new Uint8Array(firstReadBytes);
  let length = 0;
  let countedBytes = 0;
  pace.begin();
  while (length < declaredBytes) {
    const count = await readInto(body.subarray(length));
    if (count === undefined) break; // cancelled
    pace.came(count);
    length += count;
    if (length < countedBytes || length === declaredBytes) continue;
    const size = Math.min(declaredBytes, Math.max(placeBytes, length * aheadFactor));
    const waiting = admission?.grow(size - countedBytes);
    if (waiting !== undefined) {
      pace.end();
      await waiting;
      pace.begin();
    }
    countedBytes = size;
    const larger = new Uint8Array(size);
    larger.set(body.subarray(0, length));
    body = larger;
  }
  admission?.whole();
  return body.subarray(0, length);
}

/** Reads a body piece by piece. */
async function readSlowly(
  request: HttpRequest,
  deadlines: Deadlines,
  options: SlowRead,
): Promise<Uint8Array> {
  const pieces = piecesOf(request);
  if (pieces === undefined) return new Uint8Array(0);
  let timedOut = false;
  const cutOff = () => {
    timedOut = true;
    pieces.cancel().catch(() => {});
  };
  const deadline = deadlines.create(cutOff);
  const pace = new Pace(deadlines, cutOff);
  deadline.arm(requestBodyMs);
  try {
    const { readInto } = pieces;
    const { declaredBytes, admission } = options;
    const bytes = readInto === undefined || declaredBytes === undefined
      ? await readPieces(pieces, pace, options)
      : await readInPlace(readInto, pace, declaredBytes, admission);
    // A cancelled reader ends like a complete body.
    if (timedOut) throw tooSlow();
    return bytes;
  } catch (error) {
    options.admission?.release();
    if (!(error instanceof GatewayError)) throw timedOut ? tooSlow() : brokenOff(error);
    pace.end();
    if (!timedOut) await discard(pieces).catch(() => {});
    throw error;
  } finally {
    pace.end();
    deadline.disarm();
  }
}

/** Refuses a body that was not read yet: discards it, then throws `refusal`. */
async function refuse(
  request: HttpRequest,
  deadlines: Deadlines,
  refusal: unknown,
): Promise<never> {
  await discardRequestBody(request, deadlines);
  throw refusal;
}

/** Reads a body that is declared large, once its admission grants it. */
async function readLarge(
  request: HttpRequest,
  deadlines: Deadlines,
  options: SlowRead,
): Promise<Uint8Array> {
  try {
    const waiting = options.admission?.begin(options.declaredBytes);
    if (waiting !== undefined) await waiting;
  } catch (refusal) {
    options.admission?.release();
    return await refuse(request, deadlines, refusal);
  }
  return await readSlowly(request, deadlines, options);
}

/** Bounds on a request body. */
export interface BodyBounds {
  /** Default: `maxRequestBodyBytes`. */
  readonly maxBytes?: number;
  readonly admission?: BodyAdmission;
  /**
   * Reads a small body with a wide buffer, so that the next one of its connection arrives with its head: see
   * `widelyReadBodyBytes`.
   */
  readonly isReadWidely?: boolean;
}

/**
 * Reads the body of a request.
 *
 * @throws {GatewayError} `request_too_large` above `maxBytes` (also for chunked bodies), `request_timeout` when the
 * client sends too slowly, `invalid_request` when it breaks off, and any error of the admission
 */
export function readRequestBody(
  request: HttpRequest,
  deadlines: Deadlines,
  { maxBytes = maxRequestBodyBytes, admission, isReadWidely = false }: BodyBounds = {},
): Promise<Uint8Array> {
  const arrived = request.arrivedBody?.();
  if (arrived !== undefined) {
    return arrived.length <= maxBytes
      ? Promise.resolve(arrived)
      : Promise.reject(tooLarge(maxBytes));
  }
  const declared = request.headers.get("content-length");
  const declaredBytes = /^\d{1,15}$/.test(declared ?? "") ? Number(declared) : undefined;
  if (declaredBytes === undefined) {
    return readSlowly(request, deadlines, { maxBytes, declaredBytes, admission });
  }
  if (declaredBytes > maxBytes) return refuse(request, deadlines, tooLarge(maxBytes));
  if (declaredBytes > uncountedBodyBytes) {
    return readLarge(request, deadlines, { maxBytes, declaredBytes, admission });
  }
  // The server does not read past the content-length, so this is bounded.
  return readAtOnce(
    deadlines,
    isReadWidely && declaredBytes <= widelyReadBodyBytes
      ? () => readWidely(request, declaredBytes)
      : () => request.bytes(),
  );
}
