/**
 * Brings the blocks of a stream into a strict sequence, for styles that allow one open block at a time.
 *
 * The lowest block that has not ended is live: its events pass at once. Events of later blocks wait until it ends,
 * then follow as blocks of their own. Parallel tool calls whose argument pieces interleave thus come out one after
 * another, and the first of them without delay.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { bufferedBlockBytes } from "../contract/limits.ts";
import { citationChars } from "../content/citations.ts";
import type { StreamEvent } from "../conversation/mod.ts";

/** An event that belongs to a block. */
export type BlockEvent = Extract<StreamEvent, { readonly block: number }>;

interface Waiting {
  readonly block: number;
  readonly events: BlockEvent[];
  ended: boolean;
}

/** Bytes that a buffered event takes beside its text. */
const eventOverheadBytes = 64;

function textLength(event: BlockEvent): number {
  if (event.type === "citation") return citationChars(event.citation);
  const text = "json" in event ? event.json.length : 0;
  return text + (event.type === "text" ? event.logprobs?.length ?? 0 : 0);
}

/** Brings interleaved blocks of a stream into sequence. */
export class BlockSequencer {
  readonly #write: (event: BlockEvent) => void;
  /** The live block, or -1. */
  #live = -1;
  /** Later blocks that wait, in rising order; almost always empty. */
  #waiting: Waiting[] = [];
  #waitingBytes = 0;

  constructor(write: (event: BlockEvent) => void) {
    this.#write = write;
  }

  /** Whether events of a block pass at once. */
  isLive(block: number): boolean {
    return block === this.#live;
  }

  /**
   * Takes the next event of any block.
   *
   * @throws {GatewayError} `upstream_unreachable` if more than {@linkcode bufferedBlockBytes} would wait
   */
  take(event: BlockEvent): void {
    if (this.#live === -1 && event.type !== "block_end") this.#live = event.block;
    if (event.block !== this.#live) {
      this.#wait(event);
      return;
    }
    this.#write(event);
    if (event.type === "block_end") this.#next();
  }

  /** Ends the stream: emits everything that waits, and ends every block. */
  finish(): void {
    while (this.#live !== -1) {
      this.#write({ type: "block_end", block: this.#live });
      this.#next();
    }
  }

  #wait(event: BlockEvent): void {
    let entry = this.#waiting.find((waiting) => waiting.block === event.block);
    if (entry === undefined) {
      // The end of a block that already ended, or of one that never began.
      if (event.type === "block_end") return;
      entry = { block: event.block, events: [], ended: false };
      this.#waiting.push(entry);
      this.#waiting.sort((a, b) => a.block - b.block);
    }
    if (event.type === "block_end") entry.ended = true;
    else entry.events.push(event);
    this.#waitingBytes += eventOverheadBytes + textLength(event);
    if (this.#waitingBytes > bufferedBlockBytes) {
      throw new GatewayError(
        "upstream_unreachable",
        "The model's parallel tool calls are too long to be put in order",
      );
    }
  }

  /** Ends the live block: emits waiting blocks that are complete, and makes the next one live. */
  #next(): void {
    this.#live = -1;
    for (let entry = this.#waiting.shift(); entry !== undefined; entry = this.#waiting.shift()) {
      if (this.#waiting.length === 0) this.#waitingBytes = 0;
      this.#live = entry.block;
      for (const event of entry.events) this.#write(event);
      if (!entry.ended) return;
      this.#write({ type: "block_end", block: entry.block });
      this.#live = -1;
    }
  }
}
