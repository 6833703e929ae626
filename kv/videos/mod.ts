/** Video tasks: rows, state changes with their money, and the polls that drive them. */
export {
  forgetVideo,
  listVideos,
  newTaskRows,
  readVideo,
  type VideoListQuery,
  type VideoPoll,
  videoPolls,
  type VideoTaskRow,
} from "./tasks.ts";
export { type AlsoCommit, commitStep } from "./transitions.ts";
export { verifyVideos, type VideoProblem } from "./verify.ts";
export {
  type AskProvider,
  pollDueTasks,
  sweepOverdueVideos,
  type VideoAnswer,
  videoPollWork,
  type VideoPollWorld,
} from "./polling.ts";
