/** A server that says exactly the bytes a test wants, right or wrong, over real sockets. */
import { concat } from "../http1/bytes.ts";

export type Script = (conversation: Conversation) => Promise<void>;

/** One accepted connection. */
export class Conversation {
  /** 0 for the first connection that the peer accepted. */
  readonly index: number;
  readonly #conn: Deno.Conn;
  #unread: Uint8Array<ArrayBuffer> = new Uint8Array();

  constructor(index: number, conn: Deno.Conn) {
    this.index = index;
    this.#conn = conn;
  }

  /** The next whole request, or `null` when the client has gone. */
  async request(): Promise<{ head: string; body: Uint8Array } | null> {
    let headEnd = -1;
    while (headEnd === -1) {
      headEnd = new TextDecoder("latin1").decode(this.#unread).indexOf("\r\n\r\n");
      if (headEnd === -1 && !await this.#more()) return null;
    }
    const head = new TextDecoder("latin1").decode(this.#unread.subarray(0, headEnd));
    const end = headEnd + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    // Collected apart and joined once: a body of many megabytes comes in many pieces.
    const pieces = [this.#unread];
    for (let got = this.#unread.length; got < end;) {
      const piece = await this.#read();
      if (piece === null) return null;
      pieces.push(piece);
      got += piece.length;
    }
    const whole = concat(pieces);
    this.#unread = whole.slice(end);
    return { head, body: whole.subarray(headEnd + 4, end) };
  }

  async #read(): Promise<Uint8Array<ArrayBuffer> | null> {
    const piece = new Uint8Array(64 * 1024);
    const count = await this.#conn.read(piece).catch(() => null);
    return count === null ? null : piece.subarray(0, count);
  }

  async #more(): Promise<boolean> {
    const piece = await this.#read();
    if (piece === null) return false;
    this.#unread = concat([this.#unread, piece]);
    return true;
  }

  /** Writes all of it; false when the client has gone. */
  async say(bytes: string | Uint8Array): Promise<boolean> {
    let rest = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    try {
      while (rest.length > 0) rest = rest.subarray(await this.#conn.write(rest));
      return true;
    } catch {
      return false;
    }
  }

  /** Resolves when the client has closed its side. */
  async clientGone(): Promise<void> {
    while (await this.#read() !== null);
  }

  close(): void {
    try {
      this.#conn.close();
    } catch {
      // Closed before.
    }
  }
}

export class RawPeer implements AsyncDisposable {
  readonly #listener: Deno.Listener<Deno.Conn>;
  readonly #script: Script;
  readonly #conversations: Conversation[] = [];
  readonly #running: Promise<void>[] = [];
  readonly #accepting: Promise<void>;
  readonly port: number;

  /** Each connection is given to `script`, and closed when it returns. */
  constructor(script: Script, listener?: Deno.Listener<Deno.Conn>) {
    this.#listener = listener ?? Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const address = this.#listener.addr;
    this.port = address.transport === "tcp" ? address.port : 0;
    this.#script = script;
    this.#accepting = this.#accept();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1/messages`;
  }

  get acceptedCount(): number {
    return this.#conversations.length;
  }

  async #accept(): Promise<void> {
    try {
      for await (const conn of this.#listener) {
        const conversation = new Conversation(this.#conversations.length, conn);
        this.#conversations.push(conversation);
        this.#running.push(this.#script(conversation).finally(() => conversation.close()));
      }
    } catch {
      // A TLS listener ends its iterator by throwing.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const conversation of this.#conversations) conversation.close();
    await Promise.allSettled(this.#running);
  }
}
