/**
 * Reads bodies of providers: whole ones within a bound for each and a budget for all, and those that a provider
 * compressed although every request says `accept-encoding: identity`.
 */
import { type ByteReader, UpstreamFailure, type UpstreamResponse } from "./transport.ts";

/**
 * Makes a body of bytes that have already arrived.
 *
 * @example
 * ```ts
 * import { bodyOf } from "./read_whole.ts";
 * const body = bodyOf(new Uint8Array([1, 2]));
 * if ((await body.read())?.length !== 2 || await body.read() !== null) throw new Error("wrong");
 * ```
 */
export function bodyOf(bytes: Uint8Array): ByteReader {
  let rest: Uint8Array | null = bytes.length === 0 ? null : bytes;
  return {
    read() {
      const read = rest;
      rest = null;
      return Promise.resolve(read);
    },
  };
}

/**
 * Codings of content that can be undone within a bound, by the name of the runtime. Brotli is none of them: 500 bytes of it
 * become 300 MB in one piece, which runtimes have no way to limit.
 */
const formats: ReadonlyMap<string, CompressionFormat> = new Map<string, CompressionFormat>([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
]);

/**
 * Bytes that are decompressed in one go. They become at most about a thousand times as many, the highest ratio of the
 * format, so that a malicious body takes 4 MB of memory before its reader's own bound stops it.
 */
const sliceBytes = 4_096;

/** The coding of an answer's body; `undefined` for a plain one. */
export function codingOf(response: Pick<UpstreamResponse, "header">): string | undefined {
  const coding = response.header("content-encoding")?.trim().toLowerCase() ?? "";
  return coding === "" || coding === "identity" ? undefined : coding;
}

/**
 * Returns an answer with its body in plain form; one whose coding cannot be undone is returned as it is.
 *
 * @example
 * ```ts
 * import { bodyOf } from "./read_whole.ts";
 * import { codingOf, decompressed } from "./read_whole.ts";
 * const packed = new Response("Hello").body?.pipeThrough(new CompressionStream("gzip"));
 * const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
 * const header = (name: string) => name === "content-encoding" ? "gzip" : undefined;
 * const plain = decompressed({ status: 200, header, body: bodyOf(bytes) });
 * const text = new TextDecoder().decode(await plain.body.read() ?? undefined);
 * if (text !== "Hello" || codingOf(plain) !== undefined) throw new Error(text);
 * ```
 */
export function decompressed(response: UpstreamResponse): UpstreamResponse {
  const coding = codingOf(response);
  const format = coding === undefined ? undefined : formats.get(coding);
  if (format === undefined) return response;
  return {
    status: response.status,
    // The length is that of the compressed body.
    header: (name) =>
      name === "content-encoding" || name === "content-length" ? undefined : response.header(name),
    body: new DecompressedBody(response.body, format),
  };
}

class DecompressedBody implements ByteReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #failure: UpstreamFailure | undefined;

  constructor(body: ByteReader, format: CompressionFormat) {
    const { readable, writable } = new DecompressionStream(format);
    this.#reader = readable.getReader();
    void this.#feed(body, writable.getWriter());
  }

  async #feed(
    body: ByteReader,
    writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>,
  ): Promise<void> {
    try {
      for (let chunk = await body.read(); chunk !== null; chunk = await body.read()) {
        for (let at = 0; at < chunk.length; at += sliceBytes) {
          // A copy: the piece is a view of a buffer that the next read reuses.
          await writer.write(chunk.slice(at, at + sliceBytes));
        }
      }
      await writer.close();
    } catch (failure) {
      this.#failure = failure instanceof UpstreamFailure ? failure : undefined;
      // The reader gets the failure; a stream that has failed by itself cannot be aborted again.
      await writer.abort(failure).catch(() => {});
    }
  }

  async read(): Promise<Uint8Array | null> {
    try {
      const { done, value } = await this.#reader.read();
      return done ? null : value;
    } catch (cause) {
      throw this.#failure ??
        new UpstreamFailure("protocol", "The compressed body cannot be read", { cause });
    }
  }
}

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
