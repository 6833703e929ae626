/**
 * Tracks a JSON object that arrives in pieces and detects its end, after which only white space can
 * belong to it.
 *
 * @example
 * ```ts
 * import { JsonProgress } from "./json_progress.ts";
 * const progress = new JsonProgress();
 * progress.take('{"a":"}');
 * if (progress.isWhole) throw new Error("the brace is inside a string");
 * progress.take('"}');
 * if (!progress.isWhole) throw new Error("the object is closed");
 * ```
 */
export class JsonProgress {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #closed = false;

  get isWhole(): boolean {
    return this.#closed;
  }

  take(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (unit === 0x5c) this.#escaped = true;
        else if (unit === 0x22) this.#inString = false;
      } else if (unit === 0x22) {
        this.#inString = true;
      } else if (unit === 0x7b || unit === 0x5b) {
        this.#depth++;
      } else if (unit === 0x7d || unit === 0x5d) {
        this.#depth--;
        this.#closed = this.#depth === 0;
      }
    }
  }
}
