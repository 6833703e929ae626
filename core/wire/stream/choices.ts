/**
 * The choices of one answer, where the client asked for several (`n`, `candidateCount`): their indexes, and which of them
 * have ended.
 */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { maxChoices } from "../contract/limits.ts";
import { unreadable } from "./answer_shape.ts";

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
