/**
 * Writes video tasks in the form that the SDKs' `videos.*` calls read. See
 * docs/internals/WIRE_FORMATS.md#video-object.
 */
import type { JsonObject } from "../../lib/json/json.ts";
import type { VideoTask } from "./task.ts";

function unixSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1_000);
}

/**
 * Writes the object that `POST`, `GET` and the list return.
 *
 * `prompt` is always null: prompts are not stored. `cancelled` is a state of this API; SDKs that
 * only know `completed` and `failed` should stop at any state that is neither `queued` nor
 * `in_progress`.
 */
export function videoObject(task: VideoTask): JsonObject {
  return {
    id: task.id,
    object: "video",
    model: task.model,
    status: task.state,
    progress: task.progress,
    created_at: unixSeconds(task.createdAtMs),
    completed_at: unixSeconds(task.completedAtMs),
    expires_at: unixSeconds(task.expiresAtMs),
    prompt: null,
    size: task.size,
    seconds: String(task.seconds),
    remixed_from_video_id: null,
    error: task.error === undefined ? null : { code: task.error.code, message: task.error.message },
  };
}

/** Writes one page of a list, newest or oldest first as requested. */
export function videoList(tasks: readonly VideoTask[], hasMore: boolean): JsonObject {
  return {
    object: "list",
    data: tasks.map(videoObject),
    first_id: tasks[0]?.id ?? null,
    last_id: tasks.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/**
 * Writes the answer of `DELETE`. The SDKs do not read `status` and `refunded`, which are additions
 * of this gateway.
 */
export function videoDeleted(task: VideoTask): JsonObject {
  return {
    id: task.id,
    object: "video.deleted",
    deleted: true,
    status: task.state,
    refunded: task.refundId !== undefined,
  };
}
