/** Reads whole bodies of providers, within a bound for each and a budget for all. */
import { type ByteReader, UpstreamFailure, type UpstreamResponse } from "./transport.ts";

/** Bytes of a provider's refusal that are read. Messages are far shorter, but some providers send whole pages. */
export const maxErrorBodyBytes = 256 * 1024;

/**
 * Bodies of at most this many bytes are read in one go and not counted against a budget: a connection costs
 * as much.
 */
export const uncountedBodyBytes = 64 * 1024;

/** Counts the bytes of a large body before memory is taken for them. */
export interface GrowingCounter {
  /**
   * Takes so many more bytes; returns a promise if they have to be waited for, which rejects with a `GatewayError`
   * after a while.
   */
  grow(bytes: number): Promise<void> | undefined;
}

/** Collects the pieces of a body: a body of one piece is copied once, others double their buffer. */
class Gathering {
  #buffer: Uint8Array | undefined;
  length = 0;

  get capacity(): number {
    return this.#buffer?.length ?? 0;
  }

  enlarge(capacity: number): void {
    const larger = new Uint8Array(capacity);
    larger.set(this.bytes());
    this.#buffer = larger;
  }

  /** Adds a copy of a piece: pieces are views into a buffer that is reused. */
  add(chunk: Uint8Array): void {
    const length = this.length + chunk.length;
    const buffer = this.#buffer;
    if (buffer === undefined) {
      this.#buffer = chunk.slice();
    } else {
      if (length > buffer.length) this.enlarge(Math.max(buffer.length * 2, length));
      this.#buffer?.set(chunk, this.length);
    }
    this.length = length;
  }

  bytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.length) ?? new Uint8Array(0);
  }
}

function tooLarge(maxBytes: number): UpstreamFailure {
  return new UpstreamFailure("too_large", `The body has more than ${maxBytes} bytes`);
}

function declaredBytes(response: Pick<UpstreamResponse, "header">): number {
  const declared = response.header("content-length") ?? "";
  return /^\d{1,15}$/.test(declared) ? Number(declared) : 0;
}

/** Takes a small body that arrived with its head, as most do; it costs no promise then. */
export function arrivedWhole(
  { body }: Pick<UpstreamResponse, "body">,
  maxBytes: number,
): Uint8Array | undefined {
  return body.arrived?.(Math.min(maxBytes, uncountedBodyBytes));
}

/**
 * Reads a body to its end. Above `uncountedBodyBytes` it asks `counter` before it takes memory, once if the length is
 * declared.
 *
 * @throws {UpstreamFailure} `too_large` when it has more than `maxBytes`
 * @throws {GatewayError} what `counter` rejects with
 */
export async function readWhole(
  response: Pick<UpstreamResponse, "header" | "body">,
  maxBytes: number,
  counter?: GrowingCounter,
): Promise<Uint8Array> {
  const arrived = arrivedWhole(response, maxBytes);
  if (arrived !== undefined) return arrived;
  const gathering = new Gathering();
  let counted = 0;
  for (;;) {
    const chunk = await response.body.read();
    if (chunk === null) return gathering.bytes();
    const length = gathering.length + chunk.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    // Most bodies are one small piece, which costs only its copy.
    const isMore = gathering.length > 0 || length > uncountedBodyBytes;
    if (isMore && length > gathering.capacity) {
      const declared = declaredBytes(response);
      if (declared > maxBytes) throw tooLarge(maxBytes);
      const doubled = Math.min(maxBytes, gathering.capacity * 2);
      const capacity = declared >= length ? declared : Math.max(doubled, length);
      if (capacity > uncountedBodyBytes) {
        const waiting = counter?.grow(capacity - counted);
        counted = capacity;
        if (waiting !== undefined) await waiting;
      }
      gathering.enlarge(capacity);
    }
    gathering.add(chunk);
  }
}

/**
 * Reads the beginning of a body: to its end, to `maxBytes`, or to where it breaks. For the text of refusals, whose
 * status counts even if the rest is missing.
 */
export async function readBeginning(body: ByteReader, maxBytes: number): Promise<Uint8Array> {
  const gathering = new Gathering();
  try {
    while (gathering.length < maxBytes) {
      const chunk = await body.read();
      if (chunk === null) break;
      gathering.add(chunk.subarray(0, maxBytes - gathering.length));
    }
  } catch (failure) {
    if (!(failure instanceof UpstreamFailure)) throw failure;
  }
  return gathering.bytes();
}
