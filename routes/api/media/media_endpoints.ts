/** The paths of everything but chat and lists of models. */
import type { Reply } from "../../../core/lib/http1/server/reply.ts";
import type { Context } from "hono";
import { serveCompletions } from "../completions/completions.ts";
import { serveEmbeddings } from "../embeddings/embeddings.ts";
import { serveSpeech } from "../speech/audio_speech.ts";
import type { Gateway } from "../gateway.ts";
import { serveImages } from "../images/images.ts";
import type { Incoming } from "../incoming.ts";
import { serveModerations } from "../moderations/moderations.ts";
import { serveRerank } from "../rerank/rerank.ts";
import { serveTranscription } from "../transcriptions/transcriptions.ts";
import { serveVideoContent } from "../videos/video_content.ts";
import { deleteVideo, listOwnVideos, retrieveVideo } from "../videos/video_tasks.ts";
import { createVideo } from "../videos/videos.ts";

interface MediaEndpoint {
  readonly path: string;
  readonly method: "GET" | "POST" | "DELETE";
  readonly serve: (
    gateway: Gateway,
    incoming: Incoming,
    context: Context,
  ) => Promise<Reply | Response>;
}

const idOf = (context: Context) => context.req.param("id") ?? "";

/** The endpoints of calls that are not chat, by path. */
export const mediaEndpoints: readonly MediaEndpoint[] = [
  {
    method: "POST",
    path: "/v1/images/generations",
    serve: (gateway, incoming) => serveImages(gateway, "generations", incoming),
  },
  {
    method: "POST",
    path: "/v1/images/edits",
    serve: (gateway, incoming) => serveImages(gateway, "edits", incoming),
  },
  { method: "POST", path: "/v1/audio/speech", serve: serveSpeech },
  {
    method: "POST",
    path: "/v1/audio/transcriptions",
    serve: (gateway, incoming) => serveTranscription(gateway, "transcriptions", incoming),
  },
  {
    method: "POST",
    path: "/v1/audio/translations",
    serve: (gateway, incoming) => serveTranscription(gateway, "translations", incoming),
  },
  { method: "POST", path: "/v1/embeddings", serve: serveEmbeddings },
  { method: "POST", path: "/v1/rerank", serve: serveRerank },
  { method: "POST", path: "/v1/completions", serve: serveCompletions },
  { method: "POST", path: "/v1/moderations", serve: serveModerations },
  { method: "POST", path: "/v1/videos", serve: createVideo },
  { method: "GET", path: "/v1/videos", serve: listOwnVideos },
  {
    method: "GET",
    path: "/v1/videos/:id",
    serve: (gateway, incoming, context) => retrieveVideo(gateway, incoming, idOf(context)),
  },
  {
    method: "DELETE",
    path: "/v1/videos/:id",
    serve: (gateway, incoming, context) => deleteVideo(gateway, incoming, idOf(context)),
  },
  {
    method: "GET",
    path: "/v1/videos/:id/content",
    serve: (gateway, incoming, context) => serveVideoContent(gateway, incoming, idOf(context)),
  },
];
