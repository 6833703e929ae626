/**
 * Where the one text of a frame is, if the frame changes nothing in a reading but its lengths. A meter fills it while it
 * reads the frame.
 */
export class LoneText {
  /** The text without its quotes, as a range of the payload. */
  start = 0;
  end = 0;
  /** Whether it belongs to the answer; otherwise it is reasoning. */
  isAnswer = false;
  #texts = 0;
  #hasMore = false;

  /** Begins with a frame. */
  clear(): void {
    this.#texts = 0;
    this.#hasMore = false;
  }

  /** Enters a string whose literal is `[start, end)`; an empty one counts for nothing. */
  saw(start: number, end: number, isAnswer: boolean): void {
    this.start = start + 1;
    this.end = end - 1;
    if (this.start >= this.end) return;
    this.isAnswer = isAnswer;
    this.#texts++;
  }

  /** The frame has something else that counts. */
  sawMore(): void {
    this.#hasMore = true;
  }

  /** Whether the frame had one text, and nothing else that counts. */
  get isAlone(): boolean {
    return this.#texts === 1 && !this.#hasMore;
  }
}
