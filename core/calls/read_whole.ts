/** Bodies of providers that are wanted whole, within bounds of each and of all together. */
import { type ByteReader, UpstreamFailure, type UpstreamResponse } from "../upstream/transport.ts";

/**
 * Bodies of at most this many bytes are read in one go and not counted against a budget: a connection costs
 * as much.
 */
export const uncountedBodyBytes = 64 * 1024;

/** Where the bytes of a large body are counted before there is memory taken for them. */
export interface GrowingCounter {
  /** A promise where so many more must be waited for. It rejects with a `GatewayError` after a while. */
  grow(bytes: number): Promise<void> | undefined;
}

/** Bytes that grow: a body of one piece is copied once, others double their buffer. */
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

  /** Takes a copy: pieces are views into a buffer that is used again. */
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

/**
 * Reads a body to its end. From `uncountedBodyBytes` on it asks `counter` before it takes memory: once where the
 * length is declared.
 *
 * @throws {UpstreamFailure} `too_large` when it has more than `maxBytes`
 * @throws {GatewayError} what `counter` rejects with
 */
export async function readWhole(
  response: Pick<UpstreamResponse, "header" | "body">,
  maxBytes: number,
  counter?: GrowingCounter,
): Promise<Uint8Array> {
  const gathering = new Gathering();
  let counted = 0;
  for (;;) {
    const chunk = await response.body.read();
    if (chunk === null) return gathering.bytes();
    const length = gathering.length + chunk.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    // Most bodies are one small piece, and cost no more than its copy.
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
 * Reads what can be had of a body: up to its end, to `maxBytes`, or to where it breaks. For the text of refusals,
 * whose status speaks even when the rest does not come.
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
