/**
 * Tells other instances what calls here have used of rate limits, and learns what calls there have.
 *
 * It runs only while calls count against limits, in the background: no call waits for it. Each instance writes pages of
 * its own, so that writers never compete, and reads those of all.
 *
 * - Folder `kv/services/limits/`: limits of customers in the store: rate limits over several instances, and the
 *   spending limits of keys.
 * - In: the book of this process, pages of other instances, reservations and charges under a key.
 * - Out: pages of this instance, the sums of others in the book, money within the limit of a key or a refusal.
 * - Never: makes a call wait for the rates of other instances, or writes pages while no call counts against a rate
 *   limit.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import type { ProcessRateBook, SharedUse } from "../../../core/limits/rate_book.ts";
import { rateUseKey, rateUseOf, rateUsePrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Milliseconds between two exchanges: a burst that two instances take at the same time is known to both half a second
 * later, for two commits and two reads a second.
 */
const exchangeMs = 500;

/** Milliseconds after which the calls that run at a silent instance do not count any more: ten exchanges. */
const silentMs = 5_000;

/** Milliseconds that a page lives: longer than what is in it counts. */
export const rateUseMs = 120_000;

/** Most bytes of a page, by the estimate of {@linkcode bytesOf}: some 400 subjects, below the 64 KiB of a value. */
const maxPageBytes = 60_000;

/** Pages of an instance. Beyond them, those that were not used for the longest time count at this instance alone. */
const maxPages = 10;

type PublishedUse = readonly [id: string, use: SharedUse];

/** A page as it is stored. */
interface Page {
  /** Another number in each version, by which readers see that the instance lives. */
  readonly beat: number;
  readonly uses: readonly PublishedUse[];
}

/** Bytes of a stored number, and of the tags of its name and its own. */
const bytesPerMember = 11;

/** Bytes of the tags of a stored subject. */
const bytesPerSubject = 16;

/** Estimates the bytes of a subject on a page, rather too high. */
function bytesOf([id, use]: PublishedUse): number {
  let bytes = id.length + bytesPerSubject;
  for (const name in use) bytes += name.length + bytesPerMember;
  return bytes;
}

/** Distributes subjects over pages, the last used first; those beyond the last page are left out. */
function pagesOf(published: readonly PublishedUse[]): PublishedUse[][] {
  const pages: PublishedUse[][] = [];
  let leftBytes = 0;
  for (const one of published.toReversed()) {
    const bytes = bytesOf(one);
    if (bytes > leftBytes) {
      if (pages.length === maxPages) break;
      pages.push([]);
      leftBytes = maxPageBytes;
    }
    pages.at(-1)?.push(one);
    leftBytes -= bytes;
  }
  return pages;
}

/** State of another instance. */
interface Peer {
  beat: number;
  heardAtMs: number;
  uses: ReadonlyMap<string, SharedUse>;
}

export interface RateExchangeOptions {
  readonly kv: KeyValueStore;
  readonly book: ProcessRateBook;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timer: Timer;
  /** Instances that may be there when no call has counted for a while. */
  readonly assumedInstances: number;
  /** Called with the error of an exchange, which is tried again. */
  readonly onFailure: (error: unknown) => void;
}

/** The exchange of one process. */
export class RateExchange {
  readonly #options: RateExchangeOptions;
  readonly #instance = crypto.randomUUID();
  readonly #peers = new Map<string, Peer>();
  #beat = 0;
  #writtenPages = 0;
  #wasUsed = false;
  #running: Promise<void> | undefined;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: RateExchangeOptions) {
    this.#options = options;
  }

  /** A call asks for admission under a limit: the exchange begins unless it runs. */
  used(): void {
    this.#wasUsed = true;
    if (this.#isClosed || this.#running !== undefined || this.#stopTimer !== undefined) return;
    this.#start();
  }

  /** Exchanges once. Never throws. */
  async exchange(): Promise<void> {
    const { book, clock, onFailure } = this.#options;
    try {
      await this.#write();
      await this.#read();
    } catch (error) {
      // Without the store each instance goes on with what it knows: a limit is no reason to stop serving.
      onFailure(error);
    }
    const nowMs = clock.monotonicMs();
    let instances = 1;
    for (const { heardAtMs } of this.#peers.values()) {
      if (nowMs - heardAtMs <= silentMs) instances++;
    }
    book.exchanged(instances);
  }

  /** Ends the exchange, and lets other instances forget this one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer?.();
    await this.#running;
    await this.#remove(0).catch(this.#options.onFailure);
  }

  #start(): void {
    this.#stopTimer = undefined;
    this.#wasUsed = false;
    this.#running = this.exchange().then(() => {
      this.#running = undefined;
      if (this.#isClosed) return;
      this.#stopTimer = this.#options.timer.start(() => this.#continue(), exchangeMs);
    });
  }

  /** Exchanges again, or rests if no call counts any more. */
  #continue(): void {
    if (this.#wasUsed || this.#writtenPages > 0) return this.#start();
    this.#stopTimer = undefined;
    // What others do is not known from here on.
    for (const peer of this.#peers.values()) this.#silence(peer);
    this.#options.book.exchanged(this.#options.assumedInstances);
  }

  async #write(): Promise<void> {
    const { kv, book } = this.#options;
    const pages = pagesOf(book.publish());
    this.#beat++;
    for (const [page, uses] of pages.entries()) {
      const value: Page = { beat: this.#beat, uses };
      await kv.set(rateUseKey(this.#instance, page), value, { expireIn: rateUseMs });
    }
    await this.#remove(pages.length);
    this.#writtenPages = pages.length;
  }

  /** Removes pages that are not needed any more. */
  async #remove(from: number): Promise<void> {
    for (let page = from; page < this.#writtenPages; page++) {
      await this.#options.kv.delete(rateUseKey(this.#instance, page));
    }
  }

  async #read(): Promise<void> {
    const { kv, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const beats = new Map<string, number>();
    const uses = new Map<string, Map<string, SharedUse>>();
    for await (const { key, value } of kv.list<Page>({ prefix: rateUsePrefix() })) {
      const { instance } = rateUseOf(key);
      if (instance === this.#instance) continue;
      beats.set(instance, Math.max(beats.get(instance) ?? 0, value.beat));
      let known = uses.get(instance);
      if (known === undefined) uses.set(instance, known = new Map());
      for (const [id, use] of value.uses) known.set(id, use);
    }
    for (const [instance, peer] of this.#peers) {
      if (!uses.has(instance)) this.#forget(instance, peer);
    }
    for (const [instance, published] of uses) {
      this.#receive(instance, beats.get(instance) ?? 0, published, nowMs);
    }
  }

  #receive(
    instance: string,
    beat: number,
    uses: ReadonlyMap<string, SharedUse>,
    nowMs: number,
  ): void {
    const peer = this.#peers.get(instance);
    if (peer?.beat === beat) {
      if (nowMs - peer.heardAtMs > silentMs) this.#silence(peer);
      return;
    }
    const { book } = this.#options;
    const sinceMs = peer === undefined ? 0 : nowMs - peer.heardAtMs;
    for (const [id, use] of uses) book.merge(id, use, peer?.uses.get(id), sinceMs);
    for (const [id, former] of peer?.uses ?? []) {
      if (!uses.has(id)) book.merge(id, undefined, former);
    }
    this.#peers.set(instance, { beat, heardAtMs: nowMs, uses });
  }

  /** The calls that ran at an instance that publishes no more have ended with it. */
  #silence(peer: Peer): void {
    const uses = new Map<string, SharedUse>();
    for (const [id, former] of peer.uses) {
      if (former.running === 0) uses.set(id, former);
      else {
        const ended = { ...former, running: 0 };
        this.#options.book.merge(id, ended, former);
        uses.set(id, ended);
      }
    }
    peer.uses = uses;
  }

  #forget(instance: string, peer: Peer): void {
    for (const [id, former] of peer.uses) this.#options.book.merge(id, undefined, former);
    this.#peers.delete(instance);
  }
}
