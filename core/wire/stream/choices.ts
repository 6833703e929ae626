/**
 * The order in a stream: of the choices of one answer, and of its blocks.
 *
 * A client may ask for several choices (`n`, `candidateCount`); {@linkcode Choices} knows their indexes and which of
 * them have ended.
 *
 * {@linkcode Sequencer} brings blocks into a strict sequence, for styles that allow one open block at a time. The lowest
 * block that has not ended is live: its events pass at once. Events of later blocks wait until it ends, then follow as
 * blocks of their own. Parallel tool calls whose argument pieces interleave thus come out one after another, and the
 * first of them without delay.
 */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { bufferedBlockBytes, maxChoices } from "../contract/limits.ts";
import { unreadable } from "./answer_shape.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { citationChars } from "../content/citations.ts";
import type { StreamEvent } from "../conversation/mod.ts";

/**
 * Returns the choices of an answer or of a chunk with their indexes. Choices beyond the number that was asked for are left
 * out. A missing index is 0, as in JSON that omits zeros, or the place where no choice has an index.
 *
 * @throws {GatewayError} `upstream_unreachable` for an index that no choice has, where several were asked for
 *
 * @example
 * ```ts
 * import { indexedChoices } from "./choices.ts";
 * const found = indexedChoices([{ index: 1 }, {}, { index: 7 }], 2).map(([index]) => index);
 * if (found.join() !== "1,0") throw new Error(found.join());
 * ```
 */
export function indexedChoices(
  choices: readonly JsonObject[],
  count: number,
): (readonly [index: number, choice: JsonObject])[] {
  const found: (readonly [index: number, choice: JsonObject])[] = [];
  // It runs for each chunk of a stream: nearly all have one choice, which has its index.
  for (let place = 0; place < choices.length; place++) {
    const given = choiceIndex(choices, place);
    // With one choice requested, an invalid index can only mean that choice.
    const index = given === undefined && count === 1 ? 0 : given;
    if (index === undefined) throw unreadable("index");
    if (index < count) found.push([index, choices[place]!]);
  }
  return found;
}

/** Returns the index of the choice at a place of a list; `undefined` if it is none that a choice has. */
export function choiceIndex(choices: readonly JsonObject[], place: number): number | undefined {
  const given = choices[place]?.["index"] ?? (place > 0 && choices.some(hasIndex) ? 0 : place);
  return isIndex(given) ? given : undefined;
}

function hasIndex({ index }: JsonObject): boolean {
  return isIndex(index);
}

/**
 * Returns the choices of a whole answer in the order of their indexes, each once. A single one is the first in the list,
 * whatever its index.
 */
export function wholeChoices(
  choices: readonly JsonObject[],
  count: number,
): (readonly [index: number, choice: JsonObject])[] {
  const found = new Map<number, JsonObject>();
  for (const [index, choice] of count > 1 ? indexedChoices(choices, count) : []) {
    if (!found.has(index)) found.set(index, choice);
  }
  const [first] = choices;
  if (found.size === 0 && first !== undefined) found.set(0, first);
  return [...found].sort(([a], [b]) => a - b);
}

function isIndex(index: Json | undefined): index is number {
  return typeof index === "number" && Number.isInteger(index) && index >= 0 && index < maxChoices;
}

/**
 * Tracks the ends of the choices of one stream.
 *
 * @example
 * ```ts
 * import { ChoiceEnds } from "./choices.ts";
 * const ends = new ChoiceEnds();
 * ends.note(0, "stop");
 * if (ends.reason !== "stop") throw new Error("all that began has ended");
 * ends.note(1, undefined);
 * if (ends.reason !== undefined) throw new Error("the second goes on");
 * ```
 */
export class ChoiceEnds {
  /** One bit per choice. */
  #begun = 0;
  #ended = 0;
  /** The finish reasons of the choices that have ended: at most one for each. */
  readonly reasons: string[] = [];
  /** The finish reason of the choice that ended last. */
  last: string | undefined;

  /** Enters a choice of a chunk, with its finish reason if it ended. Further chunks of an ended choice are ignored. */
  note(index: number, reason: string | undefined): void {
    const bit = index >= 0 && index < maxChoices ? 1 << index : 0;
    this.#begun |= bit;
    if (reason === undefined) return;
    if (bit !== 0 && (this.#ended & bit) === 0) this.reasons.push(reason);
    this.#ended |= bit;
    this.last = reason;
  }

  /** Whether more than one choice began. */
  get areSeveral(): boolean {
    return (this.#begun & (this.#begun - 1)) !== 0;
  }

  /** The choices that have not ended; the first if none began. */
  get open(): number[] {
    const begun = this.#begun === 0 ? 1 : this.#begun;
    const open: number[] = [];
    for (let index = 0; index < maxChoices; index++) {
      if (((begun & ~this.#ended) >> index & 1) === 1) open.push(index);
    }
    return open;
  }

  /** Like {@linkcode last}, but `undefined` while any choice has not ended. */
  get reason(): string | undefined {
    return this.#begun === this.#ended ? this.last : undefined;
  }
}

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
