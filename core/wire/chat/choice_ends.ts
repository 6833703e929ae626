/** Tracks which choices of a Chat stream have ended: the answer is complete when all that began have. */
import { maxChoices } from "../limits.ts";

/**
 * Tracks the ends of the choices of one stream.
 *
 * @example
 * ```ts
 * import { ChoiceEnds } from "./choice_ends.ts";
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
    const bit = index < maxChoices ? 1 << index : 0;
    this.#begun |= bit;
    if (reason === undefined) return;
    if (bit !== 0 && (this.#ended & bit) === 0) this.reasons.push(reason);
    this.#ended |= bit;
    this.last = reason;
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
