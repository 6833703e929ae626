/** Turns a standard `Response` into the form that the server writes. */
import type { ByteSink, ByteSource } from "../../../core/lib/bytes/byte_source.ts";
import { Reply } from "../../../core/net/http1/server/reply.ts";

/** Microtasks after which a body that has not ended is one that is still being produced. */
const settledMicrotasks = 32;

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** The rest of a body whose first reads are done or pending. */
class ReaderSource implements ByteSource {
  readonly #reader: Reader;
  #reads: Promise<ReadableStreamReadResult<Uint8Array>>[];

  constructor(reader: Reader, reads: Promise<ReadableStreamReadResult<Uint8Array>>[]) {
    this.#reader = reader;
    this.#reads = reads;
  }

  async pull(sink: ByteSink): Promise<void> {
    const { done, value } = await (this.#reads.shift() ?? this.#reader.read());
    if (done) sink.close();
    else sink.enqueue(value);
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

/**
 * Makes a reply of a response. A body that is in memory as one piece gets its length, as every other server does; a
 * `Response` does not say whether it is.
 */
export async function replyOf(response: Response): Promise<Reply> {
  const { status, body } = response;
  const headers: [string, string][] = [...response.headers];
  if (body === null) return new Reply(status, headers, null);
  const reader = body.getReader();
  if (isStreamed(response)) return new Reply(status, headers, new ReaderSource(reader, []));
  const first = reader.read();
  const { done, value } = await first;
  if (done) return new Reply(status, headers, new Uint8Array(0));
  const second = reader.read();
  let isOnly = false;
  second.then(({ done }) => isOnly = done, () => {});
  for (let turn = 0; turn < settledMicrotasks && !isOnly; turn++) await undefined;
  if (isOnly) return new Reply(status, headers, value);
  return new Reply(status, headers, new ReaderSource(reader, [first, second]));
}

/** Whether the first bytes may come long after the head, which is not to wait for them. */
function isStreamed({ headers }: Response): boolean {
  return headers.has("content-length") ||
    headers.get("content-type")?.startsWith("text/event-stream") === true;
}
