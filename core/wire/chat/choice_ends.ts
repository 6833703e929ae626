/** Which choices of a Chat stream have ended: the answer is whole when all have that began. */
import { maxChoices } from "../limits.ts";

/**
 * Keeps the ends of the choices of one stream.
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
  /** Why the choice that ended last did. */
  last: string | undefined;

  /** A choice that a chunk speaks of, and why it ended there if it did. What comes after its end changes nothing. */
  note(index: number, reason: string | undefined): void {
    const bit = index < maxChoices ? 1 << index : 0;
    this.#begun |= bit;
    if (reason === undefined) return;
    this.#ended |= bit;
    this.last = reason;
  }

  /** The choices that go on; the first if none began. */
  get open(): number[] {
    const begun = this.#begun === 0 ? 1 : this.#begun;
    const open: number[] = [];
    for (let index = 0; index < maxChoices; index++) {
      if (((begun & ~this.#ended) >> index & 1) === 1) open.push(index);
    }
    return open;
  }

  /** Like {@linkcode last}, but `undefined` while a choice goes on. */
  get reason(): string | undefined {
    return this.#begun === this.#ended ? this.last : undefined;
  }
}
