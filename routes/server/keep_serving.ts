/**
 * A server that outlives a connection it cannot take. The runtime's own stops to listen for good then, and its error ends
 * the process with every call in flight: whoever opens connections until no file descriptor is left would stop the
 * service for all.
 */
import { sleep } from "../../core/lib/time/sleep.ts";

/** Milliseconds before a server that could not accept listens again: calls that end free sockets. */
export const listenAgainMs = 500;

/** What is needed of the runtime's server. */
export type Server = Pick<Deno.HttpServer, "finished" | "shutdown">;

export interface KeepServingOptions {
  /** Listens again where the server before did. What it throws is told, and it is asked again after the pause. */
  readonly listenAgain: () => Server | Promise<Server>;
  /** Told why there is no server at the moment; at most once in each pause. */
  readonly onTrouble: (error: unknown) => void;
  /** A parameter so that tests need not wait. */
  readonly pause?: (delayMs: number) => Promise<void>;
}

/** Why a server has ended. */
async function endOf(server: Server): Promise<unknown> {
  try {
    await server.finished;
    return new Error("The server ended by itself");
  } catch (error) {
    return error;
  }
}

/**
 * Follows a server, and listens again, after {@linkcode listenAgainMs}, when it has ended. Until then its
 * connections are served as before; after it answers under way go out to their end, and connections that bring no
 * request are closed, which makes room.
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

  /** An error here is that of its end, which is known. */
  async function letEnd(server: Server): Promise<void> {
    await server.shutdown().catch(() => {});
  }

  /** Listens as soon as it can. */
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
    // Told to stop while it began to listen.
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
