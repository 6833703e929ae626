/** Passes the notices that commits send by `pg_notify` on to this instance. */
import { type ChangeNotices, isNoticeKind, type NoticeKind } from "../store/change_notices.ts";
import type { Pool } from "./pool.ts";

/** The channel on which the commit function announces kinds of rows. */
const channel = "gateway_kv";

/** Every kind: what may have changed while nothing was heard. */
const everyKind: readonly NoticeKind[] = ["control", "outbox"];

/**
 * Makes notices of `LISTEN` on a connection of its own. While that is away, the store is asked at intervals.
 */
export function postgresNotices(pool: Pool): ChangeNotices {
  return {
    listen(onNotice) {
      const heard = (kind: NoticeKind) => void Promise.resolve(onNotice(kind)).catch(() => {});
      return pool.listen(channel, (payload) => {
        if (isNoticeKind(payload)) heard(payload);
      }, () => everyKind.forEach(heard));
    },
  };
}
