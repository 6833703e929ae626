/**
 * The names of the gateway's own headers. docs/api.md describes each of them; no other source file of
 * `routes/` writes one out.
 */
import type { RequestId } from "../../core/lib/ids/ids.ts";
import { routeHeader } from "../../core/calls/request/chat_request.ts";
import { tagsHeader } from "../../core/calls/body/sent_tags.ts";
import type { ErrorStyle } from "../../core/lib/errors/errors.ts";
import { type LimitHeader, slidingKind, slidingLimitNames } from "../../core/limits/limit_table.ts";
import type { RateFigures } from "../../core/limits/rate_book.ts";

/** Headers of answers. */
export const answerHeaders = {
  /** Id of the request, and of the receipt where there is one. */
  requestId: "x-request-id",
  /** The same under the name that Messages SDKs read. */
  messagesRequestId: "request-id",
  /** Whether SDKs should send the request again; they read it before the status. */
  shouldRetry: "x-should-retry",
  /** `true` on an answer that an earlier request with the same idempotency key got. */
  replayed: "idempotent-replayed",
  model: "x-gateway-model",
  /** The name that the client sent, where it is not the model's id. */
  mappedFrom: "x-gateway-model-mapped-from",
  /** Fields of the request that the route could not carry. */
  conversion: "x-gateway-conversion",
  /** The limit of output that the provider got instead of the client's, and why. */
  outputLimit: "x-gateway-output-limit",
  /** `true` where the gateway has counted tokens itself. */
  estimate: "x-gateway-estimate",
  inputTokens: "x-gateway-input-tokens",
  outputTokens: "x-gateway-output-tokens",
  costVnd: "x-gateway-cost-vnd",
  priceVndPerMtok: "x-gateway-price-vnd-per-mtok",
  priceVndPerRequest: "x-gateway-price-vnd-per-request",
  priceVndPerSecond: "x-gateway-price-vnd-per-second",
} as const;

/** Headers of answers to calls with rate limits: the names that the SDKs of each style read. */
export const rateHeaders = {
  messages: {
    requests: {
      limit: "anthropic-ratelimit-requests-limit",
      remaining: "anthropic-ratelimit-requests-remaining",
      reset: "anthropic-ratelimit-requests-reset",
    },
    tokens: {
      limit: "anthropic-ratelimit-tokens-limit",
      remaining: "anthropic-ratelimit-tokens-remaining",
      reset: "anthropic-ratelimit-tokens-reset",
    },
  },
  others: {
    requests: {
      limit: "x-ratelimit-limit-requests",
      remaining: "x-ratelimit-remaining-requests",
      reset: "x-ratelimit-reset-requests",
    },
    tokens: {
      limit: "x-ratelimit-limit-tokens",
      remaining: "x-ratelimit-remaining-tokens",
      reset: "x-ratelimit-reset-tokens",
    },
  },
} as const;

/** Headers of requests. */
export const requestHeaders = {
  /** `true`: a request with fields that would be dropped is refused. */
  strict: "x-gateway-strict",
  /** `true`: the usage in the answer has its cost. */
  cost: "x-gateway-usage-cost",
  idempotencyKey: "idempotency-key",
  /** `only=a,b; sort=latency`: preferences of the route, for styles whose body must stay clean. */
  route: routeHeader,
  /** `team=search,env=prod`: metadata of the receipt. */
  tags: tagsHeader,
} as const;

// The headers that every answer has: of the API, of pages, redirects, webhooks and health checks, and every error.

/** An answer whose headers can be read and changed: a `Response`, or a `Reply`. */
export interface WithHeaders {
  readonly headers: Pick<Headers, "get" | "has" | "set" | "append">;
}

/**
 * Writes the common headers; each is added to every kind of answer.
 *
 * `nosniff`: an answer repeats texts of callers, such as the name of an unknown model, and a browser that guesses its
 * type could run them as a page.
 */
function commonHeaders(requestId: RequestId): readonly [string, string][] {
  return [
    [answerHeaders.requestId, requestId],
    [answerHeaders.messagesRequestId, requestId],
    ["x-content-type-options", "nosniff"],
  ];
}

/**
 * Adds the common headers to an answer. A header that the answer already has keeps its value: a replayed answer has the
 * id of the first call.
 *
 * Endpoints whose bodies, receipts or log lines name the request call this with the id that they use; the server calls it
 * for every other answer (`completerOf` in `routes/server/listen/listen.ts`).
 */
export function withCommonHeaders<Answer extends WithHeaders>(
  response: Answer,
  requestId: RequestId,
): Answer {
  const { headers } = response;
  for (const [name, value] of commonHeaders(requestId)) {
    if (!headers.has(name)) headers.append(name, value);
  }
  return response;
}

// Writes rate limits into the headers that SDKs read, in the form of each vendor.

/**
 * Writes a duration as Chat-style vendors do: `120ms`, `8.64s`, `6m0s`.
 *
 * @example
 * ```ts
 * import { shortDuration } from "./own_headers.ts";
 * const written = [120, 1_000, 8_640, 360_000].map(shortDuration).join(" ");
 * if (written !== "120ms 1s 8.64s 6m0s") throw new Error(written);
 * ```
 */
export function shortDuration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1_000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = (whole - minutes * 60_000) / 1_000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}

/** Writes a time in whole seconds of RFC 3339, as Messages-style vendors do; never before it. */
function wholeSecond(atMs: number): string {
  return `${new Date(Math.ceil(atMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}

const figureHeaders: readonly LimitHeader[] = slidingLimitNames.flatMap((name) =>
  slidingKind(name).header ?? []
);

/** Adds the headers of rate limits to an answer, or to a refusal. */
export function withRateHeaders<Answer extends WithHeaders>(
  answer: Answer,
  figures: RateFigures,
  style: ErrorStyle,
  nowMs: number,
): Answer {
  const names = style === "messages" ? rateHeaders.messages : rateHeaders.others;
  const reset = style === "messages"
    ? (ms: number) => wholeSecond(nowMs + ms)
    : (ms: number) => shortDuration(ms);
  const { headers } = answer;
  for (const header of figureHeaders) {
    const figure = figures[header];
    if (figure === undefined) continue;
    headers.set(names[header].limit, String(figure.limit));
    headers.set(names[header].remaining, String(figure.remaining));
    headers.set(names[header].reset, reset(figure.resetMs));
  }
  return answer;
}
