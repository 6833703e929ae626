/**
 * Reads a request body within bounds of size and time, whatever its framing says.
 *
 * - Folder `routes/http/`: what all HTTP parts share: bodies, errors, queries, callers.
 * - In: requests in any state.
 * - Out: bytes, callers, error answers.
 * - Never: imports another folder of `routes/`.
 */
import type { Deadline, Deadlines } from "../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../core/errors.ts";
import { uncountedBodyBytes } from "../../core/calls/read_whole.ts";
import { maxRequestBodyBytes } from "../../core/limits.ts";

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
 * Milliseconds within which a body must be complete: the largest at 0.7 Mbit/s. The server itself has no such
 * limit.
 */
const requestBodyMs = 240_000;

/**
 * Bytes of a refused body that are still read and thrown away, so that the client gets to read the answer.
 */
const discardedBodyBytes = 64 * 1024 * 1024;

/** Milliseconds for which a refused body is read on; a client that keeps sending is cut off. */
const discardMs = 30_000;

/**
 * A large body must bring this many bytes in each `paceWindowMs`: 64 kbit/s, which the slowest mobile lines have. Whoever
 * sends more slowly only keeps memory from others.
 */
const paceWindowBytes = 160 * 1024;
const paceWindowMs = 20_000;

/** Room is taken in steps of this size: what a socket brings at once. */
const countedStepBytes = 64 * 1024;

/** The buffer of a body is at most this many times as long as what arrived: what is only declared costs no memory. */
const aheadFactor = 4;

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
async function discard(pieces: Pieces, onPiece = () => {}): Promise<void> {
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

/** What a body above `uncountedBodyBytes` asks before it is kept; who gave it gets it back. */
export interface BodyAdmission {
  /** Asked once, before anything beyond that is read. Throws or rejects where the caller may not send so much. */
  begin(declaredBytes: number | undefined): Promise<void> | undefined;
  /** Asked before bytes are kept; a promise where they have to be waited for. */
  grow(bytes: number): Promise<void> | undefined;
  /** The body is whole. */
  whole(): void;
  /** The body was given up. */
  release(): void;
}

export interface BodyBounds {
  /** Default: `maxRequestBodyBytes`. */
  readonly maxBytes?: number;
  readonly admission?: BodyAdmission;
  /** Reads a small body so that the next one of its connection comes with its head; see `widelyReadBodyBytes`. */
  readonly isReadWidely?: boolean;
}

/** Reads pieces of a body as they come. */
interface Pieces {
  /** `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

/** The server gives larger pieces to a reader that brings a buffer; a body that is there already knows no such reader. */
function piecesOf(body: ReadableStream<Uint8Array>): Pieces {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    const whole = body.getReader();
    return { read: async () => (await whole.read()).value, cancel: () => whole.cancel() };
  }
  let buffer = new ArrayBuffer(countedStepBytes);
  return {
    async read() {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return undefined;
      buffer = value.buffer;
      return value;
    },
    cancel: () => reader.cancel(),
  };
}

/** Cuts off a body that comes more slowly than `paceWindowBytes`; stands still while the body waits for room. */
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

/** The body so far. It grows as bytes come, so that a large body is in memory once and a declared length is not. */
class GrowingBody {
  readonly #expectedBytes: number;
  #buffer: Uint8Array;
  #length = 0;
  #countedBytes = 0;

  /** @param expectedBytes what it may grow to */
  constructor(expectedBytes: number) {
    this.#expectedBytes = expectedBytes;
    this.#buffer = new Uint8Array(Math.min(expectedBytes, uncountedBodyBytes));
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes to take room for before so many more are added; 0 mostly. */
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

/** Reads the pieces of a body, each only when there is room for it. */
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

/** Bodies that are declared small are read in one go, without a stream between: the cheapest way there is. */
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

async function readSlowly(
  request: Request,
  deadlines: Deadlines,
  options: SlowRead,
): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  const pieces = piecesOf(request.body);
  let timedOut = false;
  const cutOff = () => {
    timedOut = true;
    pieces.cancel().catch(() => {});
  };
  const deadline = deadlines.create(cutOff);
  const pace = new Pace(deadlines, cutOff);
  deadline.arm(requestBodyMs);
  try {
    const bytes = await readPieces(pieces, pace, options);
    // A cancelled reader ends like a body that was whole.
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

/** Refuses a body of which nothing was read yet. */
async function refuse(
  request: Request,
  deadlines: Deadlines,
  refusal: unknown,
): Promise<never> {
  await discardRequestBody(request, deadlines);
  throw refusal;
}

/** Reads a large body: who sends it is asked for first, then for how long it is. */
async function readLarge(
  request: Request,
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

/**
 * Reads the body of a request.
 *
 * @throws {GatewayError} `request_too_large` above `maxBytes` (also for chunked bodies), `request_timeout` when the
 * client sends too slowly, `invalid_request` when it breaks off, and whatever the admission refuses it with
 */
export function readRequestBody(
  request: Request,
  deadlines: Deadlines,
  { maxBytes = maxRequestBodyBytes, admission, isReadWidely = false }: BodyBounds = {},
): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  const declaredBytes = /^\d{1,15}$/.test(declared ?? "") ? Number(declared) : undefined;
  if (declaredBytes === undefined) {
    return readSlowly(request, deadlines, { maxBytes, declaredBytes, admission });
  }
  if (declaredBytes > maxBytes) return refuse(request, deadlines, tooLarge(maxBytes));
  if (declaredBytes > uncountedBodyBytes) {
    return readLarge(request, deadlines, { maxBytes, declaredBytes, admission });
  }
  // The server holds the client to its content-length, so this is bounded.
  return readAtOnce(
    deadlines,
    isReadWidely && declaredBytes <= widelyReadBodyBytes
      ? () => readWidely(request, declaredBytes)
      : () => request.bytes(),
  );
}
