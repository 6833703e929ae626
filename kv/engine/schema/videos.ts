/**
 * Builds keys of video tasks. A task is stored under its owner, so that a foreign id finds nothing.
 * Open tasks have an index.
 */
import type { AccountId, VideoId } from "../../../core/lib/ids/ids.ts";
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

/** Returns the task of a row of either kind: the last part in both. */
export function videoOf(key: Deno.KvKey): VideoId {
  return String(key.at(-1)) as VideoId;
}

/** Selects the tasks of an account after `after` in time, or before it. */
export function videosBesideSelector(
  accountId: AccountId,
  after: VideoId | undefined,
  order: "asc" | "desc",
): Deno.KvListSelector {
  const prefix = videosOfPrefix(accountId);
  if (after === undefined) return { prefix };
  // With an additional part it is the first key behind that of `after`.
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

/** Key of the idempotency row of a video. `keyId` is the hash of the key that the client chose. */
export function videoIdempotencyKey(accountId: AccountId, keyId: string): StoreKey {
  return ["video_order", accountId, keyId];
}
