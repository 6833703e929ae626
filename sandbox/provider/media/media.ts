/**
 * Routes media requests of the sandbox to images, speech, transcripts and videos.
 *
 * - Folder `sandbox/provider/media/`: images, speech, transcripts and videos in the sandbox.
 * - In: media requests as JSON or as forms.
 * - Out: small pictures, sounds and clips, texts, tasks whose state depends on the clock.
 * - Never: stores a task: its id says when it was created and how it ends; cancellations are kept in memory only.
 */
import type { UpstreamRequest } from "../../../core/net/transport/transport.ts";
import { answerImages } from "./media_images.ts";
import { mediaFields } from "./media_request.ts";
import { answerSpeech } from "./media_speech.ts";
import { SandboxVideos } from "./media_videos.ts";
import type { Reply } from "../base/reply.ts";
import { answerTranscript } from "./transcripts.ts";
import { SandboxRefusal } from "../base/request.ts";
import { vendorError } from "../base/vendor_error.ts";

/** Answers media requests; returns `undefined` for other paths. */
export type MediaSandbox = (request: UpstreamRequest, nowMs: number) => Reply | undefined;

/**
 * Creates the part of the sandbox that answers media requests.
 *
 * @example
 * ```ts
 * import { createMediaSandbox } from "./media.ts";
 * const answer = createMediaSandbox();
 * const body = new TextEncoder().encode('{"model":"m","input":"Xin chào"}');
 * const headers = [["content-type", "application/json"]] as const;
 * const reply = answer({ method: "POST", url: "http://x.invalid/v1/audio/speech", headers, body }, 0);
 * if (reply?.headers.get("content-type") !== "audio/mpeg") throw new Error("no MP3");
 * ```
 */
export function createMediaSandbox(): MediaSandbox {
  const videos = new SandboxVideos();

  const route = (request: UpstreamRequest, nowMs: number): Reply | undefined => {
    const { pathname } = new URL(request.url);
    const nowSeconds = Math.floor(nowMs / 1_000);
    if (request.method === "POST") {
      if (pathname.endsWith("/images/generations")) {
        return answerImages(mediaFields(request), "image_generation", nowSeconds);
      }
      if (pathname.endsWith("/images/edits")) {
        return answerImages(mediaFields(request), "image_edit", nowSeconds);
      }
      if (pathname.endsWith("/audio/speech")) return answerSpeech(mediaFields(request));
      if (pathname.endsWith("/audio/transcriptions")) {
        return answerTranscript(mediaFields(request), "transcribe");
      }
      if (pathname.endsWith("/audio/translations")) {
        return answerTranscript(mediaFields(request), "translate");
      }
      if (pathname.endsWith("/videos")) return videos.create(mediaFields(request), nowMs);
      return undefined;
    }
    const below = /\/videos\/([^/]+)(?:\/(content))?$/.exec(pathname);
    if (below === null) return undefined;
    const rest = below[2] === undefined ? [below[1]!] : [below[1]!, below[2]];
    return videos.answer(request, rest.map(decodeURIComponent), nowMs);
  };

  return (request, nowMs) => {
    try {
      return route(request, nowMs);
    } catch (error) {
      if (error instanceof SandboxRefusal) return vendorError("chat", 400, error.message);
      throw error;
    }
  };
}
