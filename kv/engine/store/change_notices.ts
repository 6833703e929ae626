/**
 * Tells instances that rows have changed, so that they need not ask all the time. A notice only starts a read early:
 * one that is lost, doubled or late changes nothing but the moment.
 */
import { keysEpochKey, kindOfKey, outboxQueuePrefix } from "../schema/keys.ts";

/** What a notice says: the kind of rows that changed. */
export type NoticeKind = "control" | "outbox";

/** The kinds of rows whose change is announced: switches and revocations, and the work of the outbox. */
export const announcedKinds: ReadonlySet<string> = new Set(
  [keysEpochKey(), outboxQueuePrefix("")].map(kindOfKey),
);

/** Passes notices between instances. */
export interface ChangeNotices {
  /**
   * Calls back at each notice, and for every kind when notices may have been lost. Returns a function that ends it.
   * Never throws: a store that gives no notices is asked at intervals.
   */
  listen(onNotice: (kind: NoticeKind) => void | Promise<void>): () => Promise<void>;
  /** Announces a change after its commit; absent if the store does it by itself. */
  readonly announce?: (kind: NoticeKind) => void;
}

/** Narrows the text of a notice. */
export function isNoticeKind(text: unknown): text is NoticeKind {
  return text === "control" || text === "outbox";
}
