/** Runs some pieces of work at a time and lets others wait, within a bound. */
import { GatewayError } from "../errors/errors.ts";

/**
 * Runs work of one kind.
 *
 * @example
 * ```ts
 * import { FewAtOnce } from "./few_at_once.ts";
 * const few = new FewAtOnce({ most: 1, maxWaiting: 1, refusal: "Too many at once" });
 * const end = Promise.withResolvers<number>();
 * const first = few.run(() => end.promise);
 * const second = few.run(() => Promise.resolve(2));
 * const third = await few.run(() => Promise.resolve(3)).catch(({ message }) => message);
 * end.resolve(1);
 * if (`${await first} ${await second} ${third}` !== "1 2 Too many at once") throw new Error();
 * ```
 */
export class FewAtOnce {
  readonly #bounds: {
    readonly most: number;
    readonly maxWaiting: number;
    readonly refusal: string;
  };
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(bounds: {
    /** Pieces at a time. */
    readonly most: number;
    /** Pieces that wait; further ones are refused. */
    readonly maxWaiting: number;
    /** The message of a refusal. */
    readonly refusal: string;
  }) {
    this.#bounds = bounds;
  }

  /**
   * Runs one piece when it is its turn.
   *
   * @throws {GatewayError} `overloaded` when too many are waiting already
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const { most, maxWaiting, refusal } = this.#bounds;
    if (this.#running >= most) {
      if (this.#waiting.length >= maxWaiting) throw new GatewayError("overloaded", refusal);
      // The place passes to the next that waits.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next !== undefined) next();
      else this.#running--;
    }
  }
}
