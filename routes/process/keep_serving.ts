/**
 * Restarts the HTTP server when accepting a connection fails. The runtime's own server stops
 * listening for good then, and its error ends the process with all running calls: a client that
 * opens connections until no file descriptor is left could stop the service.
 */
import { atMost, sleep } from "../../core/lib/time/sleep.ts";
import type { Clock } from "../../core/lib/time/clock.ts";

// Writes lines to standard output in batches: one write per call would cost as much as parsing the
// call. Callers do not wait: a reader that is stuck, gone or out of space must neither stop calls
// nor end the process.

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

// Turns process signals into two signals: stop, and abort at once.

/**
 * Milliseconds after the first signal within which further ones are taken for the same request to stop; a
 * second Ctrl-C of a person comes later.
 */
export const sameSignalMs = 1_000;

/** The abort signals that process signals lead to. */
export interface StopSignals {
  /** Aborted when the process should stop. */
  readonly stop: AbortSignal;
  /** Aborted at the second signal. */
  readonly abort: AbortSignal;
  /** The handler of every signal. */
  readonly notify: () => void;
}

/**
 * Creates both abort signals. Signals within {@linkcode sameSignalMs} of the first count as one: Ctrl-C arrives from
 * the terminal, and again from `deno task`, which forwards it.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../core/lib/time/clock.ts";
 * import { createStopSignals } from "./keep_serving.ts";
 * const { stop, abort, notify } = createStopSignals(systemClock);
 * notify();
 * notify();
 * if (!stop.aborted || abort.aborted) throw new Error("one Ctrl-C aborts");
 * ```
 */
export function createStopSignals(clock: Pick<Clock, "monotonicMs">): StopSignals {
  const stop = new AbortController();
  const abort = new AbortController();
  let firstAtMs: number | undefined;
  return {
    stop: stop.signal,
    abort: abort.signal,
    notify() {
      const nowMs = clock.monotonicMs();
      firstAtMs ??= nowMs;
      stop.abort();
      if (nowMs - firstAtMs >= sameSignalMs) abort.abort();
    },
  };
}

// Waits of a gateway that ends.

/** Milliseconds that the end of the process waits for what was asked to end: the last answers, the admin socket. */
export const lastEndsMs = 1_000;

/** Resolves when a signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true })
  );
}

/** Waits until load balancers have seen that `/readyz` answers 503. Calls are still accepted. */
export async function awaitBalancers(stopDelayMs: number, abort?: AbortSignal): Promise<void> {
  if (stopDelayMs === 0 || abort?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, stopDelayMs);
  abort?.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}

/** Milliseconds before a server that could not accept listens again: calls that end free sockets. */
export const listenAgainMs = 500;

/** The part of the runtime's server that is used here. */
export type Server = Pick<Deno.HttpServer, "finished" | "shutdown">;

export interface KeepServingOptions {
  /**
   * Listens at the address of the previous server. If it throws, the error is reported and it is
   * called again after the pause.
   */
  readonly listenAgain: () => Server | Promise<Server>;
  /** Called with the reason why there is no server, at most once in each pause. */
  readonly onTrouble: (error: unknown) => void;
  /** Replaced in tests, which do not wait. */
  readonly pause?: (delayMs: number) => Promise<void>;
}

/** Waits for a server to end and returns the reason. */
async function endOf(server: Server): Promise<unknown> {
  try {
    await server.finished;
    return new Error("The server ended unexpectedly");
  } catch (error) {
    return error;
  }
}

/**
 * Watches a server and, {@linkcode listenAgainMs} after it has ended, listens again. Until then its connections are
 * served as before; after it, running answers are completed and idle connections are closed, which frees file
 * descriptors.
 *
 * @returns `shutdown` accepts nothing more, and resolves when all answers are out
 *
 * @example
 * ```ts
 * import { keepServing } from "./keep_serving.ts";
 * const listen = () =>
 *   Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response("hello"));
 * const server = listen();
 * const kept = keepServing(server, { listenAgain: listen, onTrouble: (error) => { throw error } });
 * const answer = await fetch(`http://127.0.0.1:${server.addr.port}/`);
 * if (await answer.text() !== "hello") throw new Error("nobody is there");
 * await kept.shutdown();
 * ```
 */
export function keepServing(
  first: Server,
  { listenAgain, onTrouble, pause = sleep }: KeepServingOptions,
): { shutdown(): Promise<void> } {
  const ending = new Set<Promise<void>>();
  let current = first;
  let isStopped = false;

  /** Shuts a server down; an error here repeats the reason of its end. */
  async function letEnd(server: Server): Promise<void> {
    await server.shutdown().catch(() => {});
  }

  /** Retries to listen until it works. */
  async function listenAtLast(): Promise<void> {
    while (!isStopped) {
      try {
        current = await listenAgain();
        return;
      } catch (error) {
        onTrouble(error);
        await pause(listenAgainMs);
      }
    }
  }

  async function follow(): Promise<void> {
    while (!isStopped) {
      const end = await endOf(current);
      if (isStopped) return;
      onTrouble(end);
      await pause(listenAgainMs);
      const lastAnswers = letEnd(current).finally(() => ending.delete(lastAnswers));
      ending.add(lastAnswers);
      await listenAtLast();
    }
    // It was stopped while it began to listen.
    await letEnd(current);
  }

  const followed = follow();
  return {
    async shutdown() {
      isStopped = true;
      await letEnd(current);
      await Promise.all([followed, ...ending]);
    },
  };
}
