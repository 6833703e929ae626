/**
 * Passes notices through the queue of Deno KV (https://docs.deno.com/api/deno/~/Deno.Kv#method_listenqueue_0). On Deno
 * Deploy a message starts a process if none is there, so that work that is due does not wait for a request.
 */
import type { ChangeNotices, NoticeKind } from "../store/change_notices.ts";
import { isNoticeKind } from "../store/change_notices.ts";

/** The part of a store that has a queue. */
export type QueueStore = Pick<Deno.Kv, "enqueue" | "listenQueue">;

/**
 * Makes notices of a queue. If a call of the queue fails, it is not used any more: `onTrouble` is called once, and the
 * store is asked at intervals instead. The queue delivers a message at least once and at some time, which is enough.
 *
 * @example
 * ```ts
 * import { queueNotices } from "./queue_notices.ts";
 * const kv = await Deno.openKv(":memory:");
 * const notices = queueNotices(kv, (error) => { throw error; });
 * const heard = Promise.withResolvers<string>();
 * const end = notices.listen((kind) => heard.resolve(kind));
 * notices.announce?.("outbox");
 * if (await heard.promise !== "outbox") throw new Error("another notice");
 * kv.close();
 * await end();
 * ```
 */
export function queueNotices(
  kv: QueueStore,
  onTrouble: (error: unknown) => void,
): ChangeNotices {
  let isBroken = false;
  const broke = (error: unknown): void => {
    if (isBroken) return;
    isBroken = true;
    onTrouble(error);
  };
  return {
    announce(kind) {
      if (!isBroken) kv.enqueue({ notice: kind }).catch(broke);
    },
    listen(onNotice) {
      let isOver = false;
      const listening = kv.listenQueue(async (message: unknown) => {
        const kind = kindOf(message);
        // An error here would deliver the message again, which is what the work itself does not need.
        if (kind !== undefined && !isOver) await Promise.resolve(onNotice(kind)).catch(() => {});
      }).catch((error: unknown) => {
        if (!isOver) broke(error);
      });
      return async () => {
        isOver = true;
        // Listening ends when the store is closed; until then messages are taken and ignored.
        await Promise.race([listening, Promise.resolve()]);
      };
    },
  };
}

function kindOf(message: unknown): NoticeKind | undefined {
  if (typeof message !== "object" || message === null || !("notice" in message)) return undefined;
  return isNoticeKind(message.notice) ? message.notice : undefined;
}
