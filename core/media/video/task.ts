/**
 * The states of a video task (docs/media.md#states) as pure functions of the known state and an
 * event. Refunds follow from the same functions.
 *
 * ```text
 * queued ──> in_progress ──> completed
 *    │            │ ├──────> failed      full refund
 *    └────────────┴─┴──────> cancelled   refund if the provider had not started
 * ```
 *
 * - Folder `core/media/video/`: video tasks: requests, provider adapters applied, states and what follows from them.
 * - In: requests, the rules of their model, answers of providers to submits and polls.
 * - Out: requests for providers, the next state of a task, and what is charged or refunded.
 * - Never: polls or stores; `kv/services/videos/` does.
 */
import type { AccountId, ApiKeyId, LedgerId, RequestId, VideoId } from "../../lib/ids/ids.ts";
import { fieldsJson } from "../../lib/json/fields.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import {
  always,
  constant,
  type DescribedField,
  nullableField,
  pageFields,
  text,
} from "../../lib/json/schemas.ts";

const videoStates = ["queued", "in_progress", "completed", "failed", "cancelled"] as const;

/** The state of a video task. */
export type VideoState = typeof videoStates[number];

/** Why a task failed, as a message for the client. */
export interface VideoError {
  readonly code: string;
  readonly message: string;
}

/** One task as it is stored. Metadata only: the prompt and the pictures are not here. */
export interface VideoTask {
  readonly id: VideoId;
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
  /** The call that created it, and its charge. */
  readonly requestId: RequestId;
  /** Catalogue id. */
  readonly model: string;
  /** Fixes the provider: polls, downloads and deletions go to where the task was created. */
  readonly route: string;
  /**
   * Fixes the credential in the same way: the name of its environment variable, never the secret.
   */
  readonly credential: string | undefined;
  /** The provider's id of the task. */
  readonly upstreamId: string;
  readonly state: VideoState;
  /** 0 to 100. */
  readonly progress: number;
  readonly createdAtMs: number;
  readonly completedAtMs: number | undefined;
  /** Moment at which the provider removes the file, if it said so. */
  readonly expiresAtMs: number | undefined;
  /** The time at which an unfinished task fails. */
  readonly deadlineAtMs: number;
  /** As requested or as billed. */
  readonly seconds: number;
  readonly size: string;
  readonly error: VideoError | undefined;
  /** Charge at creation. */
  readonly costMicroVnd: bigint;
  /** The refund, once there is one. */
  readonly refundId: LedgerId | undefined;
}

/** The state of a task as its provider reports it. */
export interface VideoSighting {
  readonly state: VideoState;
  readonly progress: number | undefined;
  readonly completedAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
  readonly error: VideoError | undefined;
}

/** An event of a task. */
export type VideoEvent =
  | { readonly kind: "seen"; readonly sighting: VideoSighting }
  /** The provider no longer knows the task. */
  | { readonly kind: "lost" }
  | { readonly kind: "deadline" }
  /** The owner cancelled. `confirmed`: the provider cancelled it before it had started. */
  | { readonly kind: "cancel"; readonly confirmed: boolean };

/** The effects of an event. */
export interface VideoStep {
  readonly task: VideoTask;
  /** Whether the charge is refunded, in the same commit as the new state. */
  readonly refund: boolean;
}

/** A state that ends a task. */
export type FinalVideoState = Extract<VideoState, "completed" | "failed" | "cancelled">;

/** Whether the task has ended. Ended tasks never change. */
export function isFinal(state: VideoState): state is FinalVideoState {
  return state === "completed" || state === "failed" || state === "cancelled";
}

/** The order of states: a late or contradictory answer never leads back. */
const rank: Record<VideoState, number> = {
  queued: 0,
  in_progress: 1,
  completed: 2,
  failed: 2,
  cancelled: 2,
};

/**
 * Applies an event. A provider that cancels on its own (moderation, its own time-out) has failed
 * the task: the owner is refunded.
 *
 * @returns the task as it is now; the same object if nothing changed
 */
export function advance(task: VideoTask, event: VideoEvent, nowMs: number): VideoStep {
  if (isFinal(task.state)) return { task, refund: false };
  switch (event.kind) {
    case "seen":
      return applySighting(task, event.sighting, nowMs);
    case "lost":
      return fail(task, nowMs, {
        code: "task_lost",
        message: "The provider no longer knows this task.",
      });
    case "deadline":
      return fail(task, nowMs, {
        code: "task_timeout",
        message: "The provider did not finish in time.",
      });
    case "cancel": {
      const refund = event.confirmed && task.state === "queued";
      return { task: { ...task, state: "cancelled", completedAtMs: nowMs }, refund };
    }
  }
}

function fail(task: VideoTask, nowMs: number, error: VideoError): VideoStep {
  return { task: { ...task, state: "failed", completedAtMs: nowMs, error }, refund: true };
}

function applySighting(task: VideoTask, seen: VideoSighting, nowMs: number): VideoStep {
  const generic = { code: "generation_failed", message: "The provider could not make this video." };
  switch (seen.state) {
    case "failed":
      return fail(task, nowMs, seen.error ?? generic);
    case "cancelled":
      return fail(
        task,
        nowMs,
        seen.error ?? {
          code: "cancelled_by_provider",
          message: "The provider cancelled this task.",
        },
      );
    case "completed":
      return {
        task: {
          ...task,
          state: "completed",
          progress: 100,
          completedAtMs: seen.completedAtMs ?? nowMs,
          expiresAtMs: seen.expiresAtMs ?? task.expiresAtMs,
        },
        refund: false,
      };
    case "queued":
    case "in_progress": {
      const state = rank[seen.state] > rank[task.state] ? seen.state : task.state;
      // Clients take 100 for done, so only `completed` may report it.
      const told = Number.isFinite(seen.progress) ? Math.floor(seen.progress ?? 0) : 0;
      const progress = Math.min(99, Math.max(task.progress, told));
      const expiresAtMs = seen.expiresAtMs ?? task.expiresAtMs;
      const same = state === task.state && progress === task.progress &&
        expiresAtMs === task.expiresAtMs;
      return { task: same ? task : { ...task, state, progress, expiresAtMs }, refund: false };
    }
  }
}

/**
 * Computes the pause before the next poll: short while the task is young (sandboxes and short clips
 * end in seconds), longer later. A provider's own `retry-after` takes precedence, within bounds.
 *
 * @example
 * ```ts
 * import { pollPauseMs } from "./task.ts";
 * if (pollPauseMs({ ageMs: 2_000, retryAfterMs: undefined }) !== 1_000) throw new Error("young");
 * if (pollPauseMs({ ageMs: 600_000, retryAfterMs: undefined }) !== 15_000) throw new Error("old");
 * ```
 */
export function pollPauseMs(
  options: { readonly ageMs: number; readonly retryAfterMs: number | undefined },
): number {
  const { ageMs, retryAfterMs } = options;
  if (retryAfterMs !== undefined) return Math.min(Math.max(retryAfterMs, 1_000), 60_000);
  if (ageMs < 15_000) return 1_000;
  if (ageMs < 60_000) return 3_000;
  if (ageMs < 300_000) return 8_000;
  return 15_000;
}

// Writes video tasks in the form that the SDKs' `videos.*` calls read. See
// docs/internals/WIRE_FORMATS.md#video-object.

function unixSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1_000);
}

const videoErrorFields: readonly DescribedField<VideoError>[] = [
  always("code", text, ({ code }) => code),
  always("message", text, ({ message }) => message),
];

/** The fields of a task, as clients see it. */
export const videoAnswerFields: readonly DescribedField<VideoTask>[] = [
  always("id", text, ({ id }) => id),
  constant("object", "video"),
  always("model", text, ({ model }) => model),
  always("status", {
    type: "string",
    enum: [...videoStates],
    description: "It ends in any state but `queued` and `in_progress`.",
  }, ({ state }) => state),
  always("progress", { type: "number", description: "Percent." }, ({ progress }) => progress),
  always(
    "created_at",
    { type: "integer", description: "Seconds since 1970." },
    ({ createdAtMs }) => unixSeconds(createdAtMs),
  ),
  always(
    "completed_at",
    { type: ["integer", "null"] },
    ({ completedAtMs }) => unixSeconds(completedAtMs),
  ),
  always(
    "expires_at",
    { type: ["integer", "null"] },
    ({ expiresAtMs }) => unixSeconds(expiresAtMs),
  ),
  always(
    "prompt",
    { type: "null", description: "Always null: prompts are not stored." },
    () => null,
  ),
  always("size", text, ({ size }) => size),
  always("seconds", text, ({ seconds }) => String(seconds)),
  always("remixed_from_video_id", {
    type: "null",
    description: "Always null: videos are not remixed here.",
  }, () => null),
  nullableField("error", "Why it failed.", videoErrorFields, ({ error }) => error),
];

/**
 * Writes the object that `POST`, `GET` and the list return.
 *
 * `prompt` is always null: prompts are not stored. `cancelled` is a state of this API; SDKs that
 * only know `completed` and `failed` should stop at any state that is neither `queued` nor
 * `in_progress`.
 */
export function videoObject(task: VideoTask): JsonObject {
  return fieldsJson(videoAnswerFields, task);
}

/** The fields of a page of tasks. */
export const videoListFields = pageFields("Video");

/** Writes one page of a list, newest or oldest first as requested. */
export function videoList(tasks: readonly VideoTask[], hasMore: boolean): JsonObject {
  return fieldsJson(videoListFields, {
    data: tasks.map(videoObject),
    firstId: tasks[0]?.id,
    lastId: tasks.at(-1)?.id,
    hasMore,
  });
}

/**
 * The fields of the answer of `DELETE`. The SDKs do not read `status` and `refunded`, which are additions of this
 * gateway.
 */
export const videoDeletedFields: readonly DescribedField<VideoTask>[] = [
  always("id", text, ({ id }) => id),
  constant("object", "video.deleted"),
  constant("deleted", true),
  always("status", text, ({ state }) => state),
  always("refunded", { type: "boolean" }, ({ refundId }) => refundId !== undefined),
];

/** Writes the answer of `DELETE`. */
export function videoDeleted(task: VideoTask): JsonObject {
  return fieldsJson(videoDeletedFields, task);
}
