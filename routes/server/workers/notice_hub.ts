/** Passes notices between the threads of a process, which all write the same store. */
import type { ChangeNotices, NoticeKind } from "../../../kv/engine/store/change_notices.ts";

type Listener = (kind: NoticeKind) => void | Promise<void>;

/** Tells every thread what others have committed. */
export class NoticeHub {
  readonly #listeners = new Map<string, Listener>();
  readonly #beyond: ChangeNotices | undefined;

  /** @param beyond notices of other processes, if the store has them */
  constructor(beyond: ChangeNotices | undefined) {
    this.#beyond = beyond;
  }

  /** Adds a thread; returns a function that removes it. */
  join(thread: string, listener: Listener): () => void {
    this.#listeners.set(thread, listener);
    return () => {
      if (this.#listeners.get(thread) === listener) this.#listeners.delete(thread);
    };
  }

  /** A thread has committed a change. */
  committed(thread: string, kind: NoticeKind): void {
    for (const [other, listener] of this.#listeners) if (other !== thread) void listener(kind);
    this.#beyond?.announce?.(kind);
  }

  /** The notices that the owner hears, its own and those of other processes, which it passes on. */
  notices(owner: string): ChangeNotices {
    return {
      listen: (onNotice) => {
        const leave = this.join(owner, onNotice);
        const end = this.#beyond?.listen(async (kind) => {
          await Promise.all([...this.#listeners.values()].map((listener) => listener(kind)));
        });
        return async () => {
          leave();
          await end?.();
        };
      },
    };
  }
}
