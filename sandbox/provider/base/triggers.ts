/**
 * Triggers: `[[sandbox:NAME ARG]]` in the last user text makes the sandbox misbehave in a chosen way. A text may have
 * several. docs/sandbox.md lists them for users.
 */

/** Tokens of the longest answer that a client can request: the largest output of any listed model. */
const maxAnswerTokens = 128_000;

/** Triggers that answer with a plain HTTP error: `error-429` and so on. */
export const errorStatuses = [400, 401, 403, 404, 413, 429, 500, 503, 529] as const;
export type ErrorStatus = (typeof errorStatuses)[number];

export interface Triggers {
  readonly errorStatus?: ErrorStatus;
  /** Sent as `retry-after` with a 429. */
  readonly retryAfterSeconds?: number;
  /** Status of an HTML error page. */
  readonly htmlStatus?: number;
  /** Wait before the first output. */
  readonly slowMs?: number;
  /** Wait between deltas. */
  readonly paceMs?: number;
  /** Sends the headers and then nothing, without an end. */
  readonly stall?: true;
  readonly stallAfter?: number;
  readonly cutAfter?: number;
  readonly errorAfter?: number;
  /** Ends the body cleanly, without the last event. */
  readonly noEnd?: true;
  /** Sends the body in pieces of this many bytes. */
  readonly splitBytes?: number;
  readonly errorIn200?: true;
  readonly usage?: "none" | "absurd" | "huge";
  readonly empty?: true;
  readonly refusal?: true;
  readonly reasoning?: true;
  /** Makes an answer of this many tokens. */
  readonly lengthTokens?: number;
}

/** The triggers of a text, and the text without them; `unknown` names the first that does not exist. */
export interface ReadTriggers {
  readonly triggers: Triggers;
  readonly text: string;
  readonly unknown: string | undefined;
}

/** Matches one trigger; groups: name, argument. */
export const triggerPattern = /\[\[sandbox:([a-z0-9-]{1,32})(?: +(\d{1,9}))?\]\]/g;

type Mutable = { -readonly [Key in keyof Triggers]: Triggers[Key] };

/**
 * Reads and removes the triggers of a text.
 *
 * @example
 * ```ts
 * import { readTriggers } from "./triggers.ts";
 * const { triggers, text } = readTriggers("Hello [[sandbox:cut-after 3]]");
 * if (triggers.cutAfter !== 3 || text !== "Hello") throw new Error("wrong");
 * ```
 */
export function readTriggers(text: string): ReadTriggers {
  if (!text.includes("[[sandbox:")) return { triggers: {}, text, unknown: undefined };
  const triggers: Mutable = {};
  let unknown: string | undefined;
  for (const [, name = "", argument] of text.matchAll(triggerPattern)) {
    const number = argument === undefined ? undefined : Number(argument);
    if (!enter(triggers, name, number)) unknown ??= name;
  }
  return {
    triggers,
    text: text.replace(triggerPattern, " ").replace(/ {2,}/g, " ").trim(),
    unknown,
  };
}

function enter(into: Mutable, name: string, number: number | undefined): boolean {
  const status = errorStatuses.find((status) => name === `error-${status}`);
  if (status !== undefined) {
    into.errorStatus = status;
    if (status === 429) into.retryAfterSeconds = number ?? 2;
    return true;
  }
  switch (name) {
    case "html-error":
      into.htmlStatus = number !== undefined && number >= 400 && number <= 599 ? number : 502;
      return true;
    case "slow":
      into.slowMs = number ?? 1_000;
      return true;
    case "pace":
      into.paceMs = number ?? 50;
      return true;
    case "stall-after":
      into.stallAfter = number ?? 1;
      return true;
    case "cut-after":
      into.cutAfter = number ?? 1;
      return true;
    case "error-after":
      into.errorAfter = number ?? 1;
      return true;
    case "split":
      into.splitBytes = Math.max(1, number ?? 1);
      return true;
    case "length":
      into.lengthTokens = Math.min(number ?? 100, maxAnswerTokens);
      return true;
  }
  return enterFlag(into, name);
}

function enterFlag(into: Mutable, name: string): boolean {
  switch (name) {
    case "stall":
      into.stall = true;
      return true;
    case "no-end":
      into.noEnd = true;
      return true;
    case "error-in-200":
      into.errorIn200 = true;
      return true;
    case "no-usage":
      into.usage = "none";
      return true;
    case "absurd-usage":
      into.usage = "absurd";
      return true;
    case "huge-usage":
      into.usage = "huge";
      return true;
    case "empty":
      into.empty = true;
      return true;
    case "refusal":
      into.refusal = true;
      return true;
    case "reasoning":
      into.reasoning = true;
      return true;
  }
  return false;
}
