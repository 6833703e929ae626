/**
 * Stores video tasks: rows, state changes with their money, and the polls that cause them.
 *
 * - Folder `kv/services/videos/`: video tasks as rows, with their charges and polls.
 * - In: accepted tasks, answers of providers to polls, cancellations.
 * - Out: tasks of their owner, refunds, polls in the outbox.
 * - Never: stores a prompt, or ends a task outside the commit that carries its refund.
 */
export {
  commitStep,
  forgetVideo,
  listVideos,
  maxVideoListRows,
  newTaskRows,
  readVideo,
  videoListOrders,
  type VideoListQuery,
  videoPolls,
  type VideoTaskRow,
} from "./tasks.ts";
export { openWithoutTask, verifyVideos, verifyVideosOf } from "./verify.ts";
export {
  type AskProvider,
  pollDueTasks,
  sweepOverdueVideos,
  type VideoAnswer,
  videoPollWork,
  type VideoPollWorld,
} from "./polling.ts";
