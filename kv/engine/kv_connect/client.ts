/** Sends the calls of KV Connect, and repeats those that were not answered. */
import { readWhole } from "../../../core/net/transport/read_whole.ts";
import { StoreTimeoutError } from "../store/store_deadlines.ts";
import type { OutageKind } from "../store/store_unavailable.ts";
import { createHttp1Transport, type Http1Transport } from "../../../core/net/http1/transport.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { type UpstreamExchange, UpstreamFailure } from "../../../core/net/transport/transport.ts";
import { type Endpoint, exchangeMetadata, KvConnectError } from "./messages.ts";
import type { Connect } from "../../../core/net/transport/connection.ts";

// Opens connections to the store without the delays of Nagle's algorithm.

/**
 * Connects by TCP or TLS with TCP_NODELAY. With Nagle's algorithm, which `fetch` of the runtime leaves on, a commit of
 * more than one segment waits 40 ms for the delayed acknowledgement of the other side.
 */
const connectAtOnce: Connect = async ({ hostname, port, tls }, signal) => {
  const tcp = await Deno.connect({ hostname, port, signal });
  tcp.setNoDelay(true);
  if (!tls) return tcp;
  const secured = await Deno.startTls(tcp, { hostname, alpnProtocols: ["http/1.1"] });
  try {
    await secured.handshake();
    return secured;
  } catch (error) {
    secured.close();
    throw error;
  }
};

/** Calls under way at once, each on a connection of its own; further ones wait for their turn. */
const callsAtOnce = 64;

/** Bytes of an answer: a page of 1,000 rows of the largest size. */
const maxAnswerBytes = 80 * 1024 * 1024;

/** Milliseconds of silence after which a call counts as unanswered: as long as any caller waits for it. */
const silenceMs = 5_000;

/** Milliseconds for which an unanswered call is repeated: after them nobody waits for it any more. */
const repeatMs = 5_000;

/** Milliseconds of the first pause before a call is repeated; each further one is twice as long, up to the longest. */
const firstPauseMs = 20;
const longestPauseMs = 500;

/** Milliseconds before the end of a token at which another is asked for. */
const renewMs = 60_000;

/** The address of a store, and what its client needs. */
export interface KvConnectClientOptions {
  readonly url: string;
  readonly accessToken: string;
  readonly clock: Clock;
}

/** Thrown for an answer of the class 5xx or none at all, which says nothing about the fate of the call. */
class UnansweredError extends Error {
  override name = "UnansweredError";
}

/** The connection to one KV Connect server. */
export class KvConnectClient {
  readonly #options: KvConnectClientOptions;
  readonly #deadlines: Deadlines;
  readonly #transport: Http1Transport;
  readonly #running = new Set<UpstreamExchange>();
  readonly #waiting: (() => void)[] = [];
  #endpoint: Endpoint;
  #renewing: Promise<void> | undefined;
  #turns = callsAtOnce;
  #isClosed = false;

  private constructor(options: KvConnectClientOptions, endpoint: Endpoint) {
    this.#options = options;
    this.#endpoint = endpoint;
    this.#deadlines = new Deadlines({ clock: options.clock });
    this.#transport = createHttp1Transport({
      connect: connectAtOnce,
      deadlines: this.#deadlines,
      headMs: silenceMs,
      idleMs: silenceMs,
      connectMs: silenceMs,
    });
  }

  /** @throws {KvConnectError} if the server refuses the token or does not speak the protocol */
  static async open(options: KvConnectClientOptions): Promise<KvConnectClient> {
    return new KvConnectClient(options, await exchangeMetadata(options.url, options.accessToken));
  }

  /** Asks which endpoint to use; callers at the same time share the exchange. */
  renew(): Promise<void> {
    const { url, accessToken } = this.#options;
    this.#renewing ??= exchangeMetadata(url, accessToken).then((endpoint) => {
      this.#endpoint = endpoint;
    }, (error) => {
      if (error instanceof KvConnectError) throw error;
      throw new UnansweredError("the exchange of metadata failed", { cause: error });
    }).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /**
   * Sends a call. One that was not answered is sent again for {@linkcode repeatMs}, so it may take effect more than
   * once or later: the checks of a commit decide then, as when an answer is lost.
   *
   * @throws {StoreTimeoutError} if it was not answered at all
   */
  async call(name: "snapshot_read" | "atomic_write", message: Uint8Array): Promise<Uint8Array> {
    const { clock } = this.#options;
    const beganMs = clock.monotonicMs();
    for (let pauseMs = firstPauseMs;; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        if (this.#endpoint.expiresAtMs - clock.nowMs() < renewMs) await this.renew();
        return await this.#inTurn(() => this.#send(name, message));
      } catch (error) {
        const isOver = clock.monotonicMs() - beganMs >= repeatMs;
        if (this.#isClosed || !isUnanswered(error)) throw error;
        // Usually the deadline of the store comes first; on a busy machine this does.
        if (isOver) throw new StoreTimeoutError();
      }
      await sleep(Math.random() * pauseMs);
    }
  }

  async #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#turns === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#turns--;
    try {
      return await run();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#turns++;
      else next();
    }
  }

  async #send(name: string, message: Uint8Array): Promise<Uint8Array> {
    if (this.#isClosed) throw new KvConnectError("The store is closed");
    const { url, headers } = this.#endpoint;
    const exchange = this.#transport.open({
      method: "POST",
      url: `${url}/${name}`,
      headers,
      body: message,
      onSentAgain: () => {}, // as when an answer is lost
    });
    this.#running.add(exchange);
    try {
      const response = await exchange.response;
      const bytes = await readWhole(response, maxAnswerBytes);
      if (response.status === 200) return bytes;
      if (response.status >= 500) throw new UnansweredError(`status ${response.status}`);
      throw new KvConnectError(`The store answered with status ${response.status}`);
    } finally {
      this.#running.delete(exchange);
    }
  }

  /** Ends all calls under way. */
  close(): void {
    this.#isClosed = true;
    for (const exchange of this.#running) exchange.cancel();
    this.#transport.close();
    this.#deadlines.close();
  }
}

/** Returns the kind of an outage; `undefined` for an error of the caller. */
export function kvConnectOutage(error: unknown): OutageKind | undefined {
  if (error instanceof KvConnectError) return "refused";
  if (error instanceof UnansweredError || error instanceof UpstreamFailure) return "unreachable";
  return undefined;
}

function isUnanswered(error: unknown): boolean {
  if (error instanceof UnansweredError) return true;
  return error instanceof UpstreamFailure && error.code !== "refused" && error.code !== "too_large";
}
