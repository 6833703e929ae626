/** Log lines on their way to the owner, many in one message: a message for each would cost as much as its call. */

/** Milliseconds for which lines are gathered. The owner gathers them once more before it writes. */
const gatherMs = 25;

/** Characters of gathered lines that are passed on without waiting longer. */
const gatheredChars = 64 * 1024;

/** Gathers lines. */
export class PassedLines {
  readonly #pass: (lines: string) => void;
  #lines = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param pass gets whole lines, without the last line break */
  constructor(pass: (lines: string) => void) {
    this.#pass = pass;
  }

  readonly write = (line: string): void => {
    this.#lines += this.#lines === "" ? line : `\n${line}`;
    if (this.#lines.length >= gatheredChars) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), gatherMs);
  };

  /** Passes on what has been gathered. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = "";
    if (lines !== "") this.#pass(lines);
  }
}
