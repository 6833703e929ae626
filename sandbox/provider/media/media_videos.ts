/**
 * Answers `/videos` in the sandbox, with tasks whose state depends only on the clock.
 *
 * The id of a task encodes when it was created and how it ends, so nothing is stored and tasks survive a restart. Only
 * cancellations are kept, in memory: after a restart, a cancelled task runs again.
 */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { MediaFields } from "../../../core/calls/body/fields.ts";
import type { UpstreamRequest } from "../../../core/net/transport/transport.ts";
import { clipMp4Base64 } from "./assets/clip_mp4.ts";
import { thumbnailWebpBase64 } from "./assets/thumbnail_webp.ts";
import { mediaTrouble, optionalText, readMediaTriggers, requiredText } from "./media_request.ts";
import { jsonReply, type Reply, type Step } from "../base/reply.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/** Duration of a task without triggers, in milliseconds; the first third is spent in `queued`. */
const usualMs = 3_000;
const fileLifeMs = hourMs;
const shortLifeMs = 5_000;

const fates = { works: "w", fails: "f", stalls: "s", expires: "e" } as const;
type Fate = keyof typeof fates;

interface SandboxTask {
  readonly id: string;
  readonly fate: Fate;
  readonly createdAtMs: number;
  readonly durationMs: number;
  readonly megabytes: number;
  readonly seconds: string;
  readonly size: string;
  readonly model: string;
}

function taskId(task: Omit<SandboxTask, "id">, salt: number): string {
  const numbers = [task.createdAtMs, task.durationMs, task.megabytes, salt].map((n) =>
    n.toString(36)
  );
  const about = [task.seconds, task.size, encodeURIComponent(task.model).replaceAll("_", "%5F")];
  return ["sandbox", fates[task.fate], ...numbers, ...about].join("_");
}

function parseTask(id: string): SandboxTask | undefined {
  const [origin, letter, created, duration, megabytes, , seconds, size, model] = id.split("_");
  const fate = (Object.keys(fates) as Fate[]).find((name) => fates[name] === letter);
  if (origin !== "sandbox" || fate === undefined || model === undefined) return undefined;
  const [createdAtMs, durationMs, size36] = [created, duration, megabytes]
    .map((text) => Number.parseInt(text ?? "", 36));
  if (!Number.isSafeInteger(createdAtMs) || !Number.isSafeInteger(durationMs)) return undefined;
  return {
    id,
    fate,
    createdAtMs: createdAtMs ?? 0,
    durationMs: durationMs ?? 0,
    megabytes: size36 ?? 0,
    seconds: seconds ?? "5",
    size: size ?? "",
    model: decodeURIComponent(model),
  };
}

function endsAtMs(task: SandboxTask): number {
  return task.fate === "stalls" ? Infinity : task.createdAtMs + task.durationMs;
}

function expiresAtMs(task: SandboxTask): number {
  return endsAtMs(task) + (task.fate === "expires" ? shortLifeMs : fileLifeMs);
}

function statusOf(task: SandboxTask, nowMs: number): string {
  if (nowMs >= endsAtMs(task)) return task.fate === "fails" ? "failed" : "completed";
  return nowMs - task.createdAtMs < task.durationMs / 3 ? "queued" : "in_progress";
}

function videoObject(task: SandboxTask, nowMs: number): JsonObject {
  const status = statusOf(task, nowMs);
  const progress = Math.floor(100 * (nowMs - task.createdAtMs) / task.durationMs);
  const done = status === "completed";
  return {
    id: task.id,
    object: "video",
    model: task.model,
    status,
    progress: done ? 100 : Math.max(0, Math.min(99, progress)),
    created_at: Math.floor(task.createdAtMs / 1_000),
    completed_at: done ? Math.floor(endsAtMs(task) / 1_000) : null,
    expires_at: done ? Math.floor(expiresAtMs(task) / 1_000) : null,
    size: task.size,
    seconds: task.seconds,
    remixed_from_video_id: null,
    error: status === "failed"
      ? {
        code: "moderation_blocked",
        message: "Your request was blocked by our moderation system.",
      }
      : null,
  };
}

function notFound(message: string): Reply {
  return jsonReply(404, {
    error: { type: "video_generation_user_error", code: "not_found", message, param: null },
  }, {});
}

const mebibyte = 1024 * 1024;
const pieceBytes = 64 * 1024;

/** A file; a large one is the clip followed by a `free` box (ISO/IEC 14496-12, section 8.1.2) of zeros. */
interface SandboxFile {
  readonly type: string;
  readonly head: Uint8Array;
  readonly length: number;
}

function clipFile(megabytes: number): SandboxFile {
  const clip = Uint8Array.fromBase64(clipMp4Base64.join(""));
  if (megabytes === 0) return { type: "video/mp4", head: clip, length: clip.length };
  const padding = megabytes * mebibyte;
  const head = new Uint8Array(clip.length + 8);
  head.set(clip);
  new DataView(head.buffer).setUint32(clip.length, padding);
  head.set(new TextEncoder().encode("free"), clip.length + 4);
  return { type: "video/mp4", head, length: clip.length + padding };
}

function* filePieces(file: SandboxFile, start: number, end: number): Generator<Step> {
  const zeros = new Uint8Array(Math.min(pieceBytes, file.length));
  for (let at = start; at < end;) {
    const bytes = at < file.head.length
      ? file.head.subarray(at, Math.min(end, at + pieceBytes))
      : zeros.subarray(0, Math.min(end - at, zeros.length));
    yield { do: "send", bytes };
    at += bytes.length;
  }
}

/** Reads a range of bytes (RFC 9110, section 14.1.2). For several ranges it returns the whole file, as the RFC allows. */
function rangeOf(header: string | undefined, length: number): [number, number] | "all" | "bad" {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (match === null || (match[1] === "" && match[2] === "")) return "all";
  const [, first, last] = match;
  if (first === "") return [Math.max(0, length - Number(last)), length];
  if (Number(first) >= length) return "bad";
  return [Number(first), last === "" ? length : Math.min(length, Number(last) + 1)];
}

function fileReply(file: SandboxFile, range: string | undefined): Reply {
  const wanted = rangeOf(range, file.length);
  if (wanted === "bad") {
    const headers = new Map([["content-range", `bytes */${file.length}`]]);
    return { status: 416, headers, waitMs: 0, steps: [] };
  }
  const [start, end] = wanted === "all" ? [0, file.length] : wanted;
  const headers = new Map([
    ["content-type", file.type],
    ["content-length", String(end - start)],
    ["accept-ranges", "bytes"],
  ]);
  if (wanted !== "all") headers.set("content-range", `bytes ${start}-${end - 1}/${file.length}`);
  return {
    status: wanted === "all" ? 200 : 206,
    headers,
    waitMs: 0,
    steps: filePieces(file, start, end),
  };
}

/** The video endpoints of one sandbox; keeps the ids of cancelled tasks. */
export class SandboxVideos {
  readonly #cancelled = new Set<string>();
  #salt = 0;

  /** Answers `POST /videos`. @throws {SandboxRefusal} */
  create(fields: MediaFields, nowMs: number): Reply {
    const model = requiredText(fields, "model");
    const triggers = readMediaTriggers(requiredText(fields, "prompt"));
    const trouble = mediaTrouble(triggers);
    if (trouble !== undefined) return trouble;
    const { own } = triggers;
    const fate: Fate = own.has("video-fail")
      ? "fails"
      : own.has("video-stall")
      ? "stalls"
      : own.has("video-expire")
      ? "expires"
      : "works";
    const made = {
      fate,
      createdAtMs: nowMs,
      durationMs: own.get("video-slow") ?? usualMs,
      megabytes: Math.min(own.get("video-megabytes") ?? 0, 1_024),
      seconds: optionalText(fields, "seconds") ?? "4",
      size: optionalText(fields, "size") ?? "720x1280",
      model,
    };
    const task = { ...made, id: taskId(made, this.#salt++) };
    return jsonReply(200, videoObject(task, nowMs), triggers.common);
  }

  /** Answers `GET` and `DELETE` below `/videos/{id}`. */
  answer(request: UpstreamRequest, rest: readonly string[], nowMs: number): Reply {
    const [id = "", part] = rest;
    const task = parseTask(id);
    if (task === undefined || this.#cancelled.has(id)) {
      return notFound(`Video with id '${id}' not found.`);
    }
    if (request.method === "DELETE") {
      this.#cancelled.add(id);
      return jsonReply(200, { id, object: "video.deleted", deleted: true }, {});
    }
    if (part === undefined) return jsonReply(200, videoObject(task, nowMs), {});
    if (statusOf(task, nowMs) !== "completed") return notFound("The video is not ready yet.");
    if (nowMs >= expiresAtMs(task)) return notFound("The video has expired.");
    const variant = new URL(request.url).searchParams.get("variant") ?? "video";
    const range = request.headers.find(([name]) => name === "range")?.[1];
    if (variant === "video") return fileReply(clipFile(task.megabytes), range);
    const webp = Uint8Array.fromBase64(thumbnailWebpBase64.join(""));
    return fileReply({ type: "image/webp", head: webp, length: webp.length }, range);
  }
}
