/** An exchange that a test scripts step by step. */
import {
  type ByteReader,
  type PieceReceiver,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamFailureCode,
  type UpstreamResponse,
} from "../../../../core/net/transport/transport.ts";
import { passTurns } from "../../../support/turns.ts";

const encoder = new TextEncoder();

/** Lets everything run that waits for nothing but its turn. */
export function settled(): Promise<void> {
  return passTurns(3);
}

export class FakeExchange implements UpstreamExchange, ByteReader {
  readonly #head = Promise.withResolvers<UpstreamResponse>();
  readonly response = this.#head.promise;
  readonly #pieces: (Uint8Array | null | UpstreamFailure)[] = [];
  #waiting: PromiseWithResolvers<Uint8Array | null> | undefined;
  #ended = false;
  cancels = 0;
  reads = 0;

  constructor() {
    this.response.catch(() => {});
  }

  /** Cancelled before its clean end was read. */
  get wasCancelled(): boolean {
    return this.cancels > 0 && !this.#ended;
  }

  /** The clean end of the body was read: a real connection would be back in its pool. */
  get wasDrained(): boolean {
    return this.#ended;
  }

  head(
    status = 200,
    headers: Record<string, string> = { "content-type": "text/event-stream" },
  ): this {
    this.#head.resolve({ status, header: (name) => headers[name], body: this });
    return this;
  }

  send(...texts: (string | Uint8Array)[]): this {
    for (const text of texts) this.#add(typeof text === "string" ? encoder.encode(text) : text);
    return this;
  }

  end(): this {
    this.#add(null);
    return this;
  }

  fail(code: UpstreamFailureCode): this {
    const failure = new UpstreamFailure(code, "as the test wants it");
    this.#head.reject(failure);
    this.#add(failure);
    return this;
  }

  #add(piece: Uint8Array | null | UpstreamFailure): void {
    this.#pieces.push(piece);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) this.#next().then(waiting.resolve, waiting.reject);
  }

  readTo(receiver: PieceReceiver): void {
    this.read().then(
      (piece) => receiver.onPiece(piece),
      (failure) => receiver.onFailure(failure),
    );
  }

  async #next(): Promise<Uint8Array | null> {
    const piece = this.#pieces[0];
    if (piece instanceof UpstreamFailure) throw piece;
    if (piece === null) {
      this.#ended = true;
      return null;
    }
    if (piece !== undefined) {
      this.#pieces.shift();
      return piece;
    }
    this.#waiting = Promise.withResolvers();
    return await this.#waiting.promise;
  }

  async read(): Promise<Uint8Array | null> {
    this.reads++;
    if (this.#waiting !== undefined) throw new Error("one read at a time");
    return await this.#next();
  }

  cancel(): void {
    this.cancels++;
    if (this.#ended) return;
    const failure = new UpstreamFailure("cancelled", "The exchange was cancelled");
    this.#head.reject(failure);
    this.#pieces.length = 0;
    this.#add(failure);
  }
}
