/**
 * The names of the gateway's own headers. docs/api.md describes each of them; no other source file of
 * `routes/` writes one out.
 */

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
  idempotencyKey: "idempotency-key",
} as const;
