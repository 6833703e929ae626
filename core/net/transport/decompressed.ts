/** Reads answers that a provider compressed although every request says `accept-encoding: identity`. */
import { type ByteReader, UpstreamFailure, type UpstreamResponse } from "./transport.ts";

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
 * import { bodyOf } from "./given_body.ts";
 * import { codingOf, decompressed } from "./decompressed.ts";
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
