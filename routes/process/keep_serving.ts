/**
 * Restarts the HTTP server when accepting a connection fails. The runtime's own server stops
 * listening for good then, and its error ends the process with all running calls: a client that
 * opens connections until no file descriptor is left could stop the service.
 */
import { sleep } from "../../core/lib/time/sleep.ts";

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
