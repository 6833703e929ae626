/** Videos: tasks that are created, polled, downloaded and removed. */
import { ref } from "../../core/lib/json/schemas.ts";
import { videoVariants } from "../../core/media/video/upstream_requests.ts";
import { videoListOrders } from "../../kv/services/videos/mod.ts";
import { confirmParameter, videoListRows } from "../api/media/videos/video_tasks.ts";
import { callErrors, paidErrors } from "./error_answers.ts";
import type { ExampleModels } from "./example_models.ts";
import { callParameters, costHeaderNames, strictParameter } from "./headers.ts";
import { inPath, inQuery, jsonAnswer, oneOf, type Operation, pageParameters } from "./operation.ts";

const id = inPath("id", "Id of the task.", {
  example: "video_01999999999999999999999999",
});

const taskErrors = [...callErrors, "not_found", "upstream_unreachable"] as const;

const common = { tag: "Videos", errorStyle: "chat" } as const;

const task = { "application/json": ref("Video") };

/** The operations of this group. */
export function videoOperations(models: ExampleModels): readonly Operation[] {
  return [
    {
      ...common,
      id: "createVideo",
      method: "post",
      path: "/v1/videos",
      summary: "Create a task",
      description: "Creates a task, which is charged now and given back if it fails.",
      parameters: [...callParameters, strictParameter],
      body: {
        schema: ref("VideoRequest"),
        types: ["application/json", "multipart/form-data"],
        example: { model: models.video, prompt: "A boat on the river", seconds: 5 },
      },
      answers: [{ description: "The task.", content: task, headers: costHeaderNames }],
      errors: [...paidErrors, "conversion_refused"],
    },
    {
      ...common,
      id: "listVideos",
      method: "get",
      path: "/v1/videos",
      summary: "List tasks",
      description: "Your tasks, newest first.",
      parameters: [
        inQuery("order", "Newest or oldest first.", { schema: oneOf(videoListOrders, "desc") }),
        ...pageParameters(videoListRows, "after"),
      ],
      answers: [jsonAnswer("A page.", "VideoList")],
      errors: [...callErrors, "invalid_request"],
    },
    {
      ...common,
      id: "getVideo",
      method: "get",
      path: "/v1/videos/{id}",
      summary: "Read a task",
      description: "State and progress of a task.",
      parameters: [id],
      answers: [{ description: "The task.", content: task }],
      errors: taskErrors,
    },
    {
      ...common,
      id: "deleteVideo",
      method: "delete",
      path: "/v1/videos/{id}",
      summary: "Cancel or remove a task",
      description:
        "Cancels a pending task, removes one that has ended. A finished video, whose file is paid, is removed with " +
        "`confirm=true` only.",
      parameters: [
        id,
        inQuery(confirmParameter.name, "Removes a finished video, too.", {
          schema: { const: confirmParameter.value },
        }),
      ],
      answers: [jsonAnswer("What was done.", "VideoDeleted")],
      errors: [...taskErrors, "invalid_request", "overloaded"],
    },
    {
      ...common,
      id: "downloadVideo",
      method: "get",
      path: "/v1/videos/{id}/content",
      summary: "Download a video",
      description: "The file of a completed task. `Range` is followed.",
      parameters: [
        id,
        inQuery("variant", "The video, or a picture of it.", {
          schema: oneOf(videoVariants, "video"),
        }),
      ],
      answers: [
        {
          description: "The file.",
          content: {
            "video/mp4": ref("File"),
            "image/*": ref("File"),
            "application/octet-stream": ref("File"),
          },
        },
        {
          description: "A part of the file.",
          status: 206,
          content: { "video/mp4": ref("File"), "application/octet-stream": ref("File") },
        },
        { description: "The range is beyond the file.", status: 416, content: {} },
      ],
      errors: [...taskErrors, "invalid_request", "upstream_timeout"],
    },
  ];
}
