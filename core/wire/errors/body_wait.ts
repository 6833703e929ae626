/** Reads from the body of an error how long to wait, where no header says it. */
import { maxRetryAfterSeconds, secondsUntil } from "../../net/transport/retry_after.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";

/** `1h`, `2 minutes`, `1.5s`, `250ms`: one part of a time in a text. */
const part =
  /(\d{1,7}(?:\.\d{1,9})?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)(?![a-z])/gi;

/** The time after the words of OpenAI, Azure, Groq, GitHub and Google. */
const wait =
  /(?:try again|retry|retrying|wait|available(?: again)?|reset)s?(?: after| in| for)?:? ((?:\d{1,7}(?:\.\d{1,9})?\s*(?:ms|milliseconds?|secs?|seconds?|mins?|minutes?|hours?|s|m|h)(?![a-z])[\s,]*(?:and )?){1,4})/i;

const secondsOf: readonly (readonly [unit: RegExp, seconds: number])[] = [
  [/^(?:ms|milli)/i, 0.001],
  [/^s/i, 1],
  [/^m/i, 60],
  [/^h/i, 3_600],
];

/** The sum of the parts of a time. */
function timeOf(text: string): number | undefined {
  let sum: number | undefined;
  for (const [, digits, unit = ""] of text.matchAll(part)) {
    const factor = secondsOf.find(([pattern]) => pattern.test(unit))?.[1];
    if (factor !== undefined) sum = (sum ?? 0) + Number(digits) * factor;
  }
  return sum;
}

/** Google's `RetryInfo` among the details of an error. */
function retryInfo(details: Json | undefined): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    if (!isJsonObject(detail)) continue;
    const { retryDelay } = detail;
    if (typeof retryDelay === "string") return timeOf(retryDelay);
  }
  return undefined;
}

/** Members with a time to wait, and the seconds of their unit. */
const waitMembers: readonly (readonly [name: string, unitSeconds: number])[] = [
  ["retry_after", 1],
  ["retryAfter", 1],
  ["retry_after_seconds", 1],
  ["retry_after_ms", 0.001],
  ["retryAfterMs", 0.001],
  ["resets_in_seconds", 1], // Codex
  ["estimated_time", 1], // Hugging Face, while a model is being loaded
];

/** Members with the moment from which calls are taken again. */
const momentMembers = ["resets_at", "reset_at", "reset_time", "retry_at"] as const;

/** Headers of a limit that some vendors repeat in the body. */
const resetHeaders = ["x-ratelimit-reset", "ratelimit-reset", "retry-after"] as const;

function textTime(value: Json | undefined, unitSeconds: number): number | undefined {
  if (typeof value === "number") return value >= 0 ? value * unitSeconds : undefined;
  if (typeof value !== "string" || value.length > 40) return undefined;
  return /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Number(value) * unitSeconds : timeOf(value);
}

/** The objects in which a body tells a time: the error, its metadata, and headers that are repeated there. */
function timeObjects(body: Json | undefined): JsonObject[] {
  if (!isJsonObject(body)) return [];
  const error = isJsonObject(body["error"]) ? body["error"] : body;
  const { metadata, details, parameters } = error;
  return [error, metadata, details, parameters, body].filter(isJsonObject);
}

/**
 * Returns the whole seconds to wait that a body tells: by Google's `RetryInfo`, by a member such as `retry_after`, or in
 * words.
 *
 * @param said the error's text, which is read for errors that a wait cures only: it quotes no client
 *
 * @example
 * ```ts
 * import { bodyWaitSeconds } from "./body_wait.ts";
 * const said = "Rate limit reached. Please try again in 1m20.4s. Visit our pages for more.";
 * if (bodyWaitSeconds({ error: { message: said } }, said) !== 81) throw new Error("not read");
 * const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "21s" }];
 * if (bodyWaitSeconds({ error: { details } }, "") !== 21) throw new Error("not read");
 * ```
 */
export function bodyWaitSeconds(body: Json | undefined, said: string): number | undefined {
  const objects = timeObjects(body);
  const words = wait.exec(said)?.[1];
  const seconds = retryInfo(objects[0]?.["details"]) ?? memberTime(objects) ??
    (words === undefined ? undefined : timeOf(words));
  return seconds === undefined ? undefined : Math.min(Math.ceil(seconds), maxRetryAfterSeconds);
}

function memberTime(objects: readonly JsonObject[]): number | undefined {
  for (const object of objects) {
    for (const [name, unitSeconds] of waitMembers) {
      const time = textTime(object[name], unitSeconds);
      if (time !== undefined) return time;
    }
  }
  return undefined;
}

/**
 * Returns the whole seconds until the moment that a body names: in `resets_at`, or in a header of a limit that it repeats.
 *
 * @example
 * ```ts
 * import { waitUntilSeconds } from "./body_wait.ts";
 * const body = { error: { code: 429, metadata: { headers: { "X-RateLimit-Reset": "1700000040000" } } } };
 * if (waitUntilSeconds(JSON.stringify(body), 1_700_000_000_000) !== 40) throw new Error("not read");
 * ```
 */
export function waitUntilSeconds(text: string, nowMs: number): number | undefined {
  // Most bodies have none: they are not parsed a second time.
  if (!/reset|retry/i.test(text)) return undefined;
  const body = parsed(text);
  for (const object of timeObjects(body)) {
    for (const name of momentMembers) {
      const seconds = secondsUntil(object[name], nowMs);
      if (seconds !== undefined) return seconds;
    }
    const { headers } = object;
    if (!isJsonObject(headers)) continue;
    for (const [name, value] of Object.entries(headers).slice(0, maxHeaders)) {
      if (!resetHeaders.some((known) => known === name.toLowerCase())) continue;
      const seconds = secondsUntil(value, nowMs) ?? textTime(value ?? null, 1);
      if (seconds !== undefined) return Math.min(Math.ceil(seconds), maxRetryAfterSeconds);
    }
  }
  return undefined;
}

/** Headers in a body that are looked at. */
const maxHeaders = 50;

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
