/** Lines to standard output, several at a time: a write of its own for each call would cost as much as parsing it. */
import { limits } from "../../core/limits.ts";

export interface LineWriter {
  write(line: string): void;
  /** Writes what waits. Call it before the process ends. */
  flush(): void;
}

/**
 * Collects lines for a moment and hands them to `output` together. A process that is killed loses the lines of that
 * moment; receipts, which are what counts, are written elsewhere.
 *
 * @param output takes all bytes it is given, or returns how many it took
 */
export function createLineWriter(output: (bytes: Uint8Array) => number): LineWriter {
  const encoder = new TextEncoder();
  let waiting = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    let rest = encoder.encode(waiting);
    waiting = "";
    while (rest.length > 0) rest = rest.subarray(output(rest));
  }

  return {
    write(line) {
      waiting += `${line}\n`;
      if (waiting.length >= limits.logBufferChars) flush();
      else timer ??= setTimeout(flush, limits.logFlushMs);
    },
    flush,
  };
}
