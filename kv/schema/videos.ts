/** Keys of video tasks: a task lies under its owner, so that a foreign id finds nothing. Open ones have an index. */
import type { AccountId, VideoId } from "../../core/lib/ids.ts";
import type { StoreKey } from "./store_key.ts";

export function allVideosPrefix(): StoreKey {
  return ["video"];
}

export function videosOfPrefix(accountId: AccountId): StoreKey {
  return ["video", accountId];
}

export function videoKey(accountId: AccountId, videoId: VideoId): StoreKey {
  return ["video", accountId, videoId];
}

/** The task of a row of either kind: last in both. */
export function videoOf(key: Deno.KvKey): VideoId {
  return String(key.at(-1)) as VideoId;
}

/** The tasks of an account behind `after` in time, or before it. */
export function videosBesideSelector(
  accountId: AccountId,
  after: VideoId | undefined,
  order: "asc" | "desc",
): Deno.KvListSelector {
  const prefix = videosOfPrefix(accountId);
  if (after === undefined) return { prefix };
  // With a part more it is the first key behind that of `after` itself.
  return order === "desc"
    ? { prefix, end: videoKey(accountId, after) }
    : { prefix, start: [...videoKey(accountId, after), ""] };
}

export function openVideosPrefix(): StoreKey {
  return ["video_open"];
}

export function openVideoKey(videoId: VideoId): StoreKey {
  return ["video_open", videoId];
}

/** `keyId` is the hash of the key that the client chose. */
export function videoIdempotencyKey(accountId: AccountId, keyId: string): StoreKey {
  return ["video_order", accountId, keyId];
}
