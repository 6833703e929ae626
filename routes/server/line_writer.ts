/**
 * Lines to standard output, several at a time: a write of its own for each call would cost as much as parsing it. Nobody
 * waits for them: a reader that is stuck, gone, or out of room must not stop calls, or end the process with them.
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

export interface LineWriter {
  write(line: string): void;
  /** Hands over what waits, and resolves when it is taken, or after {@linkcode logLastFlushMs}. */
  flush(): Promise<void>;
}

export interface LineWriterOptions {
  /** Takes some of the bytes and returns how many. May take its time, fail, or never end. */
  readonly output: (bytes: Uint8Array) => Promise<number>;
  /** What stands where so many lines are missing. */
  readonly lossLine: (lines: number) => string;
}

/**
 * Collects lines for a moment and hands them to `output` together. Beyond {@linkcode logBacklogChars} they are
 * dropped, and the next that is taken is followed by one that says how many. A process that is killed loses the lines of
 * that moment; receipts, which are what counts, are written elsewhere.
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
        // There is nobody to tell. Whoever reads again, or makes room, learns of it.
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
      // What came after the last look, or behind a write that failed.
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
