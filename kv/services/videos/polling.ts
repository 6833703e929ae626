/**
 * Polls providers for the state of their tasks and stores the result. Runs from the outbox: any
 * number of pollers, in any number of processes, each of which may die at any point.
 */
import {
  advance,
  isFinal,
  pollPauseMs,
  type VideoSighting,
  type VideoTask,
} from "../../../core/media/video/task.ts";
import { addToOutbox } from "../../engine/outbox/outbox.ts";
import { finishClaim, type OutboxClaim, postponeClaim } from "../../engine/outbox/outbox_claims.ts";
import { type OutboxWork, type OutboxWorld, runDue } from "../../engine/outbox/outbox_worker.ts";
import { commitStep, listOverdueVideos, readVideo, type VideoPoll, videoPolls } from "./tasks.ts";
import type { AtomicWrite } from "../../engine/store/key_value_store.ts";

/**
 * Milliseconds to wait after a provider did not know a task for the first, second, third time in a
 * row: new tasks may take a moment to be known everywhere. After the fourth time the task counts as
 * lost.
 */
const unknownVideoPausesMs = [2_000, 5_000, 15_000] as const;

/** Simultaneous polls of video tasks in one process. */
const videoPollLanes = 16;

/** Milliseconds past the deadline of an open task after which the sweep treats its poll as lost. */
const videoSweepGraceMs = 10 * 60_000;

/** The answer of a provider. */
export type VideoAnswer =
  | {
    readonly kind: "seen";
    readonly sighting: VideoSighting;
    readonly retryAfterMs: number | undefined;
  }
  /** The provider does not know the task. */
  | { readonly kind: "unknown" };

/**
 * Asks the provider of a task. The implementation bounds the time, well under `videoPollClaimMs`.
 *
 * @throws when there is no usable answer
 */
export type AskProvider = (task: VideoTask) => Promise<VideoAnswer>;

/** Needs of polling. */
export interface VideoPollWorld extends OutboxWorld {
  readonly ask: AskProvider;
  /** Called after a task has ended, when its webhook is in the queue. */
  readonly onEnded?: () => void;
}

/** The work of the queue {@linkcode videoPolls}. */
export function videoPollWork(world: VideoPollWorld): OutboxWork<VideoPoll> {
  return {
    queue: videoPolls,
    lanes: videoPollLanes,
    handle: (claim) => pollTask(world, claim),
  };
}

/** Handles all polls that are due and returns their number. For cron, where no worker runs. */
export async function pollDueTasks(world: VideoPollWorld, stop?: AbortSignal): Promise<number> {
  return await runDue(world, videoPollWork(world), stop);
}

async function pollTask(
  world: VideoPollWorld,
  claim: OutboxClaim<VideoPoll>,
): Promise<"done" | "settled"> {
  const { kv, clock } = world;
  const { accountId, videoId } = claim.payload;
  const row = await readVideo(kv, accountId, videoId);
  if (row === undefined || isFinal(row.task.state)) return "done";

  const overdue = clock.nowMs() >= row.task.deadlineAtMs;
  const answer = await askOnce(world, row.task, overdue);
  const nowMs = clock.nowMs();
  const unknownTimes = answer?.kind === "unknown" ? unknownInARow(claim) : 0;
  let step = { task: row.task, refund: false };
  if (answer?.kind === "seen") {
    step = advance(row.task, { kind: "seen", sighting: answer.sighting }, nowMs);
  } else if (unknownTimes > unknownVideoPausesMs.length) {
    step = advance(row.task, { kind: "lost" }, nowMs);
  }
  if (overdue) step = endOverdue(step, nowMs);

  if (isFinal(step.task.state)) {
    const also = (operation: AtomicWrite) => finishClaim(operation, videoPolls, claim);
    if (await commitStep(kv, row, step, { nowMs, also }) === undefined) throw new RowChangedError();
    world.onEnded?.();
    return "settled";
  }
  if (unknownTimes > 0) reportUnknown(world, claim, unknownTimes);
  const retryAfterMs = answer?.kind === "seen" ? answer.retryAfterMs : undefined;
  const ageMs = nowMs - row.task.createdAtMs;
  const pauseMs = unknownVideoPausesMs[unknownTimes - 1] ??
    pollPauseMs({ ageMs, retryAfterMs });
  const next = {
    dueAtMs: Math.max(Math.min(nowMs + pauseMs, row.task.deadlineAtMs), nowMs + 1),
    payload: { accountId, videoId, ...(unknownTimes > 0 && { unknownTimes }) },
  };
  if (step.task === row.task) {
    const operation = kv.atomic();
    postponeClaim(operation, videoPolls, claim, next);
    await operation.commit();
    return "settled";
  }
  const also = (operation: AtomicWrite) => postponeClaim(operation, videoPolls, claim, next);
  if (await commitStep(kv, row, step, { nowMs, also }) === undefined) throw new RowChangedError();
  return "settled";
}

/**
 * Counts how often in a row the provider did not know the task, this time included. Any other
 * answer resets the count: one about the task by being stored, one about nothing by being an
 * attempt of its own.
 */
function unknownInARow(claim: OutboxClaim<VideoPoll>): number {
  return claim.attempt === 1 ? (claim.payload.unknownTimes ?? 0) + 1 : 1;
}

function reportUnknown(
  world: VideoPollWorld,
  { id }: OutboxClaim<VideoPoll>,
  unknownTimes: number,
): void {
  world.onFailure?.({
    queue: videoPolls.name,
    id,
    attempt: unknownTimes,
    fate: "retried",
    error: new UnknownTaskError("The provider does not know the task yet"),
  });
}

/**
 * Ends a task past its deadline: a last answer counts if it is final; anything else fails the task.
 */
function endOverdue(step: ReturnType<typeof advance>, nowMs: number): ReturnType<typeof advance> {
  return isFinal(step.task.state) ? step : advance(step.task, { kind: "deadline" }, nowMs);
}

async function askOnce(
  world: VideoPollWorld,
  task: VideoTask,
  overdue: boolean,
): Promise<VideoAnswer | undefined> {
  if (!overdue) return await world.ask(task);
  // A provider that does not answer at all must not keep an overdue task open.
  return await world.ask(task).catch(() => undefined);
}

/** Thrown if the provider says that there is no such task; it is asked again a few times. */
class UnknownTaskError extends Error {
  override name = "UnknownTaskError";
}

/**
 * Thrown if another poller or the owner was faster, or the claim ended; the next attempt reads the
 * result.
 */
class RowChangedError extends Error {
  override name = "RowChangedError";
}

/**
 * Adds a poll for open tasks well past their deadline, which polls should have ended. Finds some
 * only if a poll row was lost, e.g. in a store restored from a backup.
 *
 * @returns how many polls were added
 */
export async function sweepOverdueVideos(world: VideoPollWorld): Promise<number> {
  const nowMs = world.clock.nowMs();
  const overdue = await listOverdueVideos(world.kv, nowMs - videoSweepGraceMs);
  for (const poll of overdue) {
    const operation = world.kv.atomic();
    addToOutbox(operation, videoPolls, { id: poll.videoId, payload: poll, nowMs });
    await operation.commit();
  }
  return overdue.length;
}
