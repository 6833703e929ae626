/**
 * Writes lines to standard output in batches: one write per call would cost as much as parsing the
 * call. Callers do not wait: a reader that is stuck, gone or out of space must neither stop calls
 * nor end the process.
 */
import { atMost } from "../../core/lib/time/sleep.ts";

/** Milliseconds for which log lines are gathered into one write. */
const logFlushMs = 50;

/** Characters of gathered log lines that are written without waiting longer. */
export const logBufferChars = 64 * 1024;

/**
 * Characters of lines that wait for a slow reader of the log: some two thousand calls. Further lines are
 * dropped.
 */
export const logBacklogChars = 1024 * 1024;

/** Milliseconds that the end of the process waits for the last lines to be taken. */
const logLastFlushMs = 1_000;

/** Writes lines without blocking its caller. */
export interface LineWriter {
  write(line: string): void;
  /** Writes the waiting lines and resolves when they are taken, or after {@linkcode logLastFlushMs}. */
  flush(): Promise<void>;
}

export interface LineWriterOptions {
  /** Takes some of the bytes and returns their number. May be slow, fail, or never end. */
  readonly output: (bytes: Uint8Array) => Promise<number>;
  /** The line that replaces lines that were dropped. */
  readonly lossLine: (lines: number) => string;
}

/**
 * Collects lines for a moment and writes them to `output` together. Lines beyond {@linkcode logBacklogChars} are
 * dropped, and a line with their number follows the next one that is written. A process that is killed loses the lines
 * of that moment; receipts are stored elsewhere.
 */
export function createLineWriter({ output, lossLine }: LineWriterOptions): LineWriter {
  const encoder = new TextEncoder();
  let waiting = "";
  let waitingLines = 0;
  let lostLines = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (waiting !== "") {
      const [lines, lost] = [waitingLines, lostLines];
      let rest = encoder.encode(lost === 0 ? waiting : `${waiting}${lossLine(lost)}\n`);
      waiting = "";
      waitingLines = 0;
      lostLines = 0;
      try {
        while (rest.length > 0) rest = rest.subarray(await output(rest));
      } catch {
        // The error cannot be reported anywhere; the count of dropped lines is written once the
        // output works again.
        lostLines += lines + lost;
        return;
      }
    }
  }

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll().finally(() => {
      writing = undefined;
      // Lines that arrived after the last check, or behind a failed write.
      if (waiting !== "") timer ??= setTimeout(begin, logFlushMs);
    });
  }

  return {
    write(line) {
      if (waiting.length + line.length >= logBacklogChars) {
        lostLines++;
        return;
      }
      waiting += `${line}\n`;
      waitingLines++;
      if (waiting.length >= logBufferChars) begin();
      else timer ??= setTimeout(begin, logFlushMs);
    },
    async flush() {
      begin();
      await atMost(logLastFlushMs, writing);
    },
  };
}
