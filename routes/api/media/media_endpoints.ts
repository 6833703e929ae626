/**
 * The paths of everything but chat and lists of models.
 *
 * - Folder `routes/api/media/`: everything but chat and lists of models: which path leads to which endpoint.
 * - In: a path and a method.
 * - Out: the endpoint, loaded with its first call.
 * - Never: imports an endpoint at the start.
 */
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import type { Context } from "hono";
import { loadedOnce } from "../../../core/lib/base/assert.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Incoming } from "../call/incoming.ts";

type Serve = (
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
) => Promise<Reply | Response>;

interface MediaEndpoint {
  readonly path: string;
  readonly method: "GET" | "POST" | "DELETE";
  readonly serve: Serve;
}

/** Loads an endpoint with its first call: most gateways serve few of them. */
function withFirstCall(load: () => Promise<Serve>): Serve {
  const loaded = loadedOnce(load);
  return async (...call) => (await loaded())(...call);
}

const images = (operation: "generations" | "edits") =>
  withFirstCall(async () => {
    const { serveImages } = await import("./images/images.ts");
    return (gateway, incoming) => serveImages(gateway, operation, incoming);
  });

const transcription = (operation: "transcriptions" | "translations") =>
  withFirstCall(async () => {
    const { serveTranscription } = await import("./transcriptions/transcriptions.ts");
    return (gateway, incoming) => serveTranscription(gateway, operation, incoming);
  });

/** An endpoint of one video task. */
function videoTask(
  load: () => Promise<(gateway: Gateway, incoming: Incoming, id: string) => Promise<Response>>,
): Serve {
  return withFirstCall(async () => {
    const serve = await load();
    return (gateway, incoming, context) => serve(gateway, incoming, context.req.param("id") ?? "");
  });
}

/** The endpoints of calls that are not chat, by path. */
export const mediaEndpoints: readonly MediaEndpoint[] = [
  { method: "POST", path: "/v1/images/generations", serve: images("generations") },
  { method: "POST", path: "/v1/images/edits", serve: images("edits") },
  {
    method: "POST",
    path: "/v1/audio/speech",
    serve: withFirstCall(async () => (await import("./speech/audio_speech.ts")).serveSpeech),
  },
  { method: "POST", path: "/v1/audio/transcriptions", serve: transcription("transcriptions") },
  { method: "POST", path: "/v1/audio/translations", serve: transcription("translations") },
  {
    method: "POST",
    path: "/v1/embeddings",
    serve: withFirstCall(async () => (await import("./embeddings/embeddings.ts")).serveEmbeddings),
  },
  {
    method: "POST",
    path: "/v1/rerank",
    serve: withFirstCall(async () => (await import("./rerank/rerank.ts")).serveRerank),
  },
  {
    method: "POST",
    path: "/v1/completions",
    serve: withFirstCall(async () =>
      (await import("./completions/completions.ts")).serveCompletions
    ),
  },
  {
    method: "POST",
    path: "/v1/moderations",
    serve: withFirstCall(async () =>
      (await import("./moderations/moderations.ts")).serveModerations
    ),
  },
  {
    method: "POST",
    path: "/v1/videos",
    serve: withFirstCall(async () => (await import("./videos/videos.ts")).createVideo),
  },
  {
    method: "GET",
    path: "/v1/videos",
    serve: withFirstCall(async () => (await import("./videos/video_tasks.ts")).listOwnVideos),
  },
  {
    method: "GET",
    path: "/v1/videos/:id",
    serve: videoTask(async () => (await import("./videos/video_tasks.ts")).retrieveVideo),
  },
  {
    method: "DELETE",
    path: "/v1/videos/:id",
    serve: videoTask(async () => (await import("./videos/video_tasks.ts")).deleteVideo),
  },
  {
    method: "GET",
    path: "/v1/videos/:id/content",
    serve: videoTask(async () => (await import("./videos/video_content.ts")).serveVideoContent),
  },
];
