/** Reads from the body of an error how long to wait, where no header says it. */
import { maxRetryAfterSeconds } from "../../net/transport/retry_after.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";

/** `1h`, `2 minutes`, `1.5s`, `250ms`: one part of a time in a text. */
const part =
  /(\d{1,7}(?:\.\d{1,9})?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)(?![a-z])/gi;

/** The time after the words of OpenAI, Azure, Groq and Google. */
const wait =
  /(?:try again|retry|available again)(?: after| in)?:? ((?:\d{1,7}(?:\.\d{1,9})?\s*(?:ms|milliseconds?|secs?|seconds?|mins?|minutes?|hours?|s|m|h)(?![a-z])[\s,]*(?:and )?){1,4})/i;

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

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}

/**
 * Returns the whole seconds to wait that a body tells: by Google's `RetryInfo`, by a member `retry_after`, or in words.
 *
 * @param message the error's text, which is read for errors that a wait cures only: it quotes no client
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
export function bodyWaitSeconds(body: Json | undefined, message: string): number | undefined {
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : body;
  const members = isJsonObject(error) ? error : {};
  const words = wait.exec(message)?.[1];
  const seconds = retryInfo(members["details"]) ?? numberOf(members["retry_after"]) ??
    numberOf(members["retry_after_seconds"]) ?? (words === undefined ? undefined : timeOf(words));
  return seconds === undefined ? undefined : Math.min(Math.ceil(seconds), maxRetryAfterSeconds);
}
