/** Reads providers' answers to submissions and polls. Every value is checked against a bound. */
import { publicMessage } from "../../wire/errors/error_fields.ts";
import { idText, type Json } from "../../lib/json/json.ts";
import type { VideoAdapter } from "../../catalog/entries/video_adapter.ts";
import { readPointer } from "./json_pointer.ts";
import type { VideoError, VideoSighting, VideoState } from "./task.ts";

/** Longest task id that is stored; the longest in use have some 100 characters. */
const upstreamIdChars = 512;

/**
 * Reads the id of the task from the answer to a submission; `undefined` if there is no usable one.
 */
export function readUpstreamId(adapter: VideoAdapter, answer: Json): string | undefined {
  const id = idText(readPointer(answer, adapter.submit.id));
  if (id === undefined || id === "" || id.length > upstreamIdChars) return undefined;
  return id;
}

/**
 * A provider may announce the end of a file at most this far ahead; anything later is a mistake of
 * units.
 */
const expiryBoundMs = 400 * 24 * 3_600_000;

function readTimeMs(value: Json | undefined, nowMs: number): number | undefined {
  let ms: number;
  if (typeof value === "number") ms = value > 1e11 ? value : value * 1_000;
  else if (typeof value === "string") {
    ms = /^\d{9,13}$/.test(value)
      ? Number(value) * (value.length > 11 ? 1 : 1_000)
      : Date.parse(value);
  } else return undefined;
  return Number.isFinite(ms) && Math.abs(ms - nowMs) < expiryBoundMs ? Math.floor(ms) : undefined;
}

function readState(adapter: VideoAdapter, answer: Json): VideoState {
  const word = readPointer(answer, adapter.poll.state);
  const key = typeof word === "string" ? word.toLowerCase() : "";
  // An unknown state counts as running: the deadline ends a task that never does.
  return Object.hasOwn(adapter.poll.states, key)
    ? adapter.poll.states[key] ?? "in_progress"
    : "in_progress";
}

function readError(adapter: VideoAdapter, answer: Json): VideoError | undefined {
  const { errorCode, errorMessage } = adapter.poll;
  const code = errorCode === undefined ? undefined : readPointer(answer, errorCode);
  const message = errorMessage === undefined ? undefined : readPointer(answer, errorMessage);
  const cleanCode = typeof code === "string" && /^[A-Za-z0-9_.-]{1,64}$/.test(code)
    ? code
    : undefined;
  const cleanMessage = typeof message === "string" ? publicMessage(message) : "";
  if (cleanCode === undefined && cleanMessage === "") return undefined;
  return {
    code: cleanCode ?? "generation_failed",
    message: cleanMessage || "The provider could not make this video.",
  };
}

/** Reads the answer to a poll (or to a submission with the same form). */
export function readSighting(adapter: VideoAdapter, answer: Json, nowMs: number): VideoSighting {
  const { progress, completedAt, expiresAt } = adapter.poll;
  const percent = progress === undefined ? undefined : readPointer(answer, progress);
  const number = typeof percent === "string" ? Number(percent.replace(/%$/, "")) : percent;
  return {
    state: readState(adapter, answer),
    progress: typeof number === "number" && Number.isFinite(number) ? number : undefined,
    completedAtMs: completedAt === undefined
      ? undefined
      : readTimeMs(readPointer(answer, completedAt), nowMs),
    expiresAtMs: expiresAt === undefined
      ? undefined
      : readTimeMs(readPointer(answer, expiresAt), nowMs),
    error: readError(adapter, answer),
  };
}
