/**
 * Writes objects of any size to a bucket of S3, or of a server that speaks its protocol. An object is there as a whole or
 * not at all: one that is larger than a part is sent in parts, which become the object with the last request, or are
 * taken back.
 *
 * - Folder `routes/operator/cli/bucket/`: objects in buckets, for commands.
 * - In: an address, names and bytes.
 * - Out: whole objects.
 * - Never: shows a key in an error, or holds more than two parts in memory.
 */
import { AwsV4Signer } from "aws4fetch";
import { errorLine } from "../../../../core/lib/base/assert.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { sleep } from "../../../../core/lib/time/sleep.ts";
import type { BucketAddress } from "./bucket_address.ts";

/** Bytes of all parts but the last. A server takes no less than 5 MiB, and 10,000 parts: an object has up to 80 GB. */
const partBytes = 8 * 1_048_576;
const maxParts = 10_000;

/** Tries of a request that the server could not serve at that moment. */
const maxTries = 6;

/** Milliseconds before the second try; each pause is twice as long as the one before. */
const firstPauseMs = 250;

/** Milliseconds that a request may take: a part at 0.5 Mbit/s. */
const requestMs = 150_000;

/** Characters of an answer that are read: a list of errors or an id. */
const maxAnswerChars = 65_536;

interface BucketRequest {
  readonly method: "HEAD" | "PUT" | "POST" | "DELETE";
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

interface BucketAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Needs of a bucket. */
export interface BucketOptions {
  readonly clock: Clock;
  /** For tests: smaller parts. */
  readonly partBytes?: number;
}

/** A bucket that objects are written to. */
export class Bucket {
  readonly #address: BucketAddress;
  readonly #clock: Clock;
  readonly #partBytes: number;

  constructor(address: BucketAddress, options: BucketOptions) {
    this.#address = address;
    this.#clock = options.clock;
    this.#partBytes = options.partBytes ?? partBytes;
  }

  /** Whether an object is there. */
  async has(name: string): Promise<boolean> {
    return await this.#bytesOf(name) !== undefined;
  }

  /**
   * Writes an object, in place of one that has its name.
   *
   * @returns its length
   * @throws what `bytes` throws, or why the server did not take it; then the object is as it was
   */
  async write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const parts = inParts(bytes, this.#partBytes);
    const first = await parts.next();
    const second = await parts.next();
    const body = first.value ?? new Uint8Array();
    if (second.done !== true) {
      return await this.#writeParts(name, withFirst([body, second.value], parts));
    }
    await this.#done({ method: "PUT", name, body });
    return body.length;
  }

  async #writeParts(
    name: string,
    parts: AsyncIterable<Uint8Array<ArrayBuffer>>,
  ): Promise<number> {
    const { text } = await this.#done({ method: "POST", name, query: { uploads: "" } });
    const uploadId = /<UploadId>([^<]{1,1024})<\/UploadId>/.exec(text)?.[1];
    if (uploadId === undefined) throw new Error(`POST ${name}: the answer names no upload`);
    try {
      return await this.#complete(name, unescaped(uploadId), parts);
    } catch (error) {
      // Where this fails as well, the rule of the bucket for unfinished uploads removes the parts.
      const query = { uploadId: unescaped(uploadId) };
      await this.#send({ method: "DELETE", name, query }).catch(() => {});
      throw error;
    }
  }

  async #complete(
    name: string,
    uploadId: string,
    parts: AsyncIterable<Uint8Array<ArrayBuffer>>,
  ): Promise<number> {
    const sent: string[] = [];
    let length = 0;
    for await (const body of parts) {
      const partNumber = sent.length + 1;
      if (partNumber > maxParts) throw new Error(`${name} has more than ${maxParts} parts`);
      const query = { partNumber: String(partNumber), uploadId };
      const { headers } = await this.#done({ method: "PUT", name, query, body });
      const tag = escaped(headers.get("etag") ?? "");
      sent.push(`<Part><PartNumber>${partNumber}</PartNumber><ETag>${tag}</ETag></Part>`);
      length += body.length;
    }
    const list = `<CompleteMultipartUpload>${sent.join("")}</CompleteMultipartUpload>`;
    const body = new TextEncoder().encode(list);
    const request = { method: "POST", name, query: { uploadId }, body } as const;
    const answer = await this.#send(request);
    // An upload is gone once it is complete: the answer to the try before may have been lost.
    const isThere = answer.status === 404 && await this.#bytesOf(name) === length;
    if (!isThere) assertDone(request, answer);
    return length;
  }

  /** The length of an object; `undefined`: it is not there. */
  async #bytesOf(name: string): Promise<number | undefined> {
    const request = { method: "HEAD", name } as const;
    const answer = await this.#send(request);
    if (answer.status === 404) return undefined;
    assertDone(request, answer);
    return Number(answer.headers.get("content-length"));
  }

  async #done(request: BucketRequest): Promise<BucketAnswer> {
    const answer = await this.#send(request);
    assertDone(request, answer);
    return answer;
  }

  /** Sends a request until the server serves or refuses it, a bounded number of times. */
  async #send(request: BucketRequest): Promise<BucketAnswer> {
    for (let tries = 1;; tries++) {
      const isLast = tries >= maxTries;
      try {
        const answer = await this.#sendOnce(request);
        if (isLast || !isBusy(answer)) return answer;
      } catch (error) {
        if (isLast) throw new Error(`${request.method} ${request.name}: ${connectionLine(error)}`);
      }
      await sleep(firstPauseMs * 2 ** (tries - 1));
    }
  }

  async #sendOnce({ method, name, query, body }: BucketRequest): Promise<BucketAnswer> {
    const { url, prefix, region, keys } = this.#address;
    const path = (prefix + name).split("/").map(encodeURIComponent).join("/");
    const digest = await crypto.subtle.digest("SHA-256", body ?? new Uint8Array());
    const signed = await new AwsV4Signer({
      ...keys,
      method,
      url: `${url}/${path}?${new URLSearchParams(query)}`.replace(/\?$/, ""),
      headers: { "x-amz-content-sha256": new Uint8Array(digest).toHex() },
      service: "s3",
      region,
      datetime: new Date(this.#clock.nowMs()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    }).sign();
    const response = await fetch(signed.url, {
      method,
      headers: signed.headers,
      ...(body !== undefined && { body }),
      redirect: "manual",
      signal: AbortSignal.timeout(requestMs),
    });
    const { status, headers } = response;
    return { status, headers, text: await textOf(response) };
  }
}

/** Says why there was no answer: the error of the runtime names the reason in its cause. */
function connectionLine(error: unknown): string {
  return errorLine(error instanceof Error ? error.cause ?? error : error);
}

async function textOf({ body }: Response): Promise<string> {
  let text = "";
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (text.length >= maxAnswerChars) break;
  }
  return text.slice(0, maxAnswerChars);
}

/** Whether the server asks for another try. Completing an upload may begin with 200 and fail after that. */
function isBusy({ status, text }: BucketAnswer): boolean {
  return status >= 500 || status === 429 || (status === 200 && hasError(text));
}

function hasError(text: string): boolean {
  return /<Error[ >]/.test(text);
}

/** @throws with what the server said, if it did not do what was asked */
function assertDone({ method, name }: BucketRequest, { status, headers, text }: BucketAnswer) {
  if (status >= 200 && status < 300 && !hasError(text)) return;
  const said = ["Code", "Message"].flatMap((element) =>
    new RegExp(`<${element}>([^<]{1,200})</${element}>`).exec(text)?.[1] ?? []
  );
  const region = headers.get("x-amz-bucket-region");
  const where = status === 301 && region !== null ? ` the bucket is in ${region}` : "";
  throw new Error(`${method} ${name}: ${status} ${said.join(": ")}${where}`.trim());
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

/** Joins bytes to parts of one length; the last may be shorter. */
async function* inParts(
  bytes: AsyncIterable<Uint8Array>,
  length: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  let part = new Uint8Array(length);
  let filled = 0;
  for await (const some of bytes) {
    for (let at = 0; at < some.length;) {
      const taken = some.subarray(at, at + length - filled);
      part.set(taken, filled);
      filled += taken.length;
      at += taken.length;
      if (filled < length) continue;
      yield part;
      part = new Uint8Array(length);
      filled = 0;
    }
  }
  if (filled > 0) yield part.slice(0, filled);
  return undefined;
}

async function* withFirst<Item>(
  first: readonly Item[],
  rest: AsyncIterable<Item>,
): AsyncGenerator<Item> {
  yield* first;
  yield* rest;
}
